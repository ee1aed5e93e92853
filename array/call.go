package array

import (
	"github.com/gpk-go/gpk/internal/callsite"
	"github.com/gpk-go/gpk/internal/operror"
)

type site = callsite.Site

// here records the callers of the function that calls it. It is inlined, so it adds no
// frame.
func here() site { return callsite.Here() }

// call is an operation's name and its place in the program, which errors print. Its
// methods keep no reference to the Arrays that they are given.
type call struct {
	name string
	site site
}

// fail wraps a cause in the error of this call on args.
func (c *call) fail(err error, args ...*Array) *OpError {
	e := &OpError{Op: c.name, Site: c.site.String(), Err: err}
	for _, a := range args {
		if a != nil && a.err == nil {
			e = operror.With(e, a.lay.Shape, a.dt)
		}
	}
	return e
}

// wrap gives an error the name of this call unless it has one.
func (c *call) wrap(err error, args ...*Array) error {
	if err == nil || operror.Named(err) {
		return err
	}
	return c.fail(err, args...)
}

// failed returns an array that carries err as an error of this call on args.
func (c *call) failed(err error, args ...*Array) *Array { return failedArray(c.wrap(err, args...)) }

// first returns the first error that args carry. An error of an operation is returned
// unchanged; others are wrapped with this call's name.
func (c *call) first(args ...*Array) error { return c.wrap(check(args...), args...) }

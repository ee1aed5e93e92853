package array

import (
	"errors"
	"slices"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/callsite"
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
			e = e.with(a.lay.Shape, a.dt)
		}
	}
	return e
}

// with adds the shape and type of an operand, or of the intended result, to an error, and
// returns the error.
func (e *OpError) with(shape []int, dt dtype.DType) *OpError {
	e.Shapes, e.DTypes = append(e.Shapes, slices.Clone(shape)), append(e.DTypes, dt)
	return e
}

// named reports whether an error already names its call.
func named(err error) bool {
	var oe *OpError
	return errors.As(err, &oe)
}

// wrap gives an error the name of this call unless it has one.
func (c *call) wrap(err error, args ...*Array) error {
	if err == nil || named(err) {
		return err
	}
	return c.fail(err, args...)
}

// failed returns an array that carries err as an error of this call on args.
func (c *call) failed(err error, args ...*Array) *Array { return failedArray(c.wrap(err, args...)) }

// first returns the first error that args carry. An error of an operation is returned
// unchanged; others are wrapped with this call's name.
func (c *call) first(args ...*Array) error { return c.wrap(check(args...), args...) }

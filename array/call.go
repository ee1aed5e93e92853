package array

import (
	"errors"
	"slices"
)

// call is a place in the program that asked for something: what errors say
// besides the operands. Its methods keep none of the Arrays that they are given.
type call struct {
	name string
	site site
}

// fail wraps a cause in the error of this call on args.
func (c *call) fail(err error, args ...*Array) *OpError {
	e := &OpError{Op: c.name, Site: c.site.String(), Err: err}
	for _, a := range args {
		if a != nil && a.err == nil {
			e.Shapes, e.DTypes = append(e.Shapes, slices.Clone(a.lay.Shape)), append(e.DTypes, a.dt)
		}
	}
	return e
}

// wrap gives an error this call's name unless it has one.
func (c *call) wrap(err error, args ...*Array) error {
	if err == nil {
		return nil
	}
	var oe *OpError
	if errors.As(err, &oe) {
		return err
	}
	return c.fail(err, args...)
}

// first returns the first error that args carry. An error that an operation
// made stays as it is; others are wrapped with this one's name.
func (c *call) first(args ...*Array) error {
	for _, a := range args {
		if err := a.check(); err != nil {
			return c.wrap(err, args...)
		}
	}
	return nil
}

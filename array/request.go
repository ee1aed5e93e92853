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

// request is a call and its operands.
type request struct {
	call
	args []*Array // nil for an operation whose operands its inputs describe
}

// fail wraps a cause in the error of this request.
func (r *request) fail(err error) *OpError { return r.call.fail(err, r.args...) }

// wrap gives an error this request's name unless it has one.
func (r *request) wrap(err error) error { return r.call.wrap(err, r.args...) }

// first returns the first error of some operands.
func (r *request) first(as ...*Array) error {
	for _, a := range as {
		if err := a.check(); err != nil {
			return r.wrap(err)
		}
	}
	return nil
}

// fail wraps a cause in the error of the call that made the operation.
func (o *operation) fail(err error) *OpError {
	e := o.request.fail(err)
	if o.args == nil {
		for i := range o.n {
			v := &o.input(i).view
			e.Shapes, e.DTypes = append(e.Shapes, slices.Clone(v.Layout.Shape)), append(e.DTypes, v.DType)
		}
	}
	return e
}

// wrap gives an error the operation's name unless it has one.
func (o *operation) wrap(err error) error {
	var oe *OpError
	if err == nil || errors.As(err, &oe) {
		return err
	}
	return o.fail(err)
}

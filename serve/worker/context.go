package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
)

// Context gives a handler, and Options.Setup, access to their Worker. It is valid until
// they return, and must be used only by their goroutine.
type Context struct {
	core   *core
	stream *device.Stream

	// Valid from Activate to Deactivate.
	value    any
	held     []*gpk.Array
	cleanups []func() error

	// Valid during one message, or one call of Setup.
	base   context.Context
	ends   bool            // the context of the message ends with base
	own    context.Context // nil until Context is called
	cancel context.CancelCauseFunc
	scope  *gpk.Scope // nil until Scope is called
}

// usable reports whether the Context was made by a Worker.
func (c *Context) usable() bool { return c != nil && c.core != nil }

// Name returns the name that New was given.
func (c *Context) Name() string {
	if !c.usable() {
		return ""
	}
	return c.core.name
}

// Stream returns the Worker's stream. Array.On puts work on it. It is closed when the
// Worker ends. A result that was computed on it can still be read afterwards; before other
// work uses the result, move it to another stream with Array.On.
func (c *Context) Stream() *device.Stream {
	if !c.usable() {
		return nil
	}
	return c.stream
}

// Restarts returns the number of times that the Worker has restarted.
func (c *Context) Restarts() int {
	if !c.usable() {
		return 0
	}
	c.core.mu.Lock()
	defer c.core.mu.Unlock()
	return int(c.core.counts.restarts)
}

// Context returns the message's context. It has the values of the context that was passed
// to Send or Ask. It ends when the Worker is terminated and, with Ask, also when that
// context ends. In Setup it is the context of Activate; after a restart it has no values.
func (c *Context) Context() context.Context {
	switch {
	case !c.usable() || c.base == nil:
		return context.Background()
	case c.own != nil:
		return c.own
	}
	base := c.base
	if !c.ends {
		base = context.WithoutCancel(base)
	}
	c.own, c.cancel = context.WithCancelCause(base)
	c.core.mu.Lock()
	defer c.core.mu.Unlock()
	if c.core.ended {
		c.cancel(errTerminated)
	} else {
		c.core.cancel = c.cancel
	}
	return c.own
}

// Scope returns the message's scope. When the handler returns, the scope is closed and its
// arrays are freed. Arrays that are computed from an array of the scope belong to it, even
// if the Worker's state is another operand. Arrays that are computed from the state alone
// do not; pass the state through c.Scope().In(state) to change that. If the handler
// returns an array, it must keep it: c.Scope().Keep(y).
func (c *Context) Scope() *gpk.Scope {
	if !c.usable() {
		return nil
	}
	if c.scope == nil {
		c.scope = gpk.NewScope()
	}
	return c.scope
}

// Hold makes an array part of the Worker's state, removes it from the message's scope, and
// returns it on the Worker's stream. Deactivate, a restart and the Worker's end free it,
// with its views. The array remains part of the state when it is written in place. If it
// is on another device than the stream, the result carries an error.
func (c *Context) Hold(a *gpk.Array) *gpk.Array {
	if !c.usable() {
		return array.NewOperation("worker.Hold", nil).Failed(fmt.Errorf("%w: the Context does not belong to a Worker; use the one that the handler or Setup is given", gpk.ErrUnsupported))
	}
	if c.scope != nil {
		if kept := c.scope.Keep(a); kept.Err() == nil { // otherwise it belongs to another scope
			a = kept
		}
	}
	a = a.On(c.stream)
	if a.Err() == nil {
		c.held = append(c.held, a)
	}
	return a
}

// Value returns the value of the last SetValue since Activate, or nil. A restart clears
// it.
func (c *Context) Value() any {
	if !c.usable() {
		return nil
	}
	return c.value
}

// SetValue stores a value that is kept from message to message, such as a struct with the
// arrays passed to Hold.
func (c *Context) SetValue(v any) {
	if c.usable() {
		c.value = v
	}
}

// Cleanup registers f to be called when the state is freed: by Deactivate, by a restart
// and when the Worker ends. The functions are called before the arrays of Hold are freed,
// in reverse order.
func (c *Context) Cleanup(f func() error) {
	if c.usable() && f != nil {
		c.cleanups = append(c.cleanups, f)
	}
}

// begin prepares the Context for a message or for a call of Setup.
func (c *Context) begin(base context.Context, ends bool) { c.base, c.ends = base, ends }

// end closes the message's scope and clears the fields of the message.
func (c *Context) end() (err error) {
	if c.cancel != nil {
		c.core.mu.Lock()
		c.core.cancel = nil
		c.core.mu.Unlock()
		c.cancel(nil)
	}
	if c.scope != nil {
		err = c.scope.Close()
	}
	c.base, c.own, c.cancel, c.scope = nil, nil, nil, nil
	return err
}

// setup calls Options.Setup.
func (c *Context) setup(base context.Context) error {
	f := c.core.o.Setup
	if f == nil {
		return nil
	}
	c.begin(base, true)
	_, err := c.core.protect(func() error { return f(c) })
	return errors.Join(err, c.end())
}

// free frees the state: it calls the Cleanup functions and frees the arrays of Hold.
func (c *Context) free() error {
	var errs []error
	for n := len(c.cleanups) - 1; n >= 0; n-- {
		f := c.cleanups[n]
		c.cleanups = c.cleanups[:n]
		_, err := c.core.protect(f)
		errs = append(errs, err)
	}
	for _, a := range c.held {
		a.Free()
	}
	c.value, c.held, c.cleanups = nil, nil, nil
	return errors.Join(errs...)
}

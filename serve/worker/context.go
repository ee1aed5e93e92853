package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
)

// Context is what a handler, and Options.Setup, know of their Worker. It is theirs until
// they return, and for use by their goroutine.
type Context struct {
	core   *core
	stream *device.Stream

	// From Activate to Deactivate.
	value    any
	held     []*gpk.Array
	cleanups []func() error

	// Of one message, or of one call of Setup.
	base   context.Context
	ends   bool            // with base
	own    context.Context // nil until asked for
	cancel context.CancelCauseFunc
	scope  *gpk.Scope // nil until asked for
}

// usable reports whether the Context is a Worker's.
func (c *Context) usable() bool { return c != nil && c.core != nil }

// Name returns the name that New was given.
func (c *Context) Name() string {
	if !c.usable() {
		return ""
	}
	return c.core.name
}

// Stream returns the Worker's stream. Work is put on it with Array.On. It is closed when
// the Worker ends: an answer that was computed on it can be read afterwards, and computed
// with once Array.On has moved it to another stream.
func (c *Context) Stream() *device.Stream {
	if !c.usable() {
		return nil
	}
	return c.stream
}

// Restarts returns how often the Worker has restarted: 0 in its first life.
func (c *Context) Restarts() int {
	if !c.usable() {
		return 0
	}
	c.core.mu.Lock()
	defer c.core.mu.Unlock()
	return int(c.core.counts.restarts)
}

// Context returns the message's context: with the values of the context that Send or Ask
// was given, ended when the Worker is terminated, and with Ask also when its context ends.
// In Setup it is that of Activate, and after a restart one without values.
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

// Scope returns the message's scope, which is closed when the handler returns: arrays that
// belong to it are freed then. What is computed from its arrays belongs to it, also
// together with the Worker's state; of the state alone only what is computed from
// c.Scope().In(state) does. An array that the handler returns has to be kept:
// c.Scope().Keep(y).
func (c *Context) Scope() *gpk.Scope {
	if !c.usable() {
		return nil
	}
	if c.scope == nil {
		c.scope = gpk.NewScope()
	}
	return c.scope
}

// Hold makes an array part of the Worker's state, takes it out of the message's scope, and
// returns it on the Worker's stream. It is freed, with its views, by Deactivate, by a
// restart and when the Worker ends. It stays the Worker's when it is written in place. An
// array of another device than the stream's is an error that the result carries.
func (c *Context) Hold(a *gpk.Array) *gpk.Array {
	if !c.usable() {
		return array.Failed(fmt.Errorf("worker: Hold: %w: a Context that is no Worker's", gpk.ErrUnsupported))
	}
	if c.scope != nil {
		if kept := c.scope.Keep(a); kept.Err() == nil { // else it is another scope's
			a = kept
		}
	}
	a = a.On(c.stream)
	if a.Err() == nil {
		c.held = append(c.held, a)
	}
	return a
}

// Value returns what SetValue was given since Activate, nil where it was not called. A
// restart forgets it too.
func (c *Context) Value() any {
	if !c.usable() {
		return nil
	}
	return c.value
}

// SetValue keeps a value from message to message: a struct with the arrays that Hold has,
// say.
func (c *Context) SetValue(v any) {
	if c.usable() {
		c.value = v
	}
}

// Cleanup has f called when the state is freed, before the arrays of Hold are: by
// Deactivate, by a restart and when the Worker ends. The last one is called first.
func (c *Context) Cleanup(f func() error) {
	if c.usable() && f != nil {
		c.cleanups = append(c.cleanups, f)
	}
}

// begin makes the Context that of a message or of a call of Setup.
func (c *Context) begin(base context.Context, ends bool) { c.base, c.ends = base, ends }

// end closes the message's scope and forgets the message.
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

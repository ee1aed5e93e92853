// Package chain computes chains: operations that one kernel computes, and the product with which
// they may begin.
//
// What belongs here: which kernels compute a chain and its product, in which memory, and how
// Explain describes them. What does not: programs and their kernels (package fused), products
// (package internal/product), and which operations form a chain (package array).
package chain

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/fused"
	"github.com/gpk-go/gpk/internal/callsite"
	"github.com/gpk-go/gpk/internal/observe"
	"github.com/gpk-go/gpk/internal/operror"
)

// Call is the name of an operation, and the line of the program that called it.
type Call struct {
	Name string
	Site callsite.Site
}

// fail wraps a cause in the error of the call.
func (c *Call) fail(err error) *operror.OpError {
	return &operror.OpError{Op: c.Name, Site: c.Site.String(), Err: err}
}

// wrap returns err as an error of the call. It returns an error that names an operation unchanged.
func (c *Call) wrap(err error) error {
	if operror.Named(err) {
		return err
	}
	return c.fail(err)
}

// Chain is a program, with the product that it may begin with and the reduction or norm that
// it may end with.
type Chain struct {
	fused.Builder
	From []Call // the call of each step
	Head *Head  // nil if the chain does not begin with a product
	Ends bool   // it ends with a reduction or a norm
	By   Caller

	call *fused.Call // the latest result of By; nil if the product's kernel computes the chain
	plan *Plan
}

// Begin begins a chain over a shape with at least one element. c is zero.
func (c *Chain) Begin(shape []int, by Caller) {
	c.plan, c.By = new(Plan), by
	c.From = c.plan.room[:0]
	c.Builder.Begin(shape, &c.plan.program)
}

// Caller returns the call that computes the whole chain, after its product, into dst.
type Caller interface {
	FusedCall(dst device.View) *fused.Call
}

func (c *Chain) finish(dst device.View) *fused.Call {
	c.call = c.By.FusedCall(dst)
	return c.call
}

// Run starts the work that computes the chain into dst.
func (c *Chain) Run(s *device.Stream, dst device.View) error {
	var err error
	if c.Head != nil {
		err = c.runHeaded(s, dst)
	} else {
		err = c.finish(dst).Run(s)
	}
	if at, ok := errors.AsType[*expr.StepError](err); ok && at.Step < len(c.From) {
		return c.From[at.Step].wrap(at.Err)
	}
	return err
}

// Observe adds the operations of the chain and the operands that they read. The chain may end with
// the operation last.
func (c *Chain) Observe(op *observe.Operation, last string) {
	op.Name = ""
	if h := c.Head; h != nil {
		op.Flops = h.Product.Flops()
		op.Then(h.Call.Name, h.Product.A, h.Product.B)
	}
	for _, by := range c.From {
		op.Then(by.Name)
	}
	if c.Ends {
		op.Then(last)
	}
	op.Reads(c.Views()...)
}

// Plan is the description of a chain that Explain prints. It refers to no memory.
type Plan struct {
	program fused.ProgramRoom
	from    []Call
	room    [3]Call // the first elements of from, to save an allocation
	head    *Head
	ends    bool
	choice  fused.Choice
	dev     *device.Device
}

// Plan describes the chain after Run or Foresee. The chain cannot run afterwards.
func (c *Chain) Plan(d *device.Device) *Plan {
	p := c.plan
	p.from, p.head, p.ends, p.dev = c.From, c.Head, c.Ends, d
	if p.head != nil {
		p.head.Product.Detach()
	}
	if c.call != nil && d.Kind() != device.CPU {
		p.choice = c.call.Choice()
	}
	return p
}

// Foresee plans the chain into new memory and returns its description.
func (c *Chain) Foresee(s *device.Stream, dst device.View) *Plan {
	c.finish(dst)
	if h := c.Head; h != nil && c.fits(dst) && !h.joins(c, s, dst) {
		h.where = overwriting
	}
	return c.Plan(s.Device())
}

// Explain lists the operations that one kernel computes. If the chain ends with a reduction or
// a norm, last is its call.
func (p *Plan) Explain(last Call) string {
	var b strings.Builder
	n := len(p.from)
	if p.ends {
		n++
	}
	if p.head != nil {
		b.WriteString(p.head.explain() + "\n")
	}
	if p.head != nil && p.head.where == epilogue {
		fmt.Fprintf(&b, "its epilogue does %d operations:", n)
	} else {
		b.WriteString(fused.Describe(p.dev, &p.program.Program, p.choice, n) + ":")
	}
	for i := range p.from {
		fmt.Fprintf(&b, "\n  %%%d %s at %v", i, p.from[i].Name, p.from[i].Site)
	}
	if p.ends {
		fmt.Fprintf(&b, "\n  then %s at %v", last.Name, last.Site)
	}
	fmt.Fprintf(&b, "\n  program: %s", p.program.Key())
	return b.String()
}

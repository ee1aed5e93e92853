package array

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/fused"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// fusion says what part an operation can have in a chain.
type fusion uint8

const (
	alone   fusion = iota
	step           // element by element: it takes, and is taken
	end            // a reduction: it takes
	lineEnd        // softmax or a norm, on a GPU: it takes its first operand
	head           // a product: it is taken by a step, and the chain begins with it
)

// Why an operand was started and not taken; see Explain.
const (
	notAStep   = "it is not element-wise"
	takenTwice = "something else has taken it too"
	tooDeep    = "it is 16 operations deep"
	wider      = "it is computed once and broadcast"
	elsewhere  = "it is on another stream"
	tooMuch    = "all of it does not fit one program"
	another    = "a chain begins with one product"
)

// take makes a an operand of o, whose elements are as many as size says: open as
// it is, where the two can be one piece of work, else stored. What is taken
// stays open and is not stored; see value.
func (o *operation) take(i int, a *Array, size int, s *device.Stream) error {
	in := o.input(i)
	if a.v.buf.Load() != nil { // stored, or one that is not taken anyhow
		return in.set(a)
	}
	v := a.hold()
	if !v.open || v.freed {
		v.mu.Unlock()
		return in.set(a)
	}
	again := o.takes(v) // two uses in one operation are one
	if why := v.obstacle(o, a, size, s, again); why != "" {
		o.apart = why
		v.mu.Unlock()
		return in.set(a)
	}
	if !again {
		v.taken, v.lent, v.shared, v.limbo = true, true, true, true
		v.op.note(nil)
	}
	in.of, in.view = v, device.View{DType: a.dt, Layout: a.lay}
	o.depth, o.headed = max(o.depth, v.op.depth+1), o.headed || v.op.begins()
	v.mu.Unlock()
	return nil
}

// ends reports whether the operation is what a chain ends with.
func (o *operation) ends() bool { return o.fusion == end || o.fusion == lineEnd }

// begins reports whether the operation is a product, or what it took begins with
// one.
func (o *operation) begins() bool { return o.fusion == head || o.headed }

// obstacle says why an open value, seen as a, cannot be taken by the operation o on
// so many elements; again is set where the operation has taken it already. mu is
// held.
func (v *value) obstacle(o *operation, a *Array, size int, s *device.Stream, again bool) string {
	switch {
	case v.taken && !again:
		return takenTwice
	case v.op.fusion != step && (v.op.fusion != head || o.ends()):
		return notAStep
	case o.headed && v.op.begins() && !again:
		return another
	case v.op.depth+1 >= fused.MaxDepth:
		return tooDeep
	case v.stream != s:
		return elsewhere
	case a.lay.Size() != size || a.lay.Repeats() || size == 0:
		return wider
	}
	return ""
}

// takes reports whether v is an operand that was taken.
func (o *operation) takes(v *value) bool {
	for i := range o.n {
		if in := o.input(i); in.of == v && in.view.Buffer == nil {
			return true
		}
	}
	return false
}

// fuses reports whether an operand was taken.
func (o *operation) fuses() bool { return o.depth > 0 }

// giveBack starts what was taken, for an operation that comes to nothing.
func (o *operation) giveBack() {
	for i := range o.n {
		if in := o.input(i); in.of != nil && in.view.Buffer == nil {
			_ = in.of.start() // kept in the value
		}
	}
}

// takeAll is operands for an operation that can fuse: it takes those that have as
// many elements as size says.
func (o *operation) takeAll(size int, s *device.Stream, as ...*Array) error {
	for _, a := range as {
		if a.on() != as[0].on() {
			return o.request.fail(otherDevice(as[0], a))
		}
	}
	for i, a := range as {
		if err := o.take(i, a, size, s); err != nil {
			o.giveBack()
			return o.request.wrap(err)
		}
		o.n = i + 1
	}
	return nil
}

// planner turns an open operation, and what it took, into a chain.
type planner struct {
	*fused.Builder
	from   []call // where each step comes from
	seen   []planned
	head   *headed      // nil: it begins with no product
	choice fused.Choice // the kernel of the call made last
	room   [2]planned   // of seen
}

// planned is a value that was taken, as a step that is there.
type planned struct {
	of  *value
	lay layout.Layout
	ref fused.Ref
}

// errFull is planner's answer where the chain does not fit a program: an operand
// must start.
var errFull = errors.New("the chain does not fit one program")

// plan plans the operation, whose result has the layout lay, dense.
func (o *operation) plan(lay layout.Layout) (*planner, error) {
	shape := lay.Shape
	if o.ends() {
		shape = o.in[0].view.Layout.Shape
	}
	p := &planner{Builder: fused.NewBuilder(shape), from: make([]call, 0, o.depth+1)}
	p.seen = p.room[:0]
	var err error
	if o.ends() {
		_, err = p.operand(&o.in[0], shape, nil, nil)
	} else {
		_, err = p.step(o, &lay, nil)
	}
	return p, err
}

// step adds the operation o, whose result is dense and lies as whole says, as
// view sees it; nil for all of it.
func (p *planner) step(o *operation, whole, view *layout.Layout) (fused.Ref, error) {
	var args [3]fused.Ref
	n := 0
	add := func(r fused.Ref, err error) error {
		args[n] = r
		n++
		return err
	}
	number := func(v ops.Scalar, k int) error {
		r, ok := p.Scalar(v, o.view(k).DType)
		if !ok {
			return errFull
		}
		return add(r, nil)
	}
	operand := func(k int) error { return add(p.operand(o.input(k), whole.Shape, whole, view)) }
	var err error
	switch {
	case o.places != nil: // of an array and two operands that may be numbers
		err = operand(0)
		for i, k := range o.places.at {
			switch {
			case err != nil:
			case k > 0:
				err = operand(k)
			default:
				err = number(o.places.numbers[i], o.places.typed)
			}
		}
	case o.n == 2:
		if err = operand(0); err == nil {
			err = operand(1)
		}
	case !o.numbered:
		err = operand(0)
	case o.scalarFirst:
		if err = number(o.scalar, 0); err == nil {
			err = operand(0)
		}
	default:
		if err = operand(0); err == nil {
			err = number(o.scalar, 0)
		}
	}
	if err != nil {
		return fused.Ref{}, err
	}
	r, ok := p.Step(o.code, o.out, args[:n]...)
	if !ok {
		return r, errFull
	}
	p.from = append(p.from, o.call)
	return r, nil
}

// operand adds an operand, broadcast to shape: as the steps that compute it, where
// it was taken and nothing has stored it since. Where the operation is seen
// through a view, so are its operands.
func (p *planner) operand(in *input, shape []int, whole, view *layout.Layout) (fused.Ref, error) {
	lay := in.view.Layout
	if !slices.Equal(lay.Shape, shape) {
		var err error
		if lay, err = lay.BroadcastTo(shape); err != nil {
			return fused.Ref{}, err
		}
	}
	if view != nil {
		var ok bool
		if lay, ok = through(*view, *whole, lay); !ok {
			return fused.Ref{}, errFull
		}
	}
	buf := in.view.Buffer
	if buf == nil {
		v := in.of
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.open {
			return p.taken(v, &lay)
		}
		if buf = v.buf.Load(); buf == nil {
			return fused.Ref{}, v.err
		}
		if err := buf.Err(); err != nil {
			return fused.Ref{}, err
		}
	}
	r, ok := p.Leaf(device.View{Buffer: buf, DType: in.view.DType, Layout: lay})
	if !ok {
		return r, errFull
	}
	return r, nil
}

// taken adds an open value, seen as lay; its mutex is held.
func (p *planner) taken(v *value, lay *layout.Layout) (fused.Ref, error) {
	for i := range p.seen {
		if s := &p.seen[i]; s.of == v && sameLayout(&s.lay, lay) {
			return s.ref, nil
		}
	}
	if v.op.fusion == head {
		return p.headLeaf(v, lay)
	}
	view := lay
	if sameLayout(lay, &v.lay) {
		view = nil
	}
	r, err := p.step(&v.op, &v.lay, view)
	if err == nil {
		p.seen = append(p.seen, planned{v, *lay, r})
	}
	return r, err
}

// planWhole is plan that starts what was taken, where all of it is too much for
// one program. It returns nil where nothing is left to fuse: run will do.
func (o *operation) planWhole(lay layout.Layout) (*planner, error) {
	for {
		if err := o.settled(); err != nil || !o.fuses() {
			return nil, err
		}
		p, err := o.plan(lay)
		if err == nil && p.empty() {
			continue
		}
		if err != errFull {
			return p, err
		}
		if err := o.shed(); err != nil {
			return nil, err
		}
	}
}

// empty reports whether there are no steps: what a reduction took was stored after
// settled had looked.
func (p *planner) empty() bool { return len(p.from) == 0 }

// settled gives the operands that were taken, and are stored by now, their places.
func (o *operation) settled() error {
	if !o.fuses() {
		return nil
	}
	left := false
	for i := range o.n {
		in := o.input(i)
		if in.view.Buffer != nil {
			continue
		}
		v := in.of
		v.mu.Lock()
		buf, err := v.buf.Load(), v.err
		if buf != nil {
			err = buf.Err()
		}
		open := v.open
		v.mu.Unlock()
		switch {
		case open:
			left = true
		case err != nil:
			return err
		default:
			in.view.Buffer = buf
		}
	}
	if !left {
		o.depth = 0
	}
	return nil
}

// shed starts what was taken about halfway down the chain.
func (o *operation) shed() error {
	v := o.deepest()
	if v == nil {
		return fmt.Errorf("%w: a step of its own does not fit a program", expr.ErrUnsupported)
	}
	for {
		v.mu.Lock()
		var below *value
		if v.open && v.op.depth >= o.depth/2 {
			below = v.op.deepest()
		}
		v.mu.Unlock()
		if below == nil {
			return v.store()
		}
		v = below
	}
}

// store starts what was taken, for what took it and is not stale.
func (v *value) store() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.open {
		return v.err
	}
	return v.compute()
}

// deepest returns the deepest operand that was taken and is still open; nil for
// none.
func (o *operation) deepest() *value {
	var deepest *value
	depth := -1
	for i := range o.n {
		in := o.input(i)
		if in.view.Buffer != nil {
			continue
		}
		in.of.mu.Lock()
		if in.of.open && in.of.op.depth > depth {
			deepest, depth = in.of, in.of.op.depth
		}
		in.of.mu.Unlock()
	}
	return deepest
}

// callOf is the plan as it runs: what computes into dst.
func (o *operation) callOf(p *planner, dst device.View) *fused.Call {
	var c *fused.Call
	switch o.fusion {
	case end:
		c = p.Reduce(o.code, o.axes, dst)
	case lineEnd:
		gamma, beta := o.along.weights(o)
		c = p.Line(o.code, dst, gamma, beta, o.along.eps)
	default:
		c = p.Elementwise(dst)
	}
	p.choice = c.Choice()
	return c
}

// launch computes the operation into dst, which has its shape: with what it took,
// as a chain.
func (o *operation) launch(s *device.Stream, dst device.View, lay layout.Layout) error {
	p, err := o.planWhole(lay)
	if err != nil {
		return err
	}
	return o.launchPlan(p, s, dst)
}

// launchPlan is launch by a plan that is made.
func (o *operation) launchPlan(p *planner, s *device.Stream, dst device.View) error {
	if p == nil {
		return o.run(o, s, dst)
	}
	var err error
	if p.head != nil {
		err = o.launchHeaded(p, s, dst)
	} else {
		err = o.callOf(p, dst).Run(s)
	}
	o.fused = &fusedPlan{program: p.Program(), from: p.from, head: p.head.described(), choice: p.choice, dev: s.Device()}
	if at, ok := errors.AsType[*expr.StepError](err); ok && at.Step < len(p.from) {
		return p.from[at.Step].wrap(at.Err)
	}
	return err
}

// planAllows is allows for a plan.
func (o *operation) planAllows(p *planner, dst device.View) bool {
	for _, v := range p.Views() {
		if overlaps(&v, &dst) && (o.alias == apart || v.DType.Size() != dst.DType.Size() || !sameLayout(&v.Layout, &dst.Layout)) {
			return false
		}
	}
	for i := 1; o.fusion == lineEnd && i < o.n; i++ { // weights, which are no leaves
		if v := o.view(i); overlaps(&v, &dst) {
			return false
		}
	}
	return true
}

// fusedPlan is what Explain says of a chain.
type fusedPlan struct {
	program *fused.Program
	from    []call
	head    *headed
	choice  fused.Choice
	dev     *device.Device
}

// explain lists the operations that one kernel computes.
func (f *fusedPlan) explain(o *operation) string {
	var b strings.Builder
	n := len(f.from)
	if o.ends() {
		n++
	}
	kernels, why := 1, ""
	if !f.head.joined() {
		kernels, why = fused.Explain(f.dev, f.program, f.choice)
	}
	if f.head != nil {
		b.WriteString(f.head.explain() + "\n")
	}
	switch {
	case f.head.joined():
		fmt.Fprintf(&b, "its epilogue does %d operations:", n)
	case kernels == 1:
		fmt.Fprintf(&b, "one fused kernel for %d operations:", n)
	case kernels == 2:
		fmt.Fprintf(&b, "two fused kernels for %d operations (%s):", n, why)
	default:
		fmt.Fprintf(&b, "%d operations one by one, which could be one kernel (%s):", n, why)
	}
	for i := range f.from {
		fmt.Fprintf(&b, "\n  %%%d %s at %v", i, f.from[i].name, f.from[i].site)
	}
	if o.ends() {
		fmt.Fprintf(&b, "\n  then %s at %v", o.name, o.site)
	}
	fmt.Fprintf(&b, "\n  program: %s", f.program.Key())
	return b.String()
}

// foresee plans an open value's operation for Explain; the value's mutex is held.
func (o *operation) foresee(v *value) {
	if o.settled() != nil || !o.fuses() {
		return
	}
	switch p, err := o.plan(v.lay); {
	case err == errFull:
		o.apart = tooMuch
	case err == nil && !p.empty():
		dst := device.View{DType: v.dt, Layout: v.lay}
		o.callOf(p, dst)
		p.head.foresee(o, p, v.stream, dst)
		o.fused = &fusedPlan{program: p.Program(), from: p.from, head: p.head.described(), choice: p.choice, dev: v.stream.Device()}
	}
}

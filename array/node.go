package array

import (
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/fused"
	"github.com/gpk-go/gpk/internal/chain"
	"github.com/gpk-go/gpk/internal/operror"
	"github.com/gpk-go/gpk/internal/product"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// state is the state of a node.
//
//	from     to       when
//	pending  running  somebody needs the elements
//	running  stored   they are in memory
//	running  failed   the elements cannot be computed: an index of Take, a failed operand
//	running  pending  there was no memory, or the device refused the work: the next try may succeed
//	pending  failed   an operand has failed
//	any      freed    the array was freed, or its scope closed; a running node finishes first
type state uint8

const (
	pending state = iota
	running
	stored
	failed
	freed
)

// node is an operation: its kind and parameters, and the contents of its operands.
//
// A pending node that a consumer computes in the same kernel stays pending. The contents
// that it refers to do not change, so it can still be computed later.
//
// Invariant: a node refers to its operands, and is counted as their reader, exactly while
// it is pending or running.
//
// The scheduler's mutex guards state, err, consumed, computed, kept and the operands.
type node struct {
	call
	err error // the error that readers of a failed or freed node get

	// The small fields are side by side: with them a node and its contents take 640 bytes, else 704.
	state    state
	consumed bool  // it is a step of another node
	computed bool  // it was computed as a part of a consumer, or into another array
	kept     bool  // Scope.Keep was called: the node is stored even if a consumer computes it too
	strided  bool  // the destination need not be dense
	checked  bool  // the device checks its operands while it runs
	headed   bool  // its steps begin with a product
	aliases  bool  // the destination may be an operand of the same layout; it overlaps no other
	depth    uint8 // length of the longest chain of steps below it
	leaves   uint8 // at least the number of arrays that its chain reads
	dt       dtype.DType

	in     [2]operand
	more   []operand // beyond two
	n      int
	stream *device.Stream
	lay    layout.Layout // dense, of the result
	scope  *Scope
	rec    *recording // the capture that it belongs to
	out    *contents

	rule
	how     string
	apart   string // the reason why an operand is not a step
	product *product.Product
	fused   *chain.Plan
}

// rule is what an operation computes.
type rule struct {
	// run computes into dst, which has the node's shape and overlaps the operands only as aliases allows.
	run    func(j *job, s *device.Stream, dst device.View) error
	code   expr.Op // if ops.Table has the operation
	fusion fusion
	// For an element-wise operation, the operand index of each argument. -1 and -2 stand for
	// the first and the second of numbers.
	args    [3]int8
	arity   uint8 // number of args
	numbers [2]ops.Scalar
	axes    []bool // axes of a reduction
	along   *along // the axis and parameters of softmax or a norm
}

// operand is a reference of a node to contents, with the view through which the node reads
// them. The view has no buffer, because the buffer is known only when the node runs.
type operand struct {
	of   *contents
	view device.View
	step bool // while the contents are pending, the node's own kernel computes them
}

// newNode begins an operation. The node and its contents are one allocation.
func newNode(c call) *node {
	x := &struct {
		node
		contents
	}{node: node{call: c}}
	x.node.out, x.contents.node = &x.contents, &x.node
	return &x.node
}

// operand returns the i-th operand.
func (o *node) operand(i int) *operand {
	if i < len(o.in) {
		return &o.in[i]
	}
	return &o.more[i-len(o.in)]
}

// fail wraps a cause in the error of the operation. The error names the operands, or the result if there are none.
func (o *node) fail(err error) *OpError {
	e := o.call.fail(err)
	for i := range o.n {
		v := &o.operand(i).view
		e = operror.With(e, v.Layout.Shape, v.DType)
	}
	if o.n == 0 {
		e = operror.With(e, o.lay.Shape, o.dt)
	}
	return e
}

// wrap adds the operation's name to an error that names no call.
func (o *node) wrap(err error) error {
	if err == nil || operror.Named(err) {
		return err
	}
	return o.fail(err)
}

// release drops the node's references to its operands once the node was stored, has failed or was freed. It keeps what Explain needs. The mutex is held.
func (o *node) release() {
	for i := range o.n {
		o.operand(i).of.dropReader(o.scope)
	}
	o.in, o.more, o.n, o.run, o.depth = [2]operand{}, nil, 0, nil, 0
}

// refersTo counts the references of a node, and of the pending nodes among its operands, to contents that match. An
// operand that is no step can be pending too: there was no memory to store it.
func (o *node) refersTo(match func(*contents) bool) int {
	n := 0
	for i := range o.n {
		in := o.operand(i)
		if match(in.of) {
			n++
		}
		if s := in.of.node; s != nil && s.state <= running && o.earlier(i) < 0 {
			n += s.refersTo(match)
		}
	}
	return n
}

// pendingStep returns the node of an operand that is a step and is not stored yet, and nil for other operands.
func (in *operand) pendingStep() *node {
	if s := in.of.node; in.step && s != nil && s.state <= running {
		return s
	}
	return nil
}

// conjugate looks through a pending Conj, because product kernels conjugate while they read. If in views a Conj, it
// returns the operand of the Conj under the same view, and true.
func (in *operand) conjugate() (operand, bool) {
	n := in.of.node
	if in.of.mem != nil || n.state > running || n.code != expr.Conj || !in.view.DType.IsComplex() {
		return *in, false
	}
	lay, ok := layout.Through(in.view.Layout, n.lay, n.in[0].view.Layout)
	if !ok {
		return *in, false
	}
	out := n.in[0]
	out.step, out.view.Layout = false, lay
	return out, true
}

// earlier returns the index of the first operand with the contents of the i-th one, or -1 if that is the i-th.
func (o *node) earlier(i int) int {
	of := o.operand(i).of
	for j := range i {
		if o.operand(j).of == of {
			return j
		}
	}
	return -1
}

// head returns the pending product with which the node's steps begin, or nil.
func (o *node) head() *node {
	if !o.headed {
		return nil
	}
	for i := range o.n {
		if s := o.operand(i).pendingStep(); s != nil {
			if s.fusion == gemm {
				return s
			}
			if h := s.head(); h != nil {
				return h
			}
		}
	}
	return nil
}

// ends reports whether the operation can only be the last of a chain.
func (o *node) ends() bool { return o.fusion == reduction || o.fusion == rowwise }

// begins reports whether the operation is a product, or its chain of steps begins with one.
func (o *node) begins() bool { return o.fusion == gemm || o.headed }

// fuses reports whether an operand is a step.
func (o *node) fuses() bool { return o.depth > 0 }

// Reasons why an operand is stored instead of being a step; see Explain.
const (
	notAStep    = "it is not element-wise"
	readTwice   = "something else reads it too"
	readAgain   = "an earlier result of its line was read again"
	tooDeep     = "it is 16 operations deep"
	wider       = "it is computed once and broadcast"
	otherStream = "it is on another stream"
	tooMuch     = "all of it does not fit one program"
	twoProducts = "a chain begins with one product"
)

// takes reports whether an operation at a position of a chain can be a step of o.
func (o *node) takes(f fusion) bool { return f == pointwise || f == gemm && !o.ends() }

// obstacle returns the reason why a pending node, viewed through lay, cannot be a step of o, which has size elements. again is set if the node is a step of o already.
func (s *scheduler) obstacle(o, step *node, lay *layout.Layout, size int, again bool) string {
	switch {
	case (step.consumed || step.computed) && !again:
		return readTwice
	case !o.takes(step.fusion):
		return notAStep
	case o.headed && step.begins() && !again:
		return twoProducts
	case step.depth+1 >= fused.MaxDepth:
		return tooDeep
	case step.stream != o.stream:
		return otherStream
	case lay.Size() != size || lay.Repeats() || size == 0:
		return wider
	case s.reread[step.site]:
		return readAgain
	}
	return ""
}

// explain says how the operation is computed: as a product, as a chain, or by itself.
func (o *node) explain(p *product.Product, f *chain.Plan) string {
	how := o.how
	switch {
	case p != nil:
		how = p.Explain()
	case f != nil:
		how = f.Explain(chain.Call{Name: o.name, Site: o.site})
	case o.apart != "":
		how += "; an operand is not part of it: " + o.apart
	}
	return o.name + ": " + how
}

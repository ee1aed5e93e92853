package fused

import (
	"errors"
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// Operand is the layout of an array of a call in its buffer.
type Operand struct {
	Buffer  *device.Buffer
	Offset  int   // index of element (0, 0, …), in elements
	Strides []int // in elements, one for each dimension of Call.Shape
}

// Call is a program with operands, about to run. Its shape has at least one element, and a
// dimension of length 1 only if that is the only one. It is collapsed: neighbouring
// dimensions are merged if the merged dimension has one stride in each operand, and if both
// or neither are reduced.
type Call struct {
	Program *Program
	Shape   []int
	Leaves  []Operand    // one for each of Program.Leaves
	Scalars []ops.Scalar // one for each of Program.Scalars, as an element of its type
	// Dst is the place of the result. A leaf may have exactly the elements of Dst (the
	// same buffer, offset, strides and element size); otherwise it does not overlap
	// Dst. With a reduction, Dst is dense over the dimensions that are kept, in order,
	// and its Strides are nil.
	Dst Operand
	// Bit d of Axes is set if dimension d of Shape is reduced.
	Axes uint32

	// The call before its dimensions were collapsed, for execution by single operations.
	views []device.View // the leaves, broadcast to the shape of the steps
	dst   device.View
	shape []int
	axes  []bool

	// For a norm.
	gamma, beta device.View
	eps         float64

	choice Choice // see Choice
	chosen bool   // choice is set
}

// Size returns the number of elements that the steps compute.
func (c *Call) Size() int {
	n := 1
	for _, d := range c.Shape {
		n *= d
	}
	return n
}

// Builder collects the steps of one chain. All elements of the chain have one shape. It has
// space for a short chain and its call, to save allocations. The call that it returns is
// valid until the next one, or Begin.
type Builder struct {
	shape   []int
	program *Program
	views   []device.View
	scalars []ops.Scalar
	call    Call

	room struct {
		views   [3]device.View
		scalars [2]ops.Scalar
		leaves  [3]Operand
		strides [4][]int
		offsets [3]int
	}
}

// ProgramRoom is a program with space for short lists. Programs are kept for Explain. They
// outlive the Builder, which refers to memory.
type ProgramRoom struct {
	Program
	leaves  [3]Leaf
	scalars [2]dtype.DType
	steps   [3]Step
}

// NewBuilder begins a chain over a shape with at least one element.
func NewBuilder(shape []int) *Builder {
	b := new(Builder)
	b.Begin(shape, new(ProgramRoom))
	return b
}

// Begin begins a chain over a shape with at least one element. It stores the program in p.
func (b *Builder) Begin(shape []int, p *ProgramRoom) {
	p.Leaves, p.Scalars, p.Steps = p.leaves[:0], p.scalars[:0], p.steps[:0]
	b.shape, b.program = shape, &p.Program
	b.views, b.scalars = b.room.views[:0], b.room.scalars[:0]
}

// ErrFull is the error of a leaf, number or step that does not fit the program.
var ErrFull = errors.New("the chain does not fit one program")

// Leaf adds an array and returns its leaf. If a leaf already reads the same elements, it
// returns that one. The layout has the chain's shape. Like Scalar and Step, it returns
// ErrFull if the program is full.
func (b *Builder) Leaf(v device.View) (Ref, error) {
	for i := range b.views {
		w := &b.views[i]
		if w.Buffer == v.Buffer && w.DType == v.DType && w.Layout.Offset == v.Layout.Offset && slices.Equal(w.Layout.Strides, v.Layout.Strides) {
			return Ref{Kind: ToLeaf, N: uint8(i)}, nil
		}
	}
	if len(b.views) == MaxLeaves {
		return Ref{}, ErrFull
	}
	b.views = append(b.views, v)
	b.program.Leaves = append(b.program.Leaves, Leaf{DType: v.DType})
	return Ref{Kind: ToLeaf, N: uint8(len(b.views) - 1)}, nil
}

// Scalar adds a number of a type.
func (b *Builder) Scalar(v ops.Scalar, dt dtype.DType) (Ref, error) {
	if len(b.scalars) == MaxScalars {
		return Ref{}, ErrFull
	}
	b.scalars = append(b.scalars, v)
	b.program.Scalars = append(b.program.Scalars, dt)
	return Ref{Kind: ToScalar, N: uint8(len(b.scalars) - 1)}, nil
}

// Step adds an operation whose result has type dt.
func (b *Builder) Step(op expr.Op, dt dtype.DType, args ...Ref) (Ref, error) {
	if len(b.program.Steps) == MaxSteps {
		return Ref{}, ErrFull
	}
	s := Step{Op: op, DType: dt, N: len(args)}
	copy(s.Args[:], args)
	b.program.Steps = append(b.program.Steps, s)
	return Ref{Kind: ToStep, N: uint8(len(b.program.Steps) - 1)}, nil
}

// Program returns the program so far. The classes of its operands are set once there is a
// call.
func (b *Builder) Program() *Program { return b.program }

// Numbers returns the scalars.
func (b *Builder) Numbers() []ops.Scalar { return b.scalars }

// Views returns the leaves.
func (b *Builder) Views() []device.View { return b.views }

// Elementwise returns the call that computes the last step into dst, which has the chain's
// shape.
func (b *Builder) Elementwise(dst device.View) *Call {
	c := &b.call
	*c = Call{Program: b.program, Scalars: b.scalars, views: b.views, dst: dst, shape: b.shape}
	shape, offset := b.shape, dst.Layout.Offset
	lists, offsets := b.lies()
	lists = append(lists, dst.Layout.Strides)
	if !dst.Layout.IsDense() {
		shape, lists, offset = downhill(shape, lists, offset, offsets)
	}
	shape, lists = layout.Collapse(shape, lists...)
	b.place(shape, lists, offsets)
	c.Dst = Operand{Buffer: dst.Buffer, Offset: offset, Strides: lists[len(lists)-1]}
	b.program.Dst = classOf(shape, c.Dst.Strides)
	if b.program.Dst == Single { // one element
		b.program.Dst = Dense
	} else if b.program.Dst != Dense {
		b.program.Dst = Strided
	}
	return c
}

// Reduce returns the call that reduces the last step along axes into dst, which is dense.
func (b *Builder) Reduce(op expr.Op, axes []bool, dst device.View) *Call {
	c := &b.call
	*c = Call{Program: b.program, Scalars: b.scalars, views: b.views, dst: dst, shape: b.shape, axes: axes}
	lists, offsets := b.lies()
	shape, lists, roles := collapse(b.shape, lists, axes)
	b.place(shape, lists, offsets)
	c.Dst = Operand{Buffer: dst.Buffer, Offset: dst.Layout.Offset}
	for d, folds := range roles {
		if folds {
			c.Axes |= 1 << d
		}
	}
	b.program.Reduction = Reduction{Op: op, DType: dst.DType, Over: over(roles)}
	return c
}

// Line returns the call that computes op, a softmax or a norm, along the last axis of the
// last step, on a GPU. dst has the chain's shape and may have exactly the elements of a
// leaf. gamma and beta are those of ops.Norm.
func (b *Builder) Line(op expr.Op, dst, gamma, beta device.View, eps float64) *Call {
	axes := make([]bool, len(b.shape))
	axes[len(axes)-1] = true
	c := b.Reduce(op, axes, dst)
	c.gamma, c.beta, c.eps = gamma, beta, eps
	return c
}

// lies returns the strides and the offsets of the leaves.
func (b *Builder) lies() (strides [][]int, offsets []int) {
	strides, offsets = b.room.strides[:0], b.room.offsets[:0]
	for i := range b.views {
		l := &b.views[i].Layout
		strides, offsets = append(strides, l.Strides), append(offsets, l.Offset)
	}
	return strides, offsets
}

// place sets the call's collapsed shape, its leaves and their classes.
func (b *Builder) place(shape []int, lists [][]int, offsets []int) {
	c := &b.call
	c.Shape, c.Program.Rank = shape, len(shape)
	c.Leaves = b.room.leaves[:0]
	for i := range c.views {
		c.Leaves = append(c.Leaves, Operand{Buffer: c.views[i].Buffer, Offset: offsets[i], Strides: lists[i]})
		c.Program.Leaves[i].Class = classOf(shape, lists[i])
	}
}

// classOf returns the class of an operand with these strides over a collapsed shape.
func classOf(shape, strides []int) Class {
	dense, single, n := true, true, 1
	for d := len(shape) - 1; d >= 0; d-- {
		dense = dense && strides[d] == n
		single = single && strides[d] == 0
		n *= shape[d]
	}
	switch {
	case single:
		return Single
	case dense:
		return Dense
	case len(shape) == 2 && strides[0] == 0 && strides[1] == 1:
		return Row
	case len(shape) == 2 && strides[0] == 1 && strides[1] == 0:
		return Column
	}
	return Strided
}

// over returns which of the collapsed dimensions a reduction folds; roles is true for the
// folded ones.
func over(roles []bool) Over {
	switch {
	case !slices.Contains(roles, false):
		return OverAll
	case !slices.Contains(roles, true): // only dimensions of length 1 are reduced
		return OverSome
	case len(roles) == 2 && roles[1]:
		return OverLast
	case len(roles) == 2:
		return OverFirst
	}
	return OverSome
}

// downhill sorts the dimensions by the absolute strides of the last list, the largest
// first, and reverses dimensions in which that list runs backwards. Element-wise operations
// may do so, because the order of their elements does not matter.
func downhill(shape []int, lists [][]int, offset int, offsets []int) ([]int, [][]int, int) {
	last := len(lists) - 1
	order := make([]int, len(shape))
	for d := range order {
		order[d] = d
	}
	slices.SortStableFunc(order, func(a, b int) int { return abs(lists[last][b]) - abs(lists[last][a]) })
	sorted, out := make([]int, len(shape)), make([][]int, len(lists))
	for i := range out {
		out[i] = make([]int, len(shape))
	}
	for to, d := range order {
		sorted[to] = shape[d]
		turn := lists[last][d] < 0
		for i, list := range lists {
			out[i][to] = list[d]
			if !turn {
				continue
			}
			out[i][to] = -list[d]
			if i == last {
				offset += list[d] * (shape[d] - 1)
			} else {
				offsets[i] += list[d] * (shape[d] - 1)
			}
		}
	}
	return sorted, out, offset
}

func abs(v int) int { return max(v, -v) }

// collapse is layout.Collapse, except that it never merges a reduced dimension with one
// that is kept. axes is true for the reduced dimensions.
func collapse(shape []int, lists [][]int, axes []bool) (outShape []int, out [][]int, roles []bool) {
	out = make([][]int, len(lists))
	for d, n := range shape {
		if n == 1 {
			continue
		}
		last := len(outShape) - 1
		merge := last >= 0 && roles[last] == axes[d]
		for i := range lists {
			merge = merge && out[i][last] == lists[i][d]*n
		}
		if merge {
			outShape[last] *= n
			for i := range lists {
				out[i][last] = lists[i][d]
			}
			continue
		}
		outShape, roles = append(outShape, n), append(roles, axes[d])
		for i := range lists {
			out[i] = append(out[i], lists[i][d])
		}
	}
	if len(outShape) == 0 {
		outShape, roles = []int{1}, []bool{true}
		for i := range out {
			out[i] = []int{0}
		}
	}
	return outShape, out, roles
}

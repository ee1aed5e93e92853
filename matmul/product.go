package matmul

import (
	"fmt"
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/layout"
)

// Product is a product about to run: D = act(A B + bias). The views are [..., m, n], [...,
// m, k] and [..., k, n] with equal leading dimensions (broadcast ones have stride 0). Bias
// is a dense [n] of D's type, or the zero View. The types must have passed
// Options.ResultType, and the precision Options.Resolve. D must not overlap A, B or Bias.
// With ConjA and ConjB the product is that of the conjugates of complex operands. If B is
// packed, its view is the view of the Packed, broadcast.
type Product struct {
	D, A, B      device.View
	EpilogueArgs           // applied to A B
	Precision    Precision // resolved
	Kernel       string    // forced, or empty
	ConjA, ConjB bool
	AbsSquare    bool // see the options AbsSquare and Symmetric
	Symmetric    bool
	Upper        bool    // with Symmetric: D is not written below the diagonal
	Normwise     bool    // products of float16 planes run without the guard: their error is bounded by the norms |a||b| of row and column
	Measure      bool    // choose the kernel by timing, as GPK_AUTOTUNE does for all products
	Packed       *Packed // nil: B is not packed
	trial        bool    // a timing of autotuning: it bypasses the launch queue, so that a kernel's error is returned
	planned      planned // set by Takes
}

// Flops returns the number of multiplications and additions of the product A B: 2 m n k for
// each matrix of the batch, and four times as many for complex numbers.
func (p *Product) Flops() int64 {
	if p == nil || len(p.B.Layout.Shape) == 0 {
		return 0
	}
	b := p.B.Layout.Shape
	n := 2 * int64(p.A.Layout.Size()) * int64(b[len(b)-1])
	if p.A.DType.IsComplex() {
		n *= 4
	}
	return n
}

// planned is the chosen way to compute a product.
type planned struct {
	stack stack
	q     Problem
	c     *candidate // nil: not planned yet
}

// epilogue returns the epilogue for which the kernel is chosen. It is empty for an epilogue
// with Steps, because Takes chooses the kernel without one.
func (p *Product) epilogue() Epilogue {
	if p.Steps {
		return Epilogue{}
	}
	return Epilogue{Bias: p.Bias.DType.Valid(), Activation: p.Activation}
}

// matrix is a stack of equally spaced matrices: rows x cols, at offset, with
// strides in elements.
type matrix struct {
	rows, cols         int
	offset             int
	rowStride, colStep int
	batchStride        int
}

// layout returns the axis along which the matrix is contiguous, and pitch, the distance of
// its rows (or columns). The stride of an axis of length 1 does not matter.
func (m matrix) layout() (l Layout, pitch int) {
	switch {
	case m.batchStride < 0:
		return Strided, 0 // kernels step forward from one matrix to the next
	case (m.colStep == 1 || m.cols <= 1) && (m.rowStride >= m.cols || m.rows <= 1):
		if m.rows <= 1 {
			return RowMajor, m.cols
		}
		return RowMajor, m.rowStride
	case (m.rowStride == 1 || m.rows <= 1) && (m.colStep >= m.rows || m.cols <= 1):
		if m.cols <= 1 {
			return ColMajor, m.rows
		}
		return ColMajor, m.colStep
	}
	return Strided, 0
}

// right is the layout method for B. A dense column counts as contiguous along k.
func (m matrix) right() (l Layout, pitch int) {
	if m.batchStride >= 0 && m.cols <= 1 && m.rows > 1 && m.rowStride == 1 {
		return ColMajor, m.rows
	}
	return m.layout()
}

// align returns the largest power of two, at most 256, that divides the byte address of
// every line of the stack.
func (m matrix) align(v device.View, batch int, l Layout, pitch int) int {
	size := v.DType.Size()
	if l == Strided {
		return size
	}
	bits := uint64(m.offset * size)
	if v.Buffer != nil { // nil: not allocated yet, and allocations are aligned
		bits += v.Buffer.Addr()
	}
	lines := m.rows
	if l == ColMajor {
		lines = m.cols
	}
	if lines > 1 {
		bits |= uint64(pitch * size)
	}
	if batch > 1 {
		bits |= uint64(m.batchStride * size)
	}
	return int((bits | 256) & -(bits | 256))
}

// stack is the part of a product that one launch computes.
type stack struct {
	batch   int
	a, b, d matrix
}

// stacks divides the product into launches. Leading dimensions with one stride in each of
// the three operands make one batch. If all matrices of the batch read the same B, they
// become rows of A instead. The stacks differ only in their offsets; nil offsets mean that
// there is only the first stack.
func (p *Product) stacks() (first stack, offsets [][3]int) {
	split := func(v device.View) (shape, strides []int, m matrix) {
		n := v.Layout.NDim()
		s, t := v.Layout.Shape, v.Layout.Strides
		return s[:n-2], t[:n-2], matrix{rows: s[n-2], cols: s[n-1], offset: v.Layout.Offset, rowStride: t[n-2], colStep: t[n-1]}
	}
	shape, sd, d := split(p.D)
	_, sa, a := split(p.A)
	_, sb, b := split(p.B)
	if len(shape) == 0 {
		return stack{batch: 1, a: a, b: b, d: d}, nil
	}
	shape, strides := layout.Collapse(shape, sa, sb, sd)
	sa, sb, sd = strides[0], strides[1], strides[2]
	last := len(shape) - 1
	first = stack{batch: shape[last], a: a, b: b, d: d}
	first.a.batchStride, first.b.batchStride, first.d.batchStride = sa[last], sb[last], sd[last]
	if n := first.batch; n > 1 && !p.Symmetric && sb[last] == 0 && a.rows > 0 && sa[last] == a.rowStride*a.rows && sd[last] == d.rowStride*d.rows {
		first.batch = 1
		first.a.rows, first.d.rows = a.rows*n, d.rows*n
		first.a.batchStride, first.b.batchStride, first.d.batchStride = 0, 0, 0
	}
	at := [3]int{a.offset, b.offset, d.offset}
	index := make([]int, last)
	for {
		offsets = append(offsets, at)
		i := last - 1
		for ; i >= 0; i-- {
			index[i]++
			at[0], at[1], at[2] = at[0]+sa[i], at[1]+sb[i], at[2]+sd[i]
			if index[i] < shape[i] {
				break
			}
			at[0], at[1], at[2] = at[0]-sa[i]*shape[i], at[1]-sb[i]*shape[i], at[2]-sd[i]*shape[i]
			index[i] = 0
		}
		if i < 0 {
			return first, offsets
		}
	}
}

// offsets returns the offsets of A, B and D in the stack.
func (s stack) offsets() [3]int { return [3]int{s.a.offset, s.b.offset, s.d.offset} }

// problem describes a stack of the product.
func (p *Product) problem(s stack) Problem {
	la, pa := s.a.layout()
	lb, pb := s.b.right()
	ld, pd := s.d.layout()
	q := Problem{
		M: s.d.rows, N: s.d.cols, K: s.a.cols, Batch: s.batch,
		A: p.A.DType, B: p.B.DType, Out: p.D.DType, LayoutA: la, LayoutB: lb,
		AlignA: s.a.align(p.A, s.batch, la, pa), AlignB: s.b.align(p.B, s.batch, lb, pb), AlignC: s.d.align(p.D, s.batch, ld, pd),
		Precision: p.Precision, Epilogue: p.epilogue(),
		ConjA: p.ConjA, ConjB: p.ConjB, AbsSquare: p.AbsSquare, Symmetric: p.Symmetric, Packed: p.Packed.serves(s, formFor(p.B.DType, p.Precision)),
	}
	switch end := s.d.cols * p.D.DType.Size(); {
	case ld != RowMajor || s.d.cols > 1 && s.d.colStep != 1:
		q.AlignC = 1 // kernels write contiguous rows only: the result goes through a temporary buffer
	case end > 0:
		// A kernel that stores whole units must not write beyond the end of a row. D
		// may be a part of an array, or its last row may end the buffer.
		q.AlignC = min(q.AlignC, end&-end)
	}
	if q.Precision == Default && q.A == dtype.Complex64 {
		q.Precision = FullPrecision
	}
	return q
}

// check returns an error if the shapes of A, B and the result d do not fit.
func (p *Product) check(d []int) error {
	a, b, n := &p.A.Layout, &p.B.Layout, len(d)
	if n < 2 || len(a.Shape) != n || len(b.Shape) != n || len(a.Strides) != n || len(b.Strides) != n ||
		!slices.Equal(a.Shape[:n-2], d[:n-2]) || !slices.Equal(b.Shape[:n-2], d[:n-2]) ||
		d[n-2] != a.Shape[n-2] || a.Shape[n-1] != b.Shape[n-2] || b.Shape[n-1] != d[n-1] {
		return layout.Errorf("a product of %v and %v into %v", a.Shape, b.Shape, d)
	}
	return nil
}

// Run starts the product on s.
func (p *Product) Run(s *device.Stream) error {
	if p == nil {
		return layout.Errorf("a nil Product")
	}
	if err := p.check(p.D.Layout.Shape); err != nil {
		return err
	}
	if p.D.Buffer == nil || p.A.Buffer == nil || p.B.Buffer == nil {
		return fmt.Errorf("%w: an operand of the product has no buffer", device.ErrDevice)
	}
	if slices.Contains(p.D.Layout.Shape, 0) {
		return nil
	}
	if s.Device().Kind() == device.CPU {
		return p.runCPU(s)
	}
	return p.runCUDA(s)
}

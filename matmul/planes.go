package matmul

import (
	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
)

// planes is an operand in a form: one or two planes of float16, a scale for each line, and
// guard words. A line is a row of A or a column of B. Addresses are device addresses.
type planes struct {
	high, low, scales, guards uint64
	kMajor                    bool // if set, the elements of a line are contiguous; otherwise the elements of all lines at one k are
	pitch, member             int  // elements between lines (or between steps of k), and between matrices of the batch
	lines                     int  // number of lines of a matrix, each with one scale
}

// planesAlign is the alignment of each part of an operand's memory, in bytes.
const planesAlign = 256

// layPlanes assigns addresses, from at on, to the planes of an operand of real lines of
// length k. It returns the first address behind them.
func layPlanes(at uint64, form cutlass.Form, lines, k, copies int, kMajor bool) (planes, uint64) {
	p := planes{kMajor: kMajor, lines: lines}
	count, length := lines, k
	if !kMajor {
		count, length = k, lines
	}
	p.pitch = alignedPitch(length, 2, 16)
	p.member = count * p.pitch
	take := func(bytes int) uint64 {
		from := at
		at += uint64(alignUp(bytes, planesAlign))
		return from
	}
	p.high = take(2 * p.member * copies)
	if form == cutlass.FormSplit {
		p.low = take(2 * p.member * copies)
	}
	p.scales = take(4 * lines * copies)
	p.guards = take(4 * cutlass.GuardWords)
	return p, at
}

// from returns the planes without the lines before `line`.
func (p planes) from(line int) planes {
	step := uint64(2)
	if p.kMajor {
		step *= uint64(p.pitch)
	}
	p.high += uint64(line) * step
	if p.low != 0 {
		p.low += uint64(line) * step
	}
	p.scales += 4 * uint64(line)
	return p
}

// members returns the planes of the batch from matrix i on.
func (p planes) members(i int) planes {
	p.high += uint64(i) * uint64(p.member) * 2
	if p.low != 0 {
		p.low += uint64(i) * uint64(p.member) * 2
	}
	p.scales += uint64(i) * uint64(p.lines) * 4
	return p
}

// source returns gpk_prepare's description of an operand and of the place of its planes.
// The rows of m are the lines.
func (p planes) source(o operand, m matrix, conj bool) cutlass.Prepared {
	q := cutlass.Prepared{
		Lines: m.rows, Source: o.addr(), Line: m.rowStride, Step: m.colStep, Stride: m.batchStride, Conj: conj,
		High: p.high, Low: p.low, Pitch: p.pitch, Member: p.member, Scales: p.scales, Guards: p.guards,
	}
	if p.kMajor {
		q.Step = 1
	} else { // a single line: its stride has no effect
		q.Line = 1
	}
	return q
}

// transposed returns the matrix with its axes swapped.
func (m matrix) transposed() matrix {
	m.rows, m.cols, m.rowStride, m.colStep = m.cols, m.rows, m.colStep, m.rowStride
	return m
}

// copies returns the number of different matrices of the stack: 1 for a broadcast one.
func (m matrix) copies(batch int) int {
	if m.batchStride == 0 {
		return 1
	}
	return batch
}

// scaledRun holds the planes of both operands of a scaled or split kernel, and their memory.
// The product makes the planes, unless B is packed and has them already.
type scaledRun struct {
	a, b             planes
	strideA, strideB int
	prepareA         cutlass.Prepared // without Lines there is nothing to prepare
	prepareB         cutlass.Prepared
	workspace        uint64
	need             int64
	buf              *device.Buffer
}

// scaled allocates the planes of a product. The caller frees r.buf, which may be nil.
func (p *Product) scaled(s *device.Stream, st stack, q Problem, c *candidate, a, b operand) (r scaledRun, err error) {
	factor := 1
	if q.A.IsComplex() {
		factor = 2
	}
	if c.few() {
		if r.buf, err = s.Device().Alloc(4*cutlass.GuardWords, s); err == nil {
			r.a.guards = r.buf.Addr()
			r.b = p.Packed.planes.members(p.Packed.index(st.b.offset))
		}
		return r, err
	}
	kMajorA, kMajorB := c.kernel.MajorA == cutlass.RowMajor, c.kernel.MajorB == cutlass.ColMajor
	packed := q.Packed
	lay := func(base uint64) (end uint64) {
		r.a, end = layPlanes(base, c.form, q.M, c.k, a.m.copies(q.Batch), kMajorA)
		if !packed {
			r.b, end = layPlanes(end, c.form, factor*q.N, c.k, b.m.copies(q.Batch), kMajorB)
		}
		return end
	}
	r.need = c.prepareScratch
	total := lay(0)
	if r.buf, err = s.Device().Alloc(int64(total)+r.need, s); err != nil {
		return r, err
	}
	r.workspace = r.buf.Addr() + total
	lay(r.buf.Addr())
	r.prepareA = r.a.source(a, a.m, q.ConjA)
	if packed {
		r.b = p.Packed.planes.members(p.Packed.index(st.b.offset))
	} else {
		r.prepareB = r.b.source(b, b.m.transposed(), q.ConjB)
	}
	if a.m.batchStride != 0 {
		r.strideA = r.a.member
	}
	if b.m.batchStride != 0 {
		r.strideB = r.b.member
	}
	return r, nil
}

// prepare enqueues the kernels that make the planes.
func (r *scaledRun) prepare(lib *cutlass.Library, ordinal int, stream uint64, t dtype.DType, form cutlass.Form, q Problem) error {
	return lib.Prepare(ordinal, stream, t, form, q.K, q.Batch, r.prepareA, r.prepareB, r.workspace, r.need)
}

// withoutFreed runs a product, and runs it again without the planes of a packed B if another
// goroutine has freed these since the product was planned: the product then makes its own. A
// launch refuses freed planes before it reads them. If the kernel without planes cannot apply
// the steps of the epilogue, separate operations do.
func (p *Product) withoutFreed(s *device.Stream, run func(*Product, *device.Stream) error) error {
	err := run(p, s)
	if err == nil || !p.Packed.Planes().Freed() {
		return err
	}
	q := *p
	q.Packed, q.planned = nil, planned{}
	if !p.Steps {
		return run(&q, s)
	}
	q.EpilogueArgs = EpilogueArgs{}
	taken := q.Takes(s, p.EpilogueArgs)
	if err := run(&q, s); err != nil || taken {
		return err
	}
	return p.applyEpilogue(s, p.D)
}

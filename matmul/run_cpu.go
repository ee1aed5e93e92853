package matmul

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/cpu"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// cpuPlan describes how runCPU computes a problem.
func cpuPlan(p Problem) Plan {
	plan := Plan{Kernel: "cpu_" + p.A.String(), SplitK: 1}
	why := "packed panels"
	if !cpu.PacksGemm(p.A, p.M, p.N, p.K) {
		why = "operands where they lie"
	}
	why += ", micro-kernel " + cpu.KernelName(p.A)
	switch {
	case p.A == dtype.Float32 || p.A == dtype.Complex64:
		why += "; IEEE float32 whatever the precision asked for"
	case p.A.IsHalf():
		why += "; widened to float32 while packing, rounded once"
	}
	plan.Reason = why
	if p.AbsSquare {
		plan.Steps = append(plan.Steps, Step{Kind: Square, Operand: "D"})
	}
	if p.Symmetric {
		plan.Steps = append(plan.Steps, Step{Kind: Mirror, Operand: "D"})
	}
	if p.AlignC == 1 && p.Out.Size() > 1 {
		plan.Steps = append(plan.Steps, Step{Kind: CopyOut, Operand: "D", Detail: "out of a dense copy"})
	}
	plan.Steps = append([]Step{{Kind: Launch, Detail: plan.Kernel}}, plan.Steps...)
	return plan
}

// runCPU computes every matrix of the product. The CPU's kernels read any strides and
// conjugate.
func (p *Product) runCPU(s *device.Stream) error {
	if last := p.D.Layout.NDim() - 1; p.D.Layout.Strides[last] != 1 && p.D.Layout.Shape[last] != 1 {
		return p.runStrided(s)
	}
	r := hostRuns.Get().(*hostRun)
	defer r.done()
	r.p = p
	r.first, r.offsets = p.stacks()
	r.ep.Act = cpu.Activation(p.Activation)
	r.reads[0], r.reads[1], r.writes[0] = p.A.Buffer, p.B.Buffer, p.D.Buffer
	biased := p.Bias.Buffer != nil && p.A.DType.IsFloat()
	if biased {
		r.reads[2] = p.Bias.Buffer
	}
	reads := r.reads[:]
	switch {
	case !p.AbsSquare && !p.Symmetric:
		var err error
		if r.reads[3], err = p.Packed.panelsFor(s, p, &r.first, r.offsets); err != nil {
			return err
		}
		err = s.Device().LaunchWork(s, reads, r.writes[:], r)
		if err != nil && r.reads[3].Freed() { // another goroutine freed them after panelsFor
			r.reads[3] = nil
			err = s.Device().LaunchWork(s, reads, r.writes[:], r)
		}
		if err != nil {
			return err
		}
	case r.offsets == nil:
		if err := p.runBlocks(s, r.first, r.first.offsets(), reads); err != nil {
			return err
		}
	default:
		for _, at := range r.offsets {
			if err := p.runBlocks(s, r.first, at, reads); err != nil {
				return err
			}
		}
	}
	if p.Bias.Buffer != nil && !biased {
		return p.addBias(s, p.D)
	}
	return nil
}

// runStrided is runCPU for a D whose rows are not contiguous. The product goes to a
// dense buffer, which is copied to D.
func (p *Product) runStrided(s *device.Stream) error {
	buf, err := s.Device().Alloc(int64(p.D.Layout.Size()*p.D.DType.Size()), s)
	if err != nil {
		return err
	}
	defer buf.Free()
	q := *p
	q.D = device.View{Buffer: buf, DType: p.D.DType, Layout: layout.Dense(p.D.Layout.Shape)}
	if err := q.runCPU(s); err != nil {
		return err
	}
	return ops.Cast(s, p.D, q.D)
}

// hostRun is a product on the CPU as device.Work.
type hostRun struct {
	p       *Product
	first   stack
	offsets [][3]int // nil: only the first stack
	ep      cpu.Epilogue
	reads   [4]*device.Buffer // A, B, the bias and B's panels; the last two may be nil
	writes  [1]*device.Buffer
}

// hostRuns is a pool, so that a product allocates no hostRun.
var hostRuns = sync.Pool{New: func() any { return new(hostRun) }}

// done clears the run and returns it to the pool.
func (r *hostRun) done() {
	*r = hostRun{}
	hostRuns.Put(r)
}

// Keep implements device.Keeper. It copies *p, because the caller may change it.
func (r *hostRun) Keep() device.Work {
	p, kept := *r.p, *r
	kept.p = &p
	return &kept
}

// Start implements device.Work.
func (r *hostRun) Start(int, uint64) error {
	r.ep.Bias = nil
	if r.reads[2] != nil {
		r.ep.Bias = r.p.Bias.Ptr()
	}
	var panels unsafe.Pointer
	if r.reads[3] != nil {
		panels = r.reads[3].Ptr()
	}
	if r.offsets == nil {
		return r.p.multiply(&r.first, r.p.D, panels, &r.ep)
	}
	st := r.first
	for _, at := range r.offsets {
		st.a.offset, st.b.offset, st.d.offset = at[0], at[1], at[2]
		if err := r.p.multiply(&st, r.p.D, panels, &r.ep); err != nil {
			return err
		}
	}
	return nil
}

// multiply computes the matrices of a stack into d, on the CPU. panels are those of B, or nil.
func (p *Product) multiply(st *stack, d device.View, panels unsafe.Pointer, ep *cpu.Epilogue) error {
	a, b := p.A.Buffer.Ptr(), p.B.Buffer.Ptr()
	if st.a.cols > 0 { // else the buffers may be empty
		a, b = pointer(p.A, st.a.offset), pointer(p.B, st.b.offset)
	}
	err := cpu.GemmBatch(p.A.DType, d.DType, st.batch, st.d.rows, st.d.cols, st.a.cols,
		cpu.Operand{Data: a, RS: st.a.rowStride, CS: st.a.colStep, Conj: p.ConjA}, st.a.batchStride,
		cpu.Operand{Data: b, RS: st.b.rowStride, CS: st.b.colStep, Conj: p.ConjB, Panels: panels}, st.b.batchStride,
		pointer(d, st.d.offset), st.d.batchStride, st.d.rowStride, ep)
	if err != nil {
		return fmt.Errorf("%v: %w", p.problem(*st), err)
	}
	return nil
}

// runBlocks computes a stack with AbsSquare or Symmetric, block by block.
func (p *Product) runBlocks(s *device.Stream, st stack, at [3]int, reads []*device.Buffer) error {
	own := *p // a capture keeps the work after this call, and the caller may change *p
	p = &own
	dev := s.Device()
	st.a.offset, st.b.offset, st.d.offset = at[0], at[1], at[2]
	q := p.problem(st)
	half := q.Symmetric && !q.AbsSquare // squaring also reads elements below the diagonal
	rows := hostRows(q, half)
	var temp device.View
	if q.AbsSquare && q.sumType() != q.Out {
		temp.DType = q.sumType()
		buf, err := dev.Alloc(int64(q.Batch)*int64(rows)*int64(q.N)*int64(temp.DType.Size()), s)
		if err != nil {
			return err
		}
		defer buf.Free()
		temp.Buffer = buf
	}
	for row := 0; row < q.M; row += rows {
		b := block{row: row, rows: min(rows, q.M-row)}
		if q.Symmetric {
			b.col = row
		}
		part := st
		part.a.offset += b.row * st.a.rowStride
		part.a.rows = b.rows
		part.b.offset += b.col * st.b.colStep
		part.b.cols -= b.col
		place := st.d.block(b)
		out := p.D
		part.d = place
		if temp.Buffer != nil {
			out = temp
			part.d = matrix{rows: place.rows, cols: place.cols, rowStride: place.cols, colStep: 1, batchStride: place.rows * place.cols}
		}
		err := dev.Launch(s, reads, []*device.Buffer{out.Buffer}, func(int, uint64) error { return p.multiply(&part, out, nil, &cpu.Epilogue{Upper: half}) })
		if err == nil && q.AbsSquare {
			err = square(s, place.view(p.D, q.Batch), part.d.view(out, q.Batch))
		}
		if err != nil {
			return err
		}
	}
	if q.Symmetric {
		return mirror(s, st.d.view(p.D, q.Batch))
	}
	return nil
}

// hostRows returns the number of rows of a block. The kernels of float32 and float64 skip the lower half
// themselves.
func hostRows(q Problem, half bool) int {
	if q.Batch > 1 || half && (q.A == dtype.Float32 || q.A == dtype.Float64) {
		return q.M
	}
	return min(q.M, max(blockUnit, alignUp(q.M/8, blockUnit)))
}

// pointer returns the host address of element i of v's buffer.
func pointer(v device.View, i int) unsafe.Pointer {
	return unsafe.Add(v.Buffer.Ptr(), i*v.DType.Size())
}

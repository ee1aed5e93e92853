package matmul

import (
	"fmt"
	"unsafe"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/cpu"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// cpuPlan describes what runCPU does.
func cpuPlan(p Problem) Plan {
	plan := Plan{Kernel: "cpu_" + p.A.String(), SplitK: 1}
	why := "packed panels, micro-kernel " + cpu.KernelName(p.A)
	switch p.A {
	case dtype.Float32, dtype.Complex64:
		why += "; IEEE float32 whatever the precision asked for"
	case dtype.Float16, dtype.BFloat16:
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
		plan.Steps = append(plan.Steps, Step{Kind: Strip, Operand: "D", Detail: "out of a dense copy"})
	}
	plan.Steps = append([]Step{{Kind: Launch, Detail: plan.Kernel}}, plan.Steps...)
	return plan
}

// runCPU computes every matrix of the product with the packed kernels, which
// read any strides and take conjugates.
func (p *Product) runCPU(s *device.Stream) error {
	dev := s.Device()
	q := *p
	direct := p.D.Layout.Strides[p.D.Layout.NDim()-1] == 1 || p.D.Layout.Shape[p.D.Layout.NDim()-1] == 1
	if !direct {
		buf, err := dev.Alloc(int64(p.D.Layout.Size()*p.D.DType.Size()), s)
		if err != nil {
			return err
		}
		defer buf.Free()
		q.D = device.View{Buffer: buf, DType: p.D.DType, Layout: layout.Dense(p.D.Layout.Shape)}
	}
	reads := []*device.Buffer{p.A.Buffer, p.B.Buffer}
	ep := &cpu.Epilogue{Act: cpu.Activation(p.Activation)}
	if p.Bias.Buffer != nil && p.A.DType.IsFloat() {
		reads = append(reads, p.Bias.Buffer)
		ep.Bias = p.Bias.Ptr()
	}
	first, offsets := q.stacks()
	if offsets == nil {
		offsets = [][3]int{first.offsets()}
	}
	if p.AbsSquare || p.Symmetric {
		for _, at := range offsets {
			if err := q.runBlocks(s, first, at, reads); err != nil {
				return err
			}
		}
	} else {
		err := dev.Launch(s, reads, []*device.Buffer{q.D.Buffer}, func(int, uint64) error {
			for _, at := range offsets {
				first.a.offset, first.b.offset, first.d.offset = at[0], at[1], at[2]
				if err := q.multiply(first, q.D, ep); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if p.Bias.Buffer != nil && ep.Bias == nil {
		if err := q.addBias(s, q.D); err != nil {
			return err
		}
	}
	if !direct {
		return ops.Cast(s, p.D, q.D)
	}
	return nil
}

// multiply computes the matrices of a stack into d, on the CPU.
func (p *Product) multiply(st stack, d device.View, ep *cpu.Epilogue) error {
	for i := range st.batch {
		a, b := p.A.Buffer.Ptr(), p.B.Buffer.Ptr()
		if st.a.cols > 0 { // else there is nothing to point at
			a = pointer(p.A, st.a.offset+i*st.a.batchStride)
			b = pointer(p.B, st.b.offset+i*st.b.batchStride)
		}
		err := cpu.Gemm(p.A.DType, d.DType, st.d.rows, st.d.cols, st.a.cols,
			cpu.Operand{Data: a, RS: st.a.rowStride, CS: st.a.colStep, Conj: p.ConjA},
			cpu.Operand{Data: b, RS: st.b.rowStride, CS: st.b.colStep, Conj: p.ConjB},
			pointer(d, st.d.offset+i*st.d.batchStride), st.d.rowStride, ep)
		if err != nil {
			return fmt.Errorf("%v: %w", p.problem(st), err)
		}
	}
	return nil
}

// runBlocks computes a stack whose result is squared, or symmetric, block by
// block.
func (p *Product) runBlocks(s *device.Stream, st stack, at [3]int, reads []*device.Buffer) error {
	dev := s.Device()
	st.a.offset, st.b.offset, st.d.offset = at[0], at[1], at[2]
	q := p.problem(st)
	rows := q.M
	if q.Batch == 1 {
		rows = min(rows, max(blockUnit, alignUp(q.M/8, blockUnit)))
	}
	var aside device.View
	if q.AbsSquare && q.sum() != q.Out {
		aside.DType = q.sum()
		buf, err := dev.Alloc(int64(q.Batch)*int64(rows)*int64(q.N)*int64(aside.DType.Size()), s)
		if err != nil {
			return err
		}
		defer buf.Free()
		aside.Buffer = buf
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
		if aside.Buffer != nil {
			out = aside
			part.d = matrix{rows: place.rows, cols: place.cols, rowStride: place.cols, colStep: 1, batchStride: place.rows * place.cols}
		}
		err := dev.Launch(s, reads, []*device.Buffer{out.Buffer}, func(int, uint64) error { return p.multiply(part, out, nil) })
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

// pointer is the host address of element i of v's buffer.
func pointer(v device.View, i int) unsafe.Pointer {
	return unsafe.Add(v.Buffer.Ptr(), i*v.DType.Size())
}

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
	if p.AlignC == 1 && p.Out.Size() > 1 {
		plan.Steps = append(plan.Steps, Step{Kind: Strip, Operand: "D", Detail: "out of a dense copy"})
	}
	plan.Steps = append([]Step{{Kind: Launch, Detail: plan.Kernel}}, plan.Steps...)
	return plan
}

// runCPU computes every matrix of the product with the packed kernels, which
// read any strides.
func (p *Product) runCPU(s *device.Stream) error {
	dev := s.Device()
	out := p.D
	direct := p.D.Layout.Strides[p.D.Layout.NDim()-1] == 1 || p.D.Layout.Shape[p.D.Layout.NDim()-1] == 1
	if !direct {
		buf, err := dev.Alloc(int64(p.D.Layout.Size()*p.D.DType.Size()), s)
		if err != nil {
			return err
		}
		defer buf.Free()
		out = device.View{Buffer: buf, DType: p.D.DType, Layout: layout.Dense(p.D.Layout.Shape)}
	}
	reads := []*device.Buffer{p.A.Buffer, p.B.Buffer}
	ep := &cpu.Epilogue{Act: cpu.Activation(p.Activation)}
	if p.Bias.Buffer != nil && p.A.DType.IsFloat() {
		reads = append(reads, p.Bias.Buffer)
		ep.Bias = p.Bias.Ptr()
	}
	q := *p
	q.D = out
	first, offsets := q.stacks()
	err := dev.Launch(s, reads, []*device.Buffer{out.Buffer}, func(int, uint64) error {
		for _, at := range offsets {
			for i := range first.batch {
				a, b := p.A.Buffer.Ptr(), p.B.Buffer.Ptr()
				if first.a.cols > 0 { // else there is nothing to point at
					a = pointer(p.A, at[0]+i*first.a.batchStride)
					b = pointer(p.B, at[1]+i*first.b.batchStride)
				}
				d := pointer(out, at[2]+i*first.d.batchStride)
				err := cpu.Gemm(p.A.DType, out.DType, first.d.rows, first.d.cols, first.a.cols,
					cpu.Operand{Data: a, RS: first.a.rowStride, CS: first.a.colStep},
					cpu.Operand{Data: b, RS: first.b.rowStride, CS: first.b.colStep}, d, first.d.rowStride, ep)
				if err != nil {
					return fmt.Errorf("%v: %w", p.problem(first), err)
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if p.Bias.Buffer != nil && ep.Bias == nil {
		if err := q.addBias(s, out); err != nil {
			return err
		}
	}
	if !direct {
		return ops.Cast(s, p.D, out)
	}
	return nil
}

// pointer is the host address of element i of v's buffer.
func pointer(v device.View, i int) unsafe.Pointer {
	return unsafe.Add(v.Buffer.Ptr(), i*v.DType.Size())
}

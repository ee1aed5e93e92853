package matmul

import (
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// Detached returns the product without its memory, for Describe alone: where
// operands begin is kept in their offsets, so that alignment shows.
func (p Product) Detached() Product {
	for _, v := range []*device.View{&p.A, &p.B, &p.D} {
		if v.Buffer != nil {
			v.Layout.Offset += int(v.Buffer.Addr()&0xffff) / v.DType.Size()
			v.Buffer = nil
		}
	}
	p.Bias.Buffer = nil
	return p
}

// Describe plans a detached product for a device, with a dense destination of
// the given shape and type.
func (p Product) Describe(dev *device.Device, shape []int, dt dtype.DType) (Plan, error) {
	p.D = device.View{DType: dt, Layout: layout.Dense(shape)}
	s, _ := p.stacks()
	problem := p.problem(s)
	if dev.Kind() == device.CPU {
		return cpuPlan(problem), nil
	}
	plan, _, err := choose(problem, dev.Capabilities(), p.Kernel, manifest)
	return plan, err
}

// Prepare returns the right operand b, [..., k, n], in the form that kernels
// read without a prepare pass in the given (resolved) precision: k contiguous
// for TF32, rows of 16 bytes. made is false when b has that form already; else
// the view is of a new buffer.
func Prepare(s *device.Stream, b device.View, precision Precision) (form device.View, made bool, err error) {
	if s.Device().Kind() == device.CPU {
		return b, false, nil
	}
	n := b.Layout.NDim()
	size := b.DType.Size()
	unit := max(1, 16/size)
	rows, cols := b.Layout.Shape[n-2], b.Layout.Shape[n-1]
	m := matrix{rows: rows, cols: cols, rowStride: b.Layout.Strides[n-2], colStep: b.Layout.Strides[n-1]}
	l, pitch := m.layout()
	kMajor := l == ColMajor
	if precision == TF32 {
		kMajor = true
	}
	fits := l != Strided && pitch%unit == 0 && (l == ColMajor) == kMajor
	if fits && b.Layout.Offset == 0 {
		return b, false, nil
	}
	lines, length := rows, cols
	if kMajor {
		lines, length = cols, rows
	}
	p := alignUp(length, unit)
	batch := layout.Dense(b.Layout.Shape[:n-2])
	out := layout.Layout{Shape: b.Layout.Shape, Strides: make([]int, n)}
	for i, t := range batch.Strides {
		out.Strides[i] = t * lines * p
	}
	out.Strides[n-2], out.Strides[n-1] = p, 1
	if kMajor {
		out.Strides[n-2], out.Strides[n-1] = 1, p
	}
	buf, err := s.Device().Alloc(int64(batch.Size())*int64(lines)*int64(p)*int64(size), s)
	if err != nil {
		return device.View{}, false, err
	}
	form = device.View{Buffer: buf, DType: b.DType, Layout: out}
	if err := ops.Cast(s, form, b); err != nil {
		buf.Free()
		return device.View{}, false, err
	}
	return form, true, nil
}

package matmul

import (
	"slices"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// manifest is the list of kernels, built once.
var manifest = cutlass.Kernels()

// runCUDA plans one stack and launches it at every offset.
func (p *Product) runCUDA(s *device.Stream) error {
	first, offsets := p.stacks()
	for _, at := range offsets {
		st := first
		st.a.offset, st.b.offset, st.d.offset = at[0], at[1], at[2]
		if err := p.launch(s, st); err != nil {
			return err
		}
	}
	return nil
}

// launch carries out the plan of one stack: prepare, kernel, finish, strip.
func (p *Product) launch(s *device.Stream, st stack) error {
	dev := s.Device()
	q := p.problem(st)
	if q.K == 0 {
		return p.emptySum(s, st)
	}
	c, err := plans.get(q, p.Kernel, dev)
	if err != nil {
		return err
	}
	lib, index := dev.Library(), c.index

	a, freeA, err := prepared(s, p.A, st.a, st.batch, c.prepA, c.k, false)
	if err != nil {
		return err
	}
	defer freeA()
	b, freeB, err := prepared(s, p.B, st.b, st.batch, c.prepB, c.k, true)
	if err != nil {
		return err
	}
	defer freeB()

	out, outM := p.D, st.d
	if c.strip {
		size := p.D.DType.Size()
		pitch := alignUp(q.N, max(c.kernel.AlignOut, 16)/size)
		buf, err := dev.Alloc(int64(q.Batch)*int64(q.M)*int64(pitch)*int64(size), s)
		if err != nil {
			return err
		}
		defer buf.Free()
		out = device.View{Buffer: buf, DType: p.D.DType}
		outM = matrix{rows: q.M, cols: q.N, rowStride: pitch, colStep: 1, batchStride: q.M * pitch}
	}

	act, bias := p.Activation, uint64(0)
	reads := []*device.Buffer{a.view.Buffer, b.view.Buffer}
	if p.Bias.Buffer != nil && !c.finish {
		bias = p.Bias.Addr()
		reads = append(reads, p.Bias.Buffer)
	}
	if c.finish {
		act = NoActivation
	}
	need := c.scratch
	writes := []*device.Buffer{out.Buffer}
	var workspace uint64
	if need > 0 {
		work, err := dev.Alloc(need, s)
		if err != nil {
			return err
		}
		defer work.Free()
		workspace = work.Addr()
		writes = append(writes, work)
	}
	ldd := outM.rowStride
	if outM.rows <= 1 { // no second row: any pitch that the kernel accepts
		ldd = alignUp(outM.cols, max(1, 16/p.D.DType.Size()))
	}
	err = dev.Launch(s, reads, writes, func(ordinal int, stream uint64) error {
		return lib.Gemm(ordinal, stream, index, int64(q.M), int64(q.N), int64(c.k), int64(q.Batch),
			a.addr(), int64(a.pitch), int64(a.m.batchStride), b.addr(), int64(b.pitch), int64(b.m.batchStride),
			out.Buffer.Addr()+uint64(outM.offset*out.DType.Size()), int64(ldd), int64(outM.batchStride),
			bias, int(act), 1, 0, workspace, need)
	})
	if err != nil {
		return err
	}
	result := outM.view(out, q.Batch)
	if c.finish {
		if err := p.finish(s, result); err != nil {
			return err
		}
	}
	if c.strip {
		return ops.Cast(s, st.d.view(p.D, q.Batch), result)
	}
	return nil
}

// view is the stack as a three-dimensional view of v's buffer.
func (m matrix) view(v device.View, batch int) device.View {
	v.Layout = layout.Layout{Shape: []int{batch, m.rows, m.cols}, Strides: []int{m.batchStride, m.rowStride, m.colStep}, Offset: m.offset}
	return v
}

// operand is a matrix stack as a kernel reads it.
type operand struct {
	view  device.View
	m     matrix
	pitch int
}

func (o operand) addr() uint64 {
	return o.view.Buffer.Addr() + uint64(o.m.offset*o.view.DType.Size())
}

// prepared returns the operand as the kernel reads it, copied where the plan
// says so; free gives the copy back, in stream order. k is the kernel's k,
// which runs along the columns of A and the rows of B; what lies beyond the
// operand's own is filled with zeros.
func prepared(s *device.Stream, v device.View, m matrix, batch int, how prep, k int, isB bool) (operand, func(), error) {
	if !how.copy {
		_, pitch := m.layout()
		if l, _ := m.layout(); l == RowMajor && m.rows <= 1 || l == ColMajor && m.cols <= 1 {
			pitch = alignUp(pitch, max(1, 16/v.DType.Size()))
		}
		return operand{view: v, m: m, pitch: pitch}, func() {}, nil
	}
	copies := batch
	if m.batchStride == 0 {
		copies = 1
	}
	full := m // the copy's shape: k filled up
	if isB {
		full.rows = k
	} else {
		full.cols = k
	}
	full.offset = 0
	lines := full.rows
	if how.major == cutlass.RowMajor {
		full.rowStride, full.colStep = how.pitch, 1
	} else {
		full.rowStride, full.colStep = 1, how.pitch
		lines = full.cols
	}
	full.batchStride = 0
	if copies > 1 {
		full.batchStride = lines * how.pitch
	}
	size := v.DType.Size()
	buf, err := s.Device().Alloc(int64(copies)*int64(lines)*int64(how.pitch)*int64(size), s)
	if err != nil {
		return operand{}, nil, err
	}
	o := operand{view: device.View{Buffer: buf, DType: v.DType}, m: full, pitch: how.pitch}
	src, dst := m, full
	dst.rows, dst.cols = m.rows, m.cols
	err = ops.Cast(s, dst.view(o.view, copies), src.view(v, copies))
	if err == nil && (full.rows > m.rows || full.cols > m.cols) {
		rest := full
		if isB {
			rest.rows -= m.rows
			rest.offset += m.rows * full.rowStride
		} else {
			rest.cols -= m.cols
			rest.offset += m.cols * full.colStep
		}
		err = ops.Fill(s, rest.view(o.view, copies), ops.Scalar{})
	}
	if err != nil {
		buf.Free()
		return operand{}, nil, err
	}
	return o, buf.Free, nil
}

var activationOps = map[Activation]expr.Op{ReLU: expr.ReLU, GELU: expr.GELU, GELUTanh: expr.GELUTanh, SiLU: expr.SiLU}

// finish applies bias and activation after a kernel that cannot.
func (p *Product) finish(s *device.Stream, d device.View) error {
	if p.Bias.Buffer != nil {
		if err := p.addBias(s, d); err != nil {
			return err
		}
	}
	if op, ok := activationOps[p.Activation]; ok {
		return ops.Apply1(s, op, d, d)
	}
	return nil
}

// addBias adds the bias row to every row of d.
func (p *Product) addBias(s *device.Stream, d device.View) error {
	row := p.Bias
	row.Layout = layout.Layout{Shape: d.Layout.Shape, Strides: make([]int, d.Layout.NDim()), Offset: p.Bias.Layout.Offset}
	row.Layout.Strides[d.Layout.NDim()-1] = 1
	return ops.Apply2(s, expr.Add, d, d, row)
}

// emptySum writes act(bias), the product over k = 0.
func (p *Product) emptySum(s *device.Stream, st stack) error {
	d := st.d.view(p.D, st.batch)
	if err := ops.Fill(s, d, ops.Scalar{}); err != nil {
		return err
	}
	if slices.Contains(d.Layout.Shape, 0) {
		return nil
	}
	return p.finish(s, d)
}

package matmul

import (
	"fmt"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// Packed is a right operand in every form that a product in one precision may read. Such a
// product needs no prepare pass for it.
type Packed struct {
	// View is the operand, [..., k, n], in its own type. Its buffer is the source's,
	// or the Packed's own if Made is set.
	View device.View
	Made bool

	// Planes for scaled and split kernels, if the device has such kernels. Their fallback
	// kernel reads View if the guard rejects the data.
	form   cutlass.Form
	planes planes
	buf    *device.Buffer
	member int // elements of View from one matrix of its batch to the next

	panels panels // on the CPU
}

// Prepare makes the forms of the right operand b, [..., k, n], for products in
// the given (resolved) precision. The leading dimensions of b are dense. On the CPU the first
// product that reads panels makes them.
func Prepare(s *device.Stream, b device.View, precision Precision) (*Packed, error) {
	if b.Layout.NDim() < 2 {
		return nil, layout.Errorf("%v is not a matrix: it needs at least two dimensions", b.Layout.Shape)
	}
	p := &Packed{View: b}
	if s.Device().Kind() == device.CPU {
		return p, nil
	}
	form := formOn(s.Device(), b.DType, precision)
	if err := p.arrange(s, b, precision, form != 0); err != nil {
		return nil, err
	}
	n := b.Layout.NDim()
	k, cols := b.Layout.Shape[n-2], b.Layout.Shape[n-1]
	if form == 0 || b.Layout.Size() == 0 || k < minFormK || !formFits(b.DType, cols, k, b.Layout.Size()/(k*cols)) {
		return p, nil
	}
	if err := p.convert(s, form); err != nil {
		p.Free()
		return nil, err
	}
	return p, nil
}

// Free frees the memory of the forms. It does not free the source's buffer.
func (p *Packed) Free() {
	if p == nil {
		return
	}
	if p.Made {
		p.View.Buffer.Free()
	}
	if p.buf != nil {
		p.buf.Free()
	}
	p.panels.free()
}

// Bytes returns the device memory of the forms.
func (p *Packed) Bytes() int64 {
	if p == nil {
		return 0
	}
	n := int64(0)
	if p.Made {
		n = p.View.Buffer.Size()
	}
	if p.buf != nil {
		n += p.buf.Size()
	}
	return n + p.panels.bytes()
}

// Planes returns the buffer of the float16 planes, or nil if there are none.
func (p *Packed) Planes() *device.Buffer {
	if p == nil {
		return nil
	}
	return p.buf
}

// String names the forms.
func (p *Packed) String() string {
	if p == nil {
		return "not packed"
	}
	s := "as it lies"
	if p.Made {
		s = "aligned"
		if n := p.View.Layout.NDim(); p.View.Layout.Strides[n-1] != 1 {
			s = "aligned, k contiguous"
		}
	}
	switch p.form {
	case cutlass.FormScaled:
		s += "; scaled to float16"
	case cutlass.FormSplit:
		s += "; scaled and split into two float16"
	}
	if p.panels.bytes() > 0 {
		s += "; and in panels of columns"
	}
	return fmt.Sprintf("%s (%s)", s, bytesString(p.Bytes()))
}

// formOn returns the form for a precision, or 0 if the device's library has no kernel
// for it.
func formOn(dev *device.Device, t dtype.DType, precision Precision) cutlass.Form {
	form := formFor(t, precision)
	if form == 0 || dev.Library() == nil {
		return 0
	}
	for _, k := range manifest {
		if formOf(k) != form || k.AbsSquare || !runsOn(k, dev.Capabilities(), false) {
			continue
		}
		if _, ok := dev.Library().KernelIndex(k.Name); ok {
			return form
		}
	}
	return 0
}

// arrange makes View: with k contiguous for TF32, and with rows aligned to 16 bytes. If
// planes are made as well and the kernels have full precision, only an operand that is
// contiguous along neither axis is copied, because these kernels read both majors.
func (p *Packed) arrange(s *device.Stream, b device.View, precision Precision, planes bool) error {
	n := b.Layout.NDim()
	size := b.DType.Size()
	unit := max(1, 16/size)
	rows, cols := b.Layout.Shape[n-2], b.Layout.Shape[n-1]
	m := matrix{rows: rows, cols: cols, rowStride: b.Layout.Strides[n-2], colStep: b.Layout.Strides[n-1]}
	l, pitch := m.right()
	kMajor := l == ColMajor
	if precision == TF32 && b.DType == dtype.Float32 {
		kMajor = true
	}
	fits := l != Strided && pitch%unit == 0 && (l == ColMajor) == kMajor && b.Layout.Offset == 0
	if planes && (precision == FullPrecision || b.DType == dtype.Complex64) {
		fits = l != Strided
	}
	p.member = rows * cols
	if fits {
		return nil
	}
	lines, length := rows, cols
	if kMajor {
		lines, length = cols, rows
	}
	pitch = alignedPitch(length, size, 16)
	batch := layout.Dense(b.Layout.Shape[:n-2])
	out := layout.Layout{Shape: b.Layout.Shape, Strides: make([]int, n)}
	for i, t := range batch.Strides {
		out.Strides[i] = t * lines * pitch
	}
	out.Strides[n-2], out.Strides[n-1] = pitch, 1
	if kMajor {
		out.Strides[n-2], out.Strides[n-1] = 1, pitch
	}
	buf, err := s.Device().Alloc(int64(batch.Size())*int64(lines)*int64(pitch)*int64(size), s)
	if err != nil {
		return err
	}
	p.View, p.Made, p.member = device.View{Buffer: buf, DType: b.DType, Layout: out}, true, lines*pitch
	if err := ops.Cast(s, p.View, b); err != nil {
		buf.Free()
		return err
	}
	return nil
}

// convert makes the planes of View.
func (p *Packed) convert(s *device.Stream, form cutlass.Form) error {
	dev := s.Device()
	lib := dev.Library()
	l := p.View.Layout
	n := l.NDim()
	m := matrix{rows: l.Shape[n-2], cols: l.Shape[n-1], offset: l.Offset, rowStride: l.Strides[n-2], colStep: l.Strides[n-1]}
	copies := layout.Dense(l.Shape[:n-2]).Size()
	if copies > 1 {
		m.batchStride = p.member
	}
	major, _ := m.right()
	lines, k := m.cols, m.rows
	if p.View.DType.IsComplex() {
		lines, k = 2*lines, 2*k
	}
	need, err := lib.PrepareWorkspace(dev.Info().Index, p.View.DType, form, 0, m.cols, m.rows, copies)
	if err != nil {
		return err
	}
	_, total := layPlanes(0, form, lines, k, copies, major == ColMajor)
	buf, err := dev.Alloc(int64(total), s)
	if err != nil {
		return err
	}
	var work *device.Buffer
	var workspace uint64
	if need > 0 {
		if work, err = dev.Alloc(need, s); err != nil {
			buf.Free()
			return err
		}
		defer work.Free()
		workspace = work.Addr()
	}
	p.planes, _ = layPlanes(buf.Addr(), form, lines, k, copies, major == ColMajor)
	source := p.planes.source(operand{view: p.View, m: m}, m.transposed(), false)
	err = dev.Launch(s, []*device.Buffer{p.View.Buffer}, []*device.Buffer{buf, work}, func(ordinal int, stream uint64) error {
		return lib.Prepare(ordinal, stream, p.View.DType, form, m.rows, copies, cutlass.Prepared{}, source, workspace, need)
	})
	if err != nil {
		buf.Free()
		return err
	}
	p.form, p.buf = form, buf
	return nil
}

// serves reports whether the Packed has planes of the form for a stack. All matrices of the
// stack must read one matrix of the Packed, or each must read the next.
func (p *Packed) serves(s stack, form cutlass.Form) bool {
	return p != nil && p.form != 0 && p.form == form && (s.batch == 1 || s.b.batchStride == 0 || s.b.batchStride == p.member)
}

// index returns the number of the matrix of the batch that begins at an offset of View.
func (p *Packed) index(offset int) int {
	if p.member == 0 {
		return 0
	}
	return (offset - p.View.Layout.Offset) / p.member
}

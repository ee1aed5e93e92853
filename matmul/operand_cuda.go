package matmul

import (
	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/ops"
)

// operand is a stack of matrices as a kernel reads it.
type operand struct {
	view  device.View
	m     matrix
	pitch int
}

func (o operand) addr() uint64 {
	return o.view.Buffer.Addr() + uint64(o.m.offset*o.view.DType.Size())
}

// prepareOperand returns the operand as the kernel reads it, copied if the plan says so,
// and a function that frees the copy in stream order. k is the kernel's k, along the
// columns of A and the rows of B. Beyond the operand's own k the copy is filled with zeros.
// A copy that keeps the major is added to pads, and starts when the caller runs pads.
func prepareOperand(s *device.Stream, v device.View, m matrix, batch int, how prep, k int, isB bool, pads *padding) (operand, func(), error) {
	if !how.copy {
		l, pitch := m.layout()
		if isB {
			l, pitch = m.right()
		}
		if l == RowMajor && m.rows <= 1 || l == ColMajor && m.cols <= 1 {
			pitch = alignUp(pitch, max(1, 16/v.DType.Size()))
		}
		return operand{view: v, m: m, pitch: pitch}, func() {}, nil
	}
	copies := batch
	if m.batchStride == 0 {
		copies = 1
	}
	full, lines := m.copied(copies, how, k, isB)
	size := v.DType.Size()
	buf, err := s.Device().Alloc(int64(copies)*int64(lines)*int64(how.pitch)*int64(size), s)
	if err != nil {
		return operand{}, nil, err
	}
	o := operand{view: device.View{Buffer: buf, DType: v.DType}, m: full, pitch: how.pitch}
	if pads.add(v, m, o, copies, how) {
		return o, buf.Free, nil
	}
	src, dst := m, full
	dst.rows, dst.cols = m.rows, m.cols
	if how.conj {
		err = ops.Apply1(s, expr.Conj, dst.view(o.view, copies), src.view(v, copies))
	} else {
		err = ops.Cast(s, dst.view(o.view, copies), src.view(v, copies))
	}
	if err == nil && (full.rows > m.rows || full.cols > m.cols) {
		err = ops.Fill(s, full.beyond(m, isB).view(o.view, copies), ops.Scalar{})
	}
	if err != nil {
		buf.Free()
		return operand{}, nil, err
	}
	return o, buf.Free, nil
}

// copied returns the layout of a copy of m that is padded to the kernel's k, and the number of
// lines of the copy.
func (m matrix) copied(copies int, how prep, k int, isB bool) (full matrix, lines int) {
	full = m
	if isB {
		full.rows = k
	} else {
		full.cols = k
	}
	full.offset = 0
	lines = full.rows
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
	return full, lines
}

// beyond returns the part of m that holds the padding along k, which operand does not have.
func (m matrix) beyond(operand matrix, isB bool) matrix {
	rest := m
	if isB {
		rest.rows -= operand.rows
		rest.offset += operand.rows * m.rowStride
	} else {
		rest.cols -= operand.cols
		rest.offset += operand.cols * m.colStep
	}
	return rest
}

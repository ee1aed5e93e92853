package cpu

import (
	"sync/atomic"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// kernels keeps the kernels of operations and types: they are closures, and
// making them is most of what a small operation costs.
var kernels kernelTable

type kernelTable struct {
	ones [kernelOps][kernelTypes]atomic.Pointer[unary]
	twos [kernelOps][kernelTypes]atomic.Pointer[binary]
}

// Operations and types beyond these numbers are made anew each time.
const (
	kernelOps   = 256
	kernelTypes = 16
)

// unary is what unaryKernel returns.
type unary struct {
	f      func(dst, x unsafe.Pointer, n int)
	result dtype.DType
}

// unary is unaryKernel.
func (t *kernelTable) unary(op expr.Op, dt dtype.DType) (f func(dst, x unsafe.Pointer, n int), result dtype.DType) {
	if op < 0 || op >= kernelOps || dt >= kernelTypes {
		return unaryKernel(op, dt)
	}
	at := &t.ones[op][dt]
	k := at.Load()
	if k == nil {
		k = &unary{}
		k.f, k.result = unaryKernel(op, dt)
		at.Store(k)
	}
	return k.f, k.result
}

// binary is binaryKernel.
func (t *kernelTable) binary(op expr.Op, dt dtype.DType) *binary {
	if op < 0 || op >= kernelOps || dt >= kernelTypes {
		k := binaryKernel(op, dt)
		return &k
	}
	at := &t.twos[op][dt]
	if k := at.Load(); k != nil {
		return k
	}
	k := binaryKernel(op, dt)
	at.Store(&k)
	return &k
}

// oneSpan returns operands that lie along one axis, at most so many, as the span
// that a nest would make of them.
func oneSpan(shape []int, most int, ops ...operand) (s span, ok bool) {
	if len(shape) != 1 || shape[0] <= 0 || shape[0] > most || ops[0].strides[0] < 0 {
		return span{}, false
	}
	s.n = shape[0]
	for j := range ops {
		s.p[j], s.step[j] = ops[j].p, ops[j].size
		if s.n > 1 {
			s.step[j] *= ops[j].strides[0]
		}
	}
	return s, true
}

package cpu

import (
	"sync/atomic"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// kernels caches the kernels of operations and types. They are closures, and making one is
// most of the cost of a small operation.
var kernels kernelTable

type kernelTable struct {
	ones [kernelOps][kernelTypes]atomic.Pointer[unary]
	twos [kernelOps][kernelTypes]atomic.Pointer[binary]
}

// Kernels of operations and types beyond these numbers are not cached.
const (
	kernelOps   = 256
	kernelTypes = 16
)

// unary is the result of unaryKernel.
type unary struct {
	f      func(dst, x unsafe.Pointer, n int)
	result dtype.DType
}

// unary returns the cached result of unaryKernel.
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

// binary returns the cached result of binaryKernel.
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

// oneSpan returns the operands as a single span, like a nest. It reports false unless
// there is only one axis, with at most `most` elements.
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

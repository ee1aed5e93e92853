package cpu

import (
	"fmt"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

func unsupported(what any, t dtype.DType) error {
	return fmt.Errorf("%w: %v of %v on the CPU", expr.ErrUnsupported, what, t)
}

// Unary computes dst = op(x) element by element. xt and dt are the types of x
// and dst, which are equal for every operation so far.
//
// shape is that of both operands; xs and ds are strides in elements, and x and
// dst point at element (0, 0, …). dst may be x when its strides are x's;
// otherwise the two must not overlap. Half types are computed in float32 and
// rounded once. What has no kernel is an error that wraps expr.ErrUnsupported.
func Unary(op expr.Op, xt, dt dtype.DType, shape []int, x unsafe.Pointer, xs []int, dst unsafe.Pointer, ds []int) error {
	if !xt.Valid() || xt != dt {
		return unsupported(op, xt)
	}
	if op == expr.Conj && !xt.IsComplex() {
		return Cast(xt, dt, shape, x, xs, dst, ds)
	}
	f := unaryKernel(op, computed(xt))
	if f == nil {
		return unsupported(op, xt)
	}
	t := newNest(shape, operand{dst, ds, dt.Size()}, operand{x, xs, xt.Size()})
	h := halvesOf(xt)
	size, width := xt.Size(), computed(xt).Size()
	t.run(func(s span, w *work) {
		for ; s.n > 0; s = s.skip(blockLen) {
			n := min(s.n, blockLen)
			a, one := h.gather(&w.block[1], s.p[1], s.step[1], size, n)
			d, scatter := h.target(&w.block[0], s.p[0], s.step[0], size)
			if one {
				f(d, a, 1)
				copySpan(d, width, d, 0, width, n)
			} else {
				f(d, a, n)
			}
			if scatter {
				h.scatter(s.p[0], s.step[0], d, size, n)
			}
		}
	})
	return nil
}

// Binary computes dst = op(x, y) element by element, on x and y of type t. dt
// is the type of dst, which is t for every operation so far. A scalar operand
// is an address whose strides are all 0.
//
// Shapes, strides, aliasing, rounding and errors are as for Unary.
func Binary(op expr.Op, t, dt dtype.DType, shape []int, x unsafe.Pointer, xs []int, y unsafe.Pointer, ys []int, dst unsafe.Pointer, ds []int) error {
	if !t.Valid() || t != dt {
		return unsupported(op, t)
	}
	k := binaryKernel(op, computed(t))
	if k.vv == nil {
		return unsupported(op, t)
	}
	size := t.Size()
	loops := newNest(shape, operand{dst, ds, size}, operand{x, xs, size}, operand{y, ys, size})
	h := halvesOf(t)
	loops.run(func(s span, w *work) {
		for ; s.n > 0; s = s.skip(blockLen) {
			n := min(s.n, blockLen)
			a, one := h.gather(&w.block[1], s.p[1], s.step[1], size, n)
			b, other := h.gather(&w.block[2], s.p[2], s.step[2], size, n)
			d, scatter := h.target(&w.block[0], s.p[0], s.step[0], size)
			switch {
			case one && other:
				k.vs(d, a, b, 1)
				copySpan(d, k.size, d, 0, k.size, n)
			case one:
				k.sv(d, a, b, n)
			case other:
				k.vs(d, a, b, n)
			default:
				k.vv(d, a, b, n)
			}
			if scatter {
				h.scatter(s.p[0], s.step[0], d, size, n)
			}
		}
	})
	return nil
}

// computed is the type that an operation on t is computed in.
func computed(t dtype.DType) dtype.DType {
	if t.IsHalf() {
		return dtype.Float32
	}
	return t
}

// halves converts blocks of a half type to float32 and back; for other types
// both functions are nil and blocks are copied.
type halves struct {
	load  func(dst, src unsafe.Pointer, step, n int)
	round func(dst, src unsafe.Pointer, n int)
}

func halvesOf(t dtype.DType) halves {
	switch t {
	case dtype.Float16:
		return halves{loadHalf, floatsToHalf}
	case dtype.BFloat16:
		return halves{loadBrain, floatsToBrain}
	}
	return halves{}
}

// gather returns n elements as a dense block in the type computed in: the
// source itself where it is that already, else b. one is true when the source
// repeats one element: then the block holds that one.
func (h halves) gather(b *block, src unsafe.Pointer, step, size, n int) (p unsafe.Pointer, one bool) {
	one = step == 0
	if one {
		n = 1
	}
	switch {
	case h.load != nil:
		h.load(unsafe.Pointer(b), src, step, n)
	case one || step == size:
		return src, one
	default:
		copySpan(unsafe.Pointer(b), size, src, step, size, n)
	}
	return unsafe.Pointer(b), one
}

// target returns where a block of results goes: the destination itself where
// that is dense and of the type computed in, else b, and then it must be
// scattered.
func (h halves) target(b *block, dst unsafe.Pointer, step, size int) (p unsafe.Pointer, scatter bool) {
	if h.load == nil && step == size {
		return dst, false
	}
	return unsafe.Pointer(b), true
}

// scatter brings a block of results to its destination; what is in the block
// afterwards is undefined.
func (h halves) scatter(dst unsafe.Pointer, step int, b unsafe.Pointer, size, n int) {
	if h.round == nil {
		copySpan(dst, step, b, size, size, n)
		return
	}
	if step == size {
		h.round(dst, b, n)
		return
	}
	// In place: element i of the halves lies before element i of the floats.
	h.round(b, b, n)
	copySpan(dst, step, b, size, size, n)
}

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

// Unary computes dst = op(x) element by element; xt and dt are the types of x and dst. They
// differ for tests, whose result is Bool, and for functions of complex numbers with a real
// result.
//
// shape is that of both operands; xs and ds are strides in elements, and x and dst point at
// element (0, 0, …). dst may be x if the strides are equal and the types have one size;
// otherwise the two must not overlap. Half types are computed in float32 and rounded once.
// The error for an operation without a kernel wraps expr.ErrUnsupported.
func Unary(op expr.Op, xt, dt dtype.DType, shape []int, x unsafe.Pointer, xs []int, dst unsafe.Pointer, ds []int) error {
	if !xt.Valid() {
		return unsupported(op, xt)
	}
	if part, ok := partOf(op, xt); ok && dt == part.Real() {
		if op == expr.Imag && !xt.IsComplex() {
			var zero [2]uint64
			return Fill(dt, shape, unsafe.Pointer(&zero), dst, ds)
		}
		if xt.IsComplex() {
			xs = twice(xs)
			if op == expr.Imag {
				x = unsafe.Add(x, dt.Size())
			}
		}
		return Cast(dt, dt, shape, x, xs, dst, ds)
	}
	f, result := kernels.unary(op, computeType(xt))
	if f == nil || result != computeType(dt) || xt.IsHalf() && xt != dt && dt != dtype.Bool {
		return unsupported(op, xt)
	}
	b := blocks{h: halvesOf(xt), out: halvesOf(dt), size: xt.Size(), dsize: dt.Size(), width: result.Size()}
	if s, ok := oneSpan(shape, partFor(op), operand{dst, ds, dt.Size()}, operand{x, xs, xt.Size()}); ok {
		w := works.Get().(*work)
		b.unary(f, s, w)
		works.Put(w)
		return nil
	}
	each := b
	t := newNest(shape, operand{dst, ds, dt.Size()}, operand{x, xs, xt.Size()})
	t.part = partFor(op)
	each.stream = streams(t.n * dt.Size())
	t.run(func(s span, w *work) { each.unary(f, s, w) })
	return nil
}

// blocks holds the operands of an operation that works block by block in the compute type.
type blocks struct {
	h, out      halves // half types of the operands and of the destination
	size, dsize int    // bytes of their elements
	width       int    // bytes of a result in the compute type
	stream      bool   // results are written with non-temporal stores
}

// target returns the address for the results of a span; see halves.target.
func (b *blocks) target(w *work, s span) (p unsafe.Pointer, scatter bool) {
	if b.stream && s.step[0] == b.dsize {
		return unsafe.Pointer(&w.block[0]), true
	}
	return b.out.target(&w.block[0], s.p[0], s.step[0], b.dsize)
}

// scatter copies results to their destination; see halves.scatter.
func (b *blocks) scatter(s span, p unsafe.Pointer, n int) {
	switch {
	case !b.stream || s.step[0] != b.dsize:
		b.out.scatter(s.p[0], s.step[0], p, b.dsize, n)
		return
	case b.out.round != nil:
		b.out.round(p, p, n) // in place, see halves.scatter
	}
	stream(s.p[0], p, n*b.dsize)
}

// directLen is blockLen for kernels that read and write the operands themselves. It is larger, because no block has to hold
// the elements, and a call of a comparison costs as much as some 300 elements.
const directLen = 16 * blockLen

// length returns the number of elements of a span to compute at once.
func (b *blocks) length(s span, operands int) int {
	if b.stream || b.h.load != nil || b.out.load != nil || s.step[0] != b.dsize {
		return blockLen
	}
	for _, step := range s.step[1 : 1+operands] {
		if step != 0 && step != b.size {
			return blockLen
		}
	}
	return directLen
}

// end finishes a span.
func (b *blocks) end() {
	if b.stream {
		fenceStores()
	}
}

// unary computes a span with f.
func (b *blocks) unary(f func(dst, x unsafe.Pointer, n int), s span, w *work) {
	most := b.length(s, 1)
	for ; s.n > 0; s = s.skip(most) {
		n := min(s.n, most)
		x, one := b.h.gather(&w.block[1], s.p[1], s.step[1], b.size, n)
		d, scatter := b.target(w, s)
		if one {
			f(d, x, 1)
			copySpan(d, b.width, d, 0, b.width, n)
		} else {
			f(d, x, n)
		}
		if scatter {
			b.scatter(s, d, n)
		}
	}
	b.end()
}

// binary computes a span with k.
func (b *blocks) binary(k *binary, s span, w *work) {
	// Rows that are broadcast may be short, so a span that needs no block is not prepared for one.
	if s.n <= blockLen && s.step[0] == b.dsize && !b.stream && b.h.load == nil && b.out.load == nil {
		switch x, y := s.step[1], s.step[2]; {
		case x == b.size && y == b.size:
			k.vv(s.p[0], s.p[1], s.p[2], s.n)
			return
		case x == b.size && y == 0:
			k.vs(s.p[0], s.p[1], s.p[2], s.n)
			return
		case x == 0 && y == b.size:
			k.sv(s.p[0], s.p[1], s.p[2], s.n)
			return
		}
	}
	most := b.length(s, 2)
	for ; s.n > 0; s = s.skip(most) {
		n := min(s.n, most)
		x, one := b.h.gather(&w.block[1], s.p[1], s.step[1], b.size, n)
		y, other := b.h.gather(&w.block[2], s.p[2], s.step[2], b.size, n)
		d, scatter := b.target(w, s)
		switch {
		case one && other:
			k.vs(d, x, y, 1)
			copySpan(d, k.size, d, 0, k.size, n)
		case one:
			k.sv(d, x, y, n)
		case other:
			k.vs(d, x, y, n)
		default:
			k.vv(d, x, y, n)
		}
		if scatter {
			b.scatter(s, d, n)
		}
	}
	b.end()
}

// partOf reports whether op on type t only copies elements or components: Real and Imag of
// any type, Conj of a real type, rounding of an integer type.
func partOf(op expr.Op, t dtype.DType) (dtype.DType, bool) {
	switch op {
	case expr.Real, expr.Imag:
		return t, true
	case expr.Conj:
		return t, !t.IsComplex()
	case expr.Floor, expr.Ceil, expr.Round:
		return t, t.IsInteger()
	}
	return t, false
}

func twice(strides []int) []int {
	out := make([]int, len(strides))
	for i, s := range strides {
		out[i] = 2 * s
	}
	return out
}

// Binary computes dst = op(x, y) element by element, on x and y of type t. dt is the type
// of dst: Bool for comparisons, otherwise t. A scalar operand is an address whose strides
// are all 0.
//
// Shapes, strides, aliasing, rounding and errors are as for Unary.
func Binary(op expr.Op, t, dt dtype.DType, shape []int, x unsafe.Pointer, xs []int, y unsafe.Pointer, ys []int, dst unsafe.Pointer, ds []int) error {
	if !t.Valid() {
		return unsupported(op, t)
	}
	k := kernels.binary(op, computeType(t))
	if k.vv == nil || dt != k.result(t) {
		return unsupported(op, t)
	}
	k.run(partFor(op), t, dt, shape, x, xs, y, ys, dst, ds)
	return nil
}

// run computes dst = k(x, y) as Binary does, in parts of `part` elements.
func (k *binary) run(part int, t, dt dtype.DType, shape []int, x unsafe.Pointer, xs []int, y unsafe.Pointer, ys []int, dst unsafe.Pointer, ds []int) {
	size, dsize := t.Size(), dt.Size()
	b := blocks{h: halvesOf(t), out: halvesOf(dt), size: size, dsize: dsize}
	if s, ok := oneSpan(shape, part, operand{dst, ds, dsize}, operand{x, xs, size}, operand{y, ys, size}); ok {
		w := works.Get().(*work)
		b.binary(k, s, w)
		works.Put(w)
		return
	}
	each := b
	loops := newNest(shape, operand{dst, ds, dsize}, operand{x, xs, size}, operand{y, ys, size})
	loops.part = part
	each.stream = streams(loops.n * dsize)
	loops.run(func(s span, w *work) { each.binary(k, s, w) })
}

// computeType returns the type in which an operation on t is computed.
func computeType(t dtype.DType) dtype.DType {
	if t.IsHalf() {
		return dtype.Float32
	}
	return t
}

// gather returns n elements as a dense block in the compute type. That is the source
// itself if it already has this form, otherwise b. one is true if the source repeats one
// element; the block then holds that element once.
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

// target returns the address for a block of results. That is the destination itself if it
// is dense and of the compute type; otherwise it is b, and scatter must be called.
func (h halves) target(b *block, dst unsafe.Pointer, step, size int) (p unsafe.Pointer, scatter bool) {
	if h.load == nil && step == size {
		return dst, false
	}
	return unsafe.Pointer(b), true
}

// scatter copies a block of results to its destination. The block's contents are
// undefined afterwards.
func (h halves) scatter(dst unsafe.Pointer, step int, b unsafe.Pointer, size, n int) {
	if h.round == nil {
		copySpan(dst, step, b, size, size, n)
		return
	}
	if step == size {
		h.round(dst, b, n)
		return
	}
	// In place: half i lies before float i, so it overwrites no float that is still needed.
	h.round(b, b, n)
	copySpan(dst, step, b, size, size, n)
}

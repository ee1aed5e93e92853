package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// Ternary computes dst = op(x, y, z) element by element. Where selects y if the Bool x is
// true and z otherwise; Clamp is min(max(x, y), z). t is the type of y, z and dst, and of
// Clamp's x. A scalar operand is an address whose strides are all 0.
//
// Shapes, strides and errors are as for Unary. dst may be any operand that has
// its strides and whose elements have its size.
func Ternary(op expr.Op, t dtype.DType, shape []int, x unsafe.Pointer, xs []int, y unsafe.Pointer, ys []int, z unsafe.Pointer, zs []int, dst unsafe.Pointer, ds []int) error {
	xt, ct := t, computeType(t)
	var f func(dst, x, y, z unsafe.Pointer, n int)
	switch op {
	case expr.Where:
		xt, ct = dtype.Bool, t
		f = choiceOf(t.Size())
	case expr.Clamp:
		f = clampOf(ct)
	}
	if !t.Valid() || f == nil {
		return unsupported(op, t)
	}
	h := halves{}
	if ct != t {
		h = halvesOf(t)
	}
	size, xsize := t.Size(), xt.Size()
	each := func(s span, w *work) {
		s = clampByNumbers(op, t, s)
		var filled [maxOperands]bool // a block holds the operand's one element
		most := h.length(s.step, [maxOperands]int{size, xsize, size, size})
		for ; s.n > 0; s = s.skip(most) {
			n := min(s.n, most)
			var in [maxOperands]unsafe.Pointer
			for j := 1; j < len(in); j++ {
				bytes := size
				if j == 1 {
					bytes = xsize
				}
				wide := bytes
				if ct != t {
					wide = ct.Size()
				}
				var one bool
				if in[j], one = h.gather(&w.block[j], s.p[j], s.step[j], bytes, n); one {
					b := unsafe.Pointer(&w.block[j])
					if !filled[j] {
						copySpan(b, wide, in[j], 0, wide, n)
						filled[j] = true
					}
					in[j] = b
				}
			}
			d, scatter := h.target(&w.block[0], s.p[0], s.step[0], size)
			f(d, in[1], in[2], in[3], n)
			if scatter {
				h.scatter(s.p[0], s.step[0], d, size, n)
			}
		}
	}
	operands := [...]operand{{dst, ds, size}, {x, xs, xsize}, {y, ys, size}, {z, zs, size}}
	if s, ok := oneSpan(shape, minPart, operands[:]...); ok {
		w := works.Get().(*work)
		each(s, w)
		works.Put(w)
		return nil
	}
	loops := newNest(shape, operands[:]...)
	loops.run(each)
	return nil
}

// choiceOf returns Where's kernel for elements of the given size in bytes.
func choiceOf(size int) func(dst, x, y, z unsafe.Pointer, n int) {
	switch size {
	case 1:
		return choices[uint8]
	case 2:
		return choices[uint16]
	case 4:
		return choices32
	case 8:
		return choices64
	}
	return choices[[2]uint64]
}

func choices[T any](dst, x, y, z unsafe.Pointer, n int) {
	d, a, b := vectors[T](dst, y, z, n)
	c := unsafe.Slice((*uint8)(x), n)[:len(d)]
	for i := range d {
		v := b[i]
		if c[i] != 0 {
			v = a[i]
		}
		d[i] = v
	}
}

func clampOf(t dtype.DType) func(dst, x, y, z unsafe.Pointer, n int) {
	switch t {
	case dtype.Float32:
		return tileClamp(t, clamps[float32])
	case dtype.Float64:
		return tileClamp(t, clamps[float64])
	}
	if k := integerOf(t); k != nil {
		return k.clamps()
	}
	return nil
}

// length returns the number of elements to compute at once, of operands whose steps between adjacent elements are dense.
func (h halves) length(step, dense [maxOperands]int) int {
	if h.load == nil && step == dense {
		return directLen
	}
	return blockLen
}

// clampByNumbers computes Clamp of the first elements of a span. It requires that op is Clamp, that both bounds are
// scalars, and that t is Float32, Float64 or an integer type; otherwise it computes nothing. It returns the remaining span. Up to 63
// floating-point numbers, an incomplete tile, are left to clampOf, which gives their NaNs other bits.
func clampByNumbers(op expr.Op, t dtype.DType, s span) span {
	size := t.Size()
	if op != expr.Clamp || !vectorAVX || t.IsHalf() || s.step != [maxOperands]int{size, size} {
		return s
	}
	if clamp := numbersClamp(t, s.p[2], s.p[3]); clamp != nil {
		n := s.n &^ 15
		clamp(s.p[0], s.p[1], n)
		return s.skip(n)
	}
	tile := tileBytes / 4
	if t.IsInteger() {
		tile = 1
	}
	maximum, minimum := kernels.binary(expr.Maximum, t), kernels.binary(expr.Minimum, t)
	for s.n >= tile {
		n := min(s.n&^(tile-1), clampBytes/size)
		maximum.vs(s.p[0], s.p[1], s.p[2], n)
		minimum.vs(s.p[0], s.p[0], s.p[3], n)
		s = s.skip(n)
	}
	return s
}

// clampBytes is the size of the results that clampByNumbers reads again, from the first cache.
const clampBytes = 16 << 10

func (ints[T]) clamps() func(dst, x, y, z unsafe.Pointer, n int) {
	if f := vectorClamp(dtype.Of[T]()); f != nil {
		return f
	}
	return clamps[T]
}

// clamps gives NaN if any operand is NaN.
func clamps[T number](dst, x, y, z unsafe.Pointer, n int) {
	d, a, lo := vectors[T](dst, x, y, n)
	hi := unsafe.Slice((*T)(z), n)[:len(d)]
	for i := range d {
		d[i] = min(max(a[i], lo[i]), hi[i])
	}
}

package cpu

import (
	"math/bits"
	"runtime"
	"slices"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// Elements are sorted as unsigned keys that have the elements' order: see Sort.

// key is an unsigned number of the width of an element.
type key interface {
	uint8 | uint16 | uint32 | uint64
}

// order describes the conversion between elements of a type and keys of its width.
type order struct {
	size     int
	sign     uint64 // the highest bit
	infinity uint64 // infinity of a floating-point type; 0: an integer type
	signed   bool
	most     uint64 // the largest key
}

func orderOf(dt dtype.DType) (order, bool) {
	o := order{size: dt.Size()}
	o.sign = 1 << (8*o.size - 1)
	o.most = o.sign | (o.sign - 1)
	if h, ok := dt.Half(); ok {
		o.infinity = uint64(h.Infinity())
		return o, true
	}
	switch dt {
	case dtype.Float32:
		o.infinity = 0x7f800000
	case dtype.Float64:
		o.infinity = 0x7ff << 52
	default:
		o.signed = dt.IsInteger() && !dt.IsUnsigned()
		return o, dt.IsInteger() || dt == dtype.Bool
	}
	return o, true
}

// keysOf turns the bits of elements into keys. With oneZero, -0 and 0 have the same key;
// otherwise -0 is below 0.
func keysOf[K key](o order, x []K, oneZero bool) {
	sign, infinity := K(o.sign), K(o.infinity)
	switch {
	case infinity != 0:
		if !oneZero {
			x = x[vectorKeys(x):]
		}
		last := 8*o.size - 1
		for i, v := range x {
			// Invert all bits of a negative number, and the sign bit of any other. Signs are
			// unpredictable, so a branch would be slow.
			key := v ^ (-(v >> last) | sign)
			switch {
			case v&^sign > infinity:
				key = infinity | infinity>>1 | sign
			case oneZero && v == sign:
				key = v
			}
			x[i] = key
		}
	case o.signed:
		for i := range x {
			x[i] ^= sign
		}
	}
}

// elementsOf is the inverse function of keysOf. A NaN becomes a quiet NaN.
func elementsOf[K key](o order, x []K) {
	sign := K(o.sign)
	switch {
	case o.infinity != 0:
		x = x[vectorElements(x):]
		last := 8*o.size - 1
		for i, v := range x {
			x[i] = v ^ ((v>>last - 1) | sign)
		}
	case o.signed:
		for i := range x {
			x[i] ^= sign
		}
	}
}

// vectorKeys turns whole vectors from the front of x into keys, if this processor can, and returns the number of elements.
func vectorKeys[K key](x []K) int {
	if !sortsByVectors[K]() {
		return 0
	}
	at, n := at0(x), len(x)&^(64/int(unsafe.Sizeof(K(0)))-1)
	switch is32 := unsafe.Sizeof(K(0)) == 4; {
	case is32 && vectorAVX512:
		keysOf32AVX512(at, at, n)
	case is32:
		keysOf32AVX2(at, at, n)
	case vectorAVX512:
		keysOf64AVX512(at, at, n)
	default:
		keysOf64AVX2(at, at, n)
	}
	return n
}

// vectorElements is the inverse of vectorKeys.
func vectorElements[K key](x []K) int {
	if !sortsByVectors[K]() {
		return 0
	}
	at, n := at0(x), len(x)&^(64/int(unsafe.Sizeof(K(0)))-1)
	switch is32 := unsafe.Sizeof(K(0)) == 4; {
	case is32 && vectorAVX512:
		elementsOf32AVX512(at, at, n)
	case is32:
		elementsOf32AVX2(at, at, n)
	case vectorAVX512:
		elementsOf64AVX512(at, at, n)
	default:
		elementsOf64AVX2(at, at, n)
	}
	return n
}

// Sort sorts the elements of each line along an axis, of a real type or Bool. NaN is the
// largest and becomes quiet, -0 is below 0, false below true. shape is that of both
// operands; xs and ds are strides in elements. dst may be x if the strides are equal.
func Sort(dt dtype.DType, shape []int, axis int, descending bool, x unsafe.Pointer, xs []int, dst unsafe.Pointer, ds []int) error {
	o, ok := orderOf(dt)
	if !ok {
		return unsupported(expr.Sort, dt)
	}
	l := newLines(dt, dt, shape, axis, x, xs, dst, ds)
	switch o.size {
	case 1:
		sortLines[uint8](l, o, descending)
	case 2:
		sortLines[uint16](l, o, descending)
	case 4:
		sortLines[uint32](l, o, descending)
	default:
		sortLines[uint64](l, o, descending)
	}
	return nil
}

func sortLines[K key](l lines, o order, descending bool) {
	if l.n == 0 || l.outer.n == 0 {
		return
	}
	// A few long lines are each sorted in parallel; many short ones run in parallel.
	if l.outer.n < runtime.GOMAXPROCS(0) && l.n >= 2*minPart {
		keys, spare := make([]K, l.n), make([]K, l.n)
		for i := range l.outer.n {
			p := l.outer.at(i)
			copySpan(at0(keys), o.size, p[1], l.step, o.size, l.n)
			sortParallel(o, keys, spare)
			storeSorted(o, keys, descending, p[0], l.dstep)
		}
		return
	}
	inner := l.outer.axes[len(l.outer.axes)-1]
	if across := inner.n > 1 && abs(inner.step[1]) < abs(l.step); !across && l.dstep == o.size {
		sortInPlace[K](l, o, descending)
		return
	}
	load := func(dst, src unsafe.Pointer, step, n int) { copySpan(dst, o.size, src, step, o.size, n) }
	store := func(dst unsafe.Pointer, step int, src unsafe.Pointer, n int) {
		copySpan(dst, step, src, o.size, o.size, n)
	}
	each(l, load, store, func(in, out []K) {
		copy(out, in)
		keysOf(o, out[:len(in)], false)
		sortKeys(out[:len(in)], in, 0)
		elementsOf(o, out[:len(in)])
		if descending {
			slices.Reverse(out[:len(in)])
		}
	})
}

// sortInPlace sorts lines in the memory of the destination, in which each line is dense.
func sortInPlace[K key](l lines, o order, descending bool) {
	Parallel(l.outer.n, max(linesPart/l.n, 1), func(lo, hi int) {
		scratch := NewScratch[float64]((l.n*o.size + 7) / 8)
		defer scratch.Free()
		spare := unsafe.Slice((*K)(at0(scratch.Data())), l.n)
		for i := lo; i < hi; i++ {
			p := l.outer.at(i)
			keys := unsafe.Slice((*K)(p[0]), l.n)
			copySpan(p[0], o.size, p[1], l.step, o.size, l.n)
			keysOf(o, keys, false)
			sortKeys(keys, spare, 0)
			elementsOf(o, keys)
			if descending {
				slices.Reverse(keys)
			}
		}
	})
}

// sortParallel turns x into keys and sorts them. It sorts parts in parallel and merges them
// pairwise, and cuts every merge into pieces.
func sortParallel[K key](o order, x, spare []K) {
	parts := 1 << bits.Len(uint(runtime.GOMAXPROCS(0)-1))
	for parts > 1 && len(x)/parts < minPart {
		parts /= 2
	}
	bound := func(i int) int { return int(uint64(len(x)) * uint64(i) / uint64(parts)) }
	Parallel(parts, 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			a, b := bound(i), bound(i+1)
			keysOf(o, x[a:b], false)
			sortKeys(x[a:b], spare[a:b], 0)
		}
	})
	from, to := x, spare
	for width := 1; width < parts; width *= 2 {
		for i := 0; i < parts; i += 2 * width {
			lo, mid, hi := bound(i), bound(i+width), bound(i+2*width)
			a, b, out := from[lo:mid], from[mid:hi], to[lo:hi]
			Parallel(len(out), minPart, func(lo, hi int) {
				i := splitRuns(lo, a, b)
				mergeRuns(out[lo:hi], a[i:], b[lo-i:])
			})
		}
		from, to = to, from
	}
	if len(x) > 0 && &from[0] != &x[0] {
		copy(x, from)
	}
}

// splitRuns returns the number of keys of run a among the first n keys of a and b merged.
func splitRuns[K key](n int, a, b []K) int {
	lo, hi := max(0, n-len(b)), min(n, len(a))
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if b[n-1-mid] < a[mid] {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// mergeRuns fills out with the first keys of a and b merged.
func mergeRuns[K key](out, a, b []K) {
	i, j := 0, 0
	for k := range out {
		if j == len(b) || i < len(a) && a[i] <= b[j] {
			out[k] = a[i]
			i++
		} else {
			out[k] = b[j]
			j++
		}
	}
}

// storeSorted writes keys as elements, in reverse order if descending.
func storeSorted[K key](o order, x []K, descending bool, dst unsafe.Pointer, step int) {
	Parallel(len(x), minPart, func(lo, hi int) {
		elementsOf(o, x[lo:hi])
		if descending {
			copySpan(unsafe.Add(dst, (len(x)-hi)*step), step, unsafe.Pointer(&x[hi-1]), -o.size, o.size, hi-lo)
		} else {
			copySpan(unsafe.Add(dst, lo*step), step, unsafe.Pointer(&x[lo]), o.size, o.size, hi-lo)
		}
	})
}

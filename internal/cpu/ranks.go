package cpu

import (
	"math/bits"
	"runtime"
	"slices"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// Ranks selects elements of each line along an axis, of a real type or Bool: those that Sort would leave at the given places.
// places ascends. dst has the shape of x but for the axis, which has an element a place; xs and ds are strides in elements.
func Ranks(dt dtype.DType, shape []int, axis int, x unsafe.Pointer, xs []int, places []int, dst unsafe.Pointer, ds []int) error {
	o, ok := orderOf(dt)
	if !ok {
		return unsupported(expr.Sort, dt)
	}
	l := newLines(dt, dt, shape, axis, x, xs, dst, ds)
	switch o.size {
	case 1:
		rankLines[uint8](l, o, places)
	case 2:
		rankLines[uint16](l, o, places)
	case 4:
		rankLines[uint32](l, o, places)
	default:
		rankLines[uint64](l, o, places)
	}
	return nil
}

func rankLines[K key](l lines, o order, places []int) {
	if l.n == 0 || l.outer.n == 0 {
		return
	}
	line := func(i int, keys, spare []K, out []K, parts int) {
		p := l.outer.at(i)
		r := ranker[K]{parts: parts}
		r.each(l.n, func(_, lo, hi int) {
			copySpan(unsafe.Pointer(&keys[lo]), o.size, unsafe.Add(p[1], lo*l.step), l.step, o.size, hi-lo)
			keysOf(o, keys[lo:hi], false)
		})
		r.pick(keys, spare, places, out, o.size*8)
		elementsOf(o, out)
		copySpan(p[0], l.dstep, at0(out), o.size, o.size, len(out))
	}
	// If there are few long lines, all goroutines search each line together. If there are many lines, each goroutine
	// searches some of them. sortLines divides its work in the same way. One goroutine with vectors is as fast as some eight
	// without.
	alone := 1
	if sortsByVectors[K]() {
		alone = 8
	}
	if workers := runtime.GOMAXPROCS(0); alone*l.outer.n < workers && l.n >= 2*minPart {
		keys, spare, out := make([]K, l.n), make([]K, l.n), make([]K, len(places))
		for i := range l.outer.n {
			line(i, keys, spare, out, min(workers, l.n/minPart))
		}
		return
	}
	Parallel(l.outer.n, max(linesPart/l.n, 1), func(lo, hi int) {
		keys, spare, out := make([]K, l.n), make([]K, l.n), make([]K, len(places))
		for i := lo; i < hi; i++ {
			line(i, keys, spare, out, 1)
		}
	})
}

// A ranker finds the keys at given positions of the ascending order without sorting all keys. It is a radix selection
// that begins with the most significant digit. A key is read again for the next digit only if a wanted key has the same
// digits so far.
type ranker[K key] struct {
	parts int // number of parts of a line, which are processed in parallel
}

// each calls f for each part of n keys.
func (r *ranker[K]) each(n int, f func(part, lo, hi int)) {
	if r.parts == 1 {
		f(0, 0, n)
		return
	}
	bound := func(i int) int { return int(uint64(n) * uint64(i) / uint64(r.parts)) }
	Parallel(r.parts, 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			f(i, bound(i), bound(i+1))
		}
	})
}

// pick sets out[i] to the key at places[i] of the sorted x. places ascends. The keys differ in their lowest `left` bits only. pick
// overwrites x and spare, which have the same length.
func (r *ranker[K]) pick(x, spare []K, places []int, out []K, left int) {
	if r.parts == 1 && sortsByVectors[K]() {
		quickPick(x, spare, 0, places, out, 2*bits.Len(uint(len(x))))
		return
	}
	r.pickByDigits(x, spare, places, out, left)
}

func (r *ranker[K]) pickByDigits(x, spare []K, places []int, out []K, left int) {
	if len(x) <= shortSort {
		slices.Sort(x)
		for i, at := range places {
			out[i] = x[at]
		}
		return
	}
	if left <= 0 { // all keys are equal
		for i := range out {
			out[i] = x[0]
		}
		return
	}
	left = max(left-digitBits, 0)
	digit := func(v K) int { return int(uint64(v)>>left) & (mostDigits - 1) }
	counts := make([][mostDigits]int, r.parts)
	r.each(len(x), func(part, lo, hi int) {
		countDigits(x[lo:hi], left, mostDigits-1, &counts[part])
	})
	// The digits of the picked keys, each with its places, and with the first of its keys in spare.
	type bucket struct{ digit, before, from, n, first, last int }
	var buckets []bucket
	before, from, place := 0, 0, 0
	for d := 0; d < mostDigits && place < len(places); d++ {
		n := 0
		for p := range counts {
			n += counts[p][d]
		}
		b := bucket{digit: d, before: before, from: from, n: n, first: place}
		for place < len(places) && places[place] < before+n {
			place++
		}
		if b.last = place; b.last > b.first {
			buckets = append(buckets, b)
			from += n
		}
		before += n
	}
	// wanted has, for each part and digit, the index in spare of the part's next key with this digit. It is -1 for a digit that no
	// picked key has.
	wanted := make([][mostDigits]int, r.parts)
	for p := range wanted {
		for d := range wanted[p] {
			wanted[p][d] = -1
		}
	}
	for _, b := range buckets {
		at := b.from
		for p := range wanted {
			wanted[p][b.digit] = at
			at += counts[p][b.digit]
		}
	}
	r.each(len(x), func(part, lo, hi int) {
		w := &wanted[part]
		for _, v := range x[lo:hi] {
			d := digit(v)
			if at := w[d]; at >= 0 {
				spare[at] = v
				w[d] = at + 1
			}
		}
	})
	one := ranker[K]{parts: 1}
	for _, b := range buckets {
		within := make([]int, b.last-b.first)
		for i := range within {
			within[i] = places[b.first+i] - b.before
		}
		one.pickByDigits(spare[b.from:b.from+b.n], x[:b.n], within, out[b.first:b.last], left)
	}
}

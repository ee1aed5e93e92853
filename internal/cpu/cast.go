package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
)

// Cast converts element by element: dst = x in type dt. Equal types are copied. A
// conversion to an integer type truncates, saturates and converts NaN to 0; to Bool it is x
// != 0; to floating point it rounds once. From complex to real types the imaginary part is
// dropped, and from real to complex types it is 0.
//
// shape is that of both operands; xs and ds are strides in elements.
func Cast(xt, dt dtype.DType, shape []int, x unsafe.Pointer, xs []int, dst unsafe.Pointer, ds []int) error {
	if !xt.Valid() || !dt.Valid() {
		return unsupported("Cast to "+dt.String(), xt)
	}
	if s, ok := oneSpan(shape, minPart, operand{dst, ds, dt.Size()}, operand{x, xs, xt.Size()}); ok {
		if xt == dt {
			copySpan(s.p[0], s.step[0], s.p[1], s.step[1], dt.Size(), s.n)
			return nil
		}
		c := newCast(xt, dt)
		w := works.Get().(*work)
		c.span(s, w)
		works.Put(w)
		return nil
	}
	t := newNest(shape, operand{dst, ds, dt.Size()}, operand{x, xs, xt.Size()})
	if xt == dt {
		if t.n > 0 && copyRuns(t) {
			return nil
		}
		size := dt.Size()
		t.nonTemporal = streams(t.n * size)
		t.run(func(s span, _ *work) {
			if t.nonTemporal && s.step[0] == size && s.step[1] == size {
				stream(s.p[0], s.p[1], s.n*size)
				return
			}
			copySpan(s.p[0], s.step[0], s.p[1], s.step[1], size, s.n)
		})
		return nil
	}
	c := newCast(xt, dt)
	t.run(c.span)
	return nil
}

// blockLen is the number of elements that are gathered, computed and scattered at once
// if an operand is not dense or is not of the compute type.
const blockLen = 512

// block holds blockLen elements of any type.
type block [blockLen]complex128

// cast is a conversion in up to three steps, each from a block to a block: load
// gathers the source's elements in a type that convert accepts, convert changes
// the type, store scatters. A nil step is skipped.
type cast struct {
	load         func(dst, src unsafe.Pointer, step, n int)
	convert      func(dst, src unsafe.Pointer, n int)
	store        func(dst unsafe.Pointer, step int, src unsafe.Pointer, n int)
	xsize, dsize int // sizes of an element of the source and of the destination
	lanes        int // real components of an element: 2 between complex types
}

func newCast(xt, dt dtype.DType) cast {
	c := cast{xsize: xt.Size(), dsize: dt.Size(), lanes: 1}
	if xt.IsComplex() && dt.IsComplex() {
		c.lanes = 2
		c.convert = converter(xt.Real(), dt.Real())
		return c
	}
	from, to := xt.Real(), dt.Real()
	if h := halvesOf(xt); h.load != nil {
		c.load, from = h.load, dtype.Float32
	}
	switch xt {
	case dtype.Bool:
		if c.convert = truthConverter(dt); c.convert != nil {
			return c
		}
		c.load, from = loadBool, dtype.Uint8
	case dtype.Complex64:
		c.load = loadReal[float32]
		if dt == dtype.Bool {
			c.load, from = loadTruth[complex64], dtype.Uint8
		}
	case dtype.Complex128:
		c.load = loadReal[float64]
		if dt == dtype.Bool {
			c.load, from = loadTruth[complex128], dtype.Uint8
		}
	}
	switch dt {
	case dtype.Complex64:
		c.store = storeReal[float32]
	case dtype.Complex128:
		c.store = storeReal[float64]
	}
	if from != to || c.load == nil && c.store == nil {
		c.convert = converter(from, to)
	}
	return c
}

// span converts one span: operand 0 is the destination, 1 the source.
func (c *cast) span(s span, w *work) {
	in, out := unsafe.Pointer(&w.block[0]), unsafe.Pointer(&w.block[1])
	most := blockLen
	if c.load == nil && c.store == nil && s.step[0] == c.dsize && s.step[1] == c.xsize {
		most = directLen
	}
	for s.n > 0 {
		n := min(s.n, most)
		src, dst := s.p[1], s.p[0]
		scatter := c.store != nil || s.step[0] != c.dsize
		if scatter {
			dst = out
		}
		switch {
		case c.load != nil && c.convert == nil:
			c.load(dst, src, s.step[1], n)
			src = dst
		case c.load != nil:
			c.load(in, src, s.step[1], n)
			src = in
		case s.step[1] != c.xsize:
			copySpan(in, c.xsize, src, s.step[1], c.xsize, n)
			src = in
		}
		if c.convert != nil {
			c.convert(dst, src, n*c.lanes)
			src = dst
		}
		switch {
		case c.store != nil:
			c.store(s.p[0], s.step[0], src, n)
		case scatter:
			copySpan(s.p[0], s.step[0], src, c.dsize, c.dsize, n)
		}
		s = s.skip(n)
	}
}

// skip returns s without its first n elements.
func (s span) skip(n int) span {
	if s.n -= n; s.n > 0 {
		for j := range s.p {
			if s.p[j] != nil {
				s.p[j] = unsafe.Add(s.p[j], n*s.step[j])
			}
		}
	}
	return s
}

// loadReal gathers the real parts of complex numbers with components of type R.
func loadReal[R float32 | float64](dst, src unsafe.Pointer, step, n int) {
	d, done := unsafe.Slice((*R)(dst), n), 0
	if step == 2*int(unsafe.Sizeof(R(0))) {
		done = vectorReals[R](dst, src, n)
	}
	for i := done; i < n; i++ {
		d[i] = *(*R)(unsafe.Add(src, i*step))
	}
}

// loadTruth gathers c != 0 as 0 or 1.
func loadTruth[C complex64 | complex128](dst, src unsafe.Pointer, step, n int) {
	d := unsafe.Slice((*uint8)(dst), n)
	for i := range d {
		d[i] = bit(*(*C)(unsafe.Add(src, i*step)) != 0)
	}
}

// storeReal scatters reals as complex numbers.
func storeReal[R float32 | float64](dst unsafe.Pointer, step int, src unsafe.Pointer, n int) {
	done := 0
	if step == 8 && unsafe.Sizeof(R(0)) == 4 && vectorAVX { // an imaginary part of 0 is an extension with zeros
		done = n &^ (castVector - 1)
		widenings[1][2][3](dst, src, done)
	}
	for i, v := range unsafe.Slice((*R)(src), n)[done:] {
		*(*[2]R)(unsafe.Add(dst, (done+i)*step)) = [2]R{v}
	}
}

// pair returns the source and the destination of n elements as slices of equal
// length, which lets the compiler drop the bounds checks.
func pair[D, S any](dst, src unsafe.Pointer, n int) ([]D, []S) {
	s := unsafe.Slice((*S)(src), n)
	return unsafe.Slice((*D)(dst), n)[:len(s)], s
}

func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// number lists the source types of the convert step. They are also its result
// types, except for the half types and Bool.
type number interface {
	float32 | float64 | integer
}

// converter returns the conversion of dense blocks between two real types. from
// must be a type that number lists.
func converter(from, to dtype.DType) func(dst, src unsafe.Pointer, n int) {
	switch from {
	case dtype.Float32:
		if h := halvesOf(to); h.round != nil {
			return h.round
		}
		return floatConverter[float32](to)
	case dtype.Float64:
		if h := halvesOf(to); h.round64 != nil {
			return h.round64
		}
		return floatConverter[float64](to)
	case dtype.Uint8:
		if to == dtype.Float32 {
			return bytesToFloats
		}
	}
	return integerOf(from).to(to)
}

func floatConverter[S float32 | float64](to dtype.DType) func(dst, src unsafe.Pointer, n int) {
	switch to {
	case dtype.Float32:
		return toFloat32[S]()
	case dtype.Float64:
		return toFloat64[S]()
	case dtype.Bool:
		return truthOf[S]()
	}
	k := integerOf(to)
	if unsafe.Sizeof(S(0)) == 4 {
		return k.fromFloat32()
	}
	return k.fromFloat64()
}

// fromFloat32 and fromFloat64 convert to T.
func (ints[T]) fromFloat32() func(dst, src unsafe.Pointer, n int) {
	if of := intermediate[T](); of != nil {
		return through(unsafe.Sizeof(T(0)), 4, of.fromFloat32(), of.to(dtype.Of[T]()))
	}
	plain := floatToInt[T, float32]()
	switch any(T(0)).(type) {
	case int32:
		return withVectors(vectorAVX, 4, 4, wider(castAVX512, int32sOf32AVX512, int32sOf32AVX2), plain)
	case int64:
		if castAVX512 {
			return withVectors(true, 8, 4, int64sOf32AVX512, plain)
		}
		return withVectors(vectorAVX, 8, 4, whileExact[T](4, int64sOf32AVX2, plain), plain)
	case uint64:
		return withVectors(vectorAVX, 8, 4, whileExact[T](4, int64sOf32AVX2, plain), plain)
	}
	return plain
}

func (ints[T]) fromFloat64() func(dst, src unsafe.Pointer, n int) {
	if of := intermediate[T](); of != nil {
		return through(unsafe.Sizeof(T(0)), 8, of.fromFloat64(), of.to(dtype.Of[T]()))
	}
	plain := floatToInt[T, float64]()
	switch any(T(0)).(type) {
	case int32:
		return withVectors(vectorAVX, 4, 8, wider(castAVX512, int32sOf64AVX512, int32sOf64AVX2), plain)
	case int64:
		if castAVX512 {
			return withVectors(true, 8, 8, int64sOf64AVX512, plain)
		}
		return withVectors(vectorAVX, 8, 8, whileExact[T](8, int64sOf64AVX2, plain), plain)
	case uint64:
		return withVectors(vectorAVX, 8, 8, whileExact[T](8, int64sOf64AVX2, plain), plain)
	}
	return plain
}

// wider returns the first function if the processor has its instructions, else the second.
func wider(available bool, wide, narrow func(dst, src unsafe.Pointer, n int)) func(dst, src unsafe.Pointer, n int) {
	if available {
		return wide
	}
	return narrow
}

// withVectors returns a function that runs vector on whole vectors, of 64 bytes of the larger type, and plain on the other elements.
// to and from are the bytes of an element. Without the instructions it returns plain.
func withVectors(available bool, to, from uintptr, vector, plain func(dst, src unsafe.Pointer, n int)) func(dst, src unsafe.Pointer, n int) {
	if !available {
		return plain
	}
	return inMultiples(64/int(max(to, from)), to, from, vector, plain)
}

// inMultiples returns a function that runs vector on the largest possible multiple of lanes elements, and plain on the rest. lanes is a
// power of two.
func inMultiples(lanes int, to, from uintptr, vector, plain func(dst, src unsafe.Pointer, n int)) func(dst, src unsafe.Pointer, n int) {
	return func(dst, src unsafe.Pointer, n int) {
		whole := n &^ (lanes - 1)
		vector(dst, src, whole)
		if whole < n {
			plain(unsafe.Add(dst, whole*int(to)), unsafe.Add(src, whole*int(from)), n-whole)
		}
	}
}

// to converts from S to type t.
func (ints[S]) to(t dtype.DType) func(dst, src unsafe.Pointer, n int) {
	switch t {
	case dtype.Float32:
		return toFloat32[S]()
	case dtype.Float64:
		return toFloat64[S]()
	case dtype.Int8:
		return intToInt[int8, S]()
	case dtype.Int16:
		return intToInt[int16, S]()
	case dtype.Int32:
		return intToInt[int32, S]()
	case dtype.Int64:
		return intToInt[int64, S]()
	case dtype.Uint8:
		return intToInt[uint8, S]()
	case dtype.Uint16:
		return intToInt[uint16, S]()
	case dtype.Uint32:
		return intToInt[uint32, S]()
	case dtype.Uint64:
		return intToInt[uint64, S]()
	case dtype.Bool:
		return truthOf[S]()
	}
	return roundInts[S](t)
}

// convert is Go's own conversion, for types where it rounds once or is exact.
func convert[D, S number](dst, src unsafe.Pointer, n int) {
	d, s := pair[D, S](dst, src, n)
	for i, v := range s {
		d[i] = D(v)
	}
}

// floatToInt truncates and saturates at the type's bounds; NaN becomes 0. Both bounds are
// compared as float64, where the largest 64-bit numbers round to 2^63 and 2^64: these values
// are out of range.
func floatToInt[D integer, S float32 | float64]() func(dst, src unsafe.Pointer, n int) {
	lo, hi := bounds[D]()
	return func(dst, src unsafe.Pointer, n int) {
		flo, fhi := float64(lo), float64(hi)
		d, s := pair[D, S](dst, src, n)
		for i, s := range s {
			v := float64(s)
			if v > flo && v < fhi {
				d[i] = D(v)
				continue
			}
			switch {
			case v >= fhi:
				d[i] = hi
			case v <= flo:
				d[i] = lo
			default: // NaN
				d[i] = 0
			}
		}
	}
}

package cpu

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
)

// halfToFloat returns the float32 of the float16 whose bits are h, exactly.
//
// In float32's position the exponent is 112 too small. Multiplying by 2^112 corrects that
// for normal and subnormal numbers. Infinities and NaNs then still lack the upper exponent
// bits.
func halfToFloat(h uint16) float32 {
	u := uint32(h&0x7fff) << 13
	b := math.Float32bits(math.Float32frombits(u) * 0x1p112)
	if u >= 0x7c00<<13 {
		b |= 0x7f800000
	}
	return math.Float32frombits(b | uint32(h&0x8000)<<16)
}

// floatToHalf returns the bits of the float16 nearest to f, ties to even. A NaN becomes a
// quiet NaN of the same sign; 65520 and larger values become an infinity.
func floatToHalf(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b>>16) & 0x8000
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000:
		return sign | 0x7e00 | uint16(b>>13)&0x3ff
	case b >= 0x47800000: // 2^16
		return sign | 0x7c00
	case b < 0x38800000: // 2^-14: in [0.5, 1) a float32's last bit is 2^-24, a subnormal float16's
		return sign | uint16(math.Float32bits(math.Float32frombits(b)+0.5))
	}
	return sign | uint16((b-112<<23+0xfff+b>>13&1)>>13)
}

// bfloat16ToFloat returns the float32 of the bfloat16 whose bits are b, exactly.
func bfloat16ToFloat(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }

// floatToBFloat16 returns the bits of the bfloat16 nearest to f, ties to even. A NaN
// becomes a quiet NaN of the same sign.
func floatToBFloat16(f float32) uint16 {
	b := math.Float32bits(f)
	if b&0x7fffffff > 0x7f800000 {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// roundToOdd returns f if float32 represents it, otherwise the neighbour of f whose last
// bit is set. float32 has more than two bits beyond either half type, so rounding the
// result to a half equals rounding f once (Boldo and Melquiond, 2005).
func roundToOdd(f float64) float32 {
	r := float32(f)
	d := float64(r)
	if d == f || f != f {
		return r
	}
	b := math.Float32bits(r)
	if math.Abs(d) > math.Abs(f) {
		b--
	}
	return math.Float32frombits(b | 1)
}

// sticky returns a float64 that rounds to the same half as v, by way of roundToOdd: the
// upper 32 significant bits of v, with the last of them set if a lower bit is.
func sticky[T integer](v T) float64 {
	u := uint64(v)
	if v < 0 {
		u = -u
	}
	if n := bits.Len64(u) - 32; n > 0 {
		rest := u & (1<<n - 1)
		u &^= 1<<n - 1
		if rest != 0 {
			u |= 1 << n
		}
	}
	if v < 0 {
		return -float64(u)
	}
	return float64(u)
}

// halves converts blocks of a 16-bit type to float32 and back, and float64 to the type.
// For other types the functions are nil, and blocks are copied.
type halves struct {
	load    func(dst, src unsafe.Pointer, step, n int)
	round   func(dst, src unsafe.Pointer, n int)
	round64 func(dst, src unsafe.Pointer, n int)
}

func halvesOf(t dtype.DType) halves {
	switch t {
	case dtype.Float16:
		return halves{loadHalf, floatsToHalf, doublesToHalf}
	case dtype.BFloat16:
		return halves{loadBFloat16, floatsToBFloat16, doublesToBFloat16}
	}
	return halves{}
}

// roundInts returns the conversion of integers to the 16-bit type t. With vector code integers are first converted to float32 or
// float64 where these hold them. For float16, float64 may round them: larger numbers than float64 holds become infinities.
func roundInts[S integer](t dtype.DType) func(dst, src unsafe.Pointer, n int) {
	size, h := unsafe.Sizeof(S(0)), halvesOf(t)
	switch {
	case !vectorAVX:
	case size < 4:
		return through(2, size, toFloat32[S](), h.round)
	case size == 4 || t == dtype.Float16:
		return through(2, size, toFloat64[S](), h.round64)
	}
	if t == dtype.BFloat16 {
		return intToBFloat16s[S]
	}
	return intToHalves[S]
}

// loadFloats is load for a slice. step is in bytes.
func (h halves) loadFloats(dst []float32, src unsafe.Pointer, step int) {
	h.load(unsafe.Pointer(unsafe.SliceData(dst)), src, step, len(dst))
}

// roundFloats is round for a slice.
func (h halves) roundFloats(dst unsafe.Pointer, v []float32) {
	h.round(dst, unsafe.Pointer(unsafe.SliceData(v)), len(v))
}

func loadHalf(dst, src unsafe.Pointer, step, n int) {
	if step == 2 {
		d, s := pair[float32, uint16](dst, src, n)
		if whole := n - n%halfVector; vectorAVX && whole > 0 {
			widenHalvesAVX2(dst, src, whole)
			d, s = d[whole:], s[whole:]
		}
		for i, h := range s {
			d[i] = halfToFloat(h)
		}
		return
	}
	d := unsafe.Slice((*float32)(dst), n)
	for i := range d {
		d[i] = halfToFloat(*(*uint16)(unsafe.Add(src, i*step)))
	}
}

func loadBFloat16(dst, src unsafe.Pointer, step, n int) {
	if step == 2 {
		d, s := pair[float32, uint16](dst, src, n)
		if whole := n - n%bfloat16Vector; vectorAVX && whole > 0 {
			widenBFloat16s(dst, src, whole)
			d, s = d[whole:], s[whole:]
		}
		for i, b := range s {
			d[i] = bfloat16ToFloat(b)
		}
		return
	}
	d := unsafe.Slice((*float32)(dst), n)
	for i := range d {
		d[i] = bfloat16ToFloat(*(*uint16)(unsafe.Add(src, i*step)))
	}
}

func floatsToHalf(dst, src unsafe.Pointer, n int) {
	d, s := pair[uint16, float32](dst, src, n)
	if whole := n - n%halfVector; halfF16C && whole > 0 {
		roundHalvesF16C(dst, src, whole)
		d, s = d[whole:], s[whole:]
	}
	for i, v := range s {
		d[i] = floatToHalf(v)
	}
}

func floatsToBFloat16(dst, src unsafe.Pointer, n int) {
	d, s := pair[uint16, float32](dst, src, n)
	if whole := n - n%bfloat16Vector; vectorAVX && whole > 0 {
		roundBFloat16s(dst, src, whole)
		d, s = d[whole:], s[whole:]
	}
	for i, v := range s {
		d[i] = floatToBFloat16(v)
	}
}

// oddBlock is the number of elements that are rounded to odd at once.
const oddBlock = 64

func doublesToHalf(dst, src unsafe.Pointer, n int) {
	d, s := pair[uint16, float64](dst, src, n)
	if whole := n - n%halfVector; castAVX512 && whole > 0 {
		roundHalves64AVX512(dst, src, whole)
		d, s = d[whole:], s[whole:]
	} else if halfF16C {
		for ; len(s) >= oddBlock; d, s = d[oddBlock:], s[oddBlock:] {
			var odd [oddBlock]float32
			oddFloat32sAVX2(unsafe.Pointer(&odd), at0(s), oddBlock)
			roundHalvesF16C(at0(d), unsafe.Pointer(&odd), oddBlock)
		}
	}
	for i, v := range s {
		d[i] = floatToHalf(roundToOdd(v))
	}
}

func doublesToBFloat16(dst, src unsafe.Pointer, n int) {
	d, s := pair[uint16, float64](dst, src, n)
	for ; vectorAVX && len(s) >= oddBlock; d, s = d[oddBlock:], s[oddBlock:] {
		var odd [oddBlock]float32
		oddFloat32sAVX2(unsafe.Pointer(&odd), at0(s), oddBlock)
		roundBFloat16s(at0(d), unsafe.Pointer(&odd), oddBlock)
	}
	for i, v := range s {
		d[i] = floatToBFloat16(roundToOdd(v))
	}
}

func intToHalves[S integer](dst, src unsafe.Pointer, n int) {
	d, s := pair[uint16, S](dst, src, n)
	for i, v := range s {
		d[i] = floatToHalf(roundToOdd(sticky(v)))
	}
}

func intToBFloat16s[S integer](dst, src unsafe.Pointer, n int) {
	d, s := pair[uint16, S](dst, src, n)
	for i, v := range s {
		d[i] = floatToBFloat16(roundToOdd(sticky(v)))
	}
}

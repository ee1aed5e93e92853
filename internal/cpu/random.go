package cpu

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
)

// Random numbers. An element is a function of the seed, of its block's number and of its
// position in the block. Philox gives a block four words: float32 and the halves use one
// word an element, float64 and integers two. The kernels of cutlass/src/random.cuh do the
// same arithmetic step by step, so the code here must not fuse multiplications.

// Uniform fills dst, which has n dense elements, with random numbers, beginning with those
// of block number block. Real types get lo + u width, where u is uniform in [0, 1) with 24
// or 53 bits, but no number above below; p holds lo, width and below as the bits of
// float64. Integers get lo + k with k below the range; p holds lo and the range, where 0
// stands for 2^64. The probabilities of any two k differ by at most 2^-64.
func Uniform(t dtype.DType, n int, seed, block uint64, p [3]uint64, dst unsafe.Pointer) error {
	switch t.ComputeType() {
	case dtype.Float32:
		lo, width, below := float32(math.Float64frombits(p[0])), float32(math.Float64frombits(p[1])), float32(math.Float64frombits(p[2]))
		random32(t, n, seed, block, dst, func(x []float32, words []uint32) { uniform32(x, words, lo, width, below) })
	case dtype.Float64:
		lo, width, below := math.Float64frombits(p[0]), math.Float64frombits(p[1]), math.Float64frombits(p[2])
		random64(n, seed, block, (*float64)(dst), func(x []float64, words []uint32) { uniform64(x, words, lo, width, below) })
	default:
		k := integerOf(t)
		if k == nil {
			return unsupported("Uniform", t)
		}
		k.uniform(n, seed, block, p, dst)
	}
	return nil
}

// uniform32 is Uniform for float32.
func uniform32(x []float32, words []uint32, lo, width, below float32) {
	words = words[:len(x)]
	done := uniformVector(x, words, lo, width, below)
	x = x[done:]
	for i, w := range words[done:] {
		u := float32(w>>8) * 0x1p-24
		y := lo + float32(u*width)
		if y > below {
			y = below
		}
		x[i] = y
	}
}

// uniform64 is Uniform for float64.
func uniform64(x []float64, words []uint32, lo, width, below float64) {
	done := uniformVector64(x, words, lo, width, below)
	for i := done; i < len(x); i++ {
		u := float64(int64(wordPair(words, i)>>11)) * 0x1p-53
		y := lo + float64(u*width)
		if y > below {
			y = below
		}
		x[i] = y
	}
}

// wordPair returns the i-th pair of words as one number. The first word is the lower half.
func wordPair(words []uint32, i int) uint64 { return uint64(words[2*i]) | uint64(words[2*i+1])<<32 }

// uniform is Uniform for T.
func (ints[T]) uniform(n int, seed, block uint64, p [3]uint64, dst unsafe.Pointer) {
	lo, span := p[0], p[1]
	random64(n, seed, block, (*T)(dst), func(x []T, words []uint32) {
		for i := range x {
			k := wordPair(words, i)
			if span != 0 {
				k, _ = bits.Mul64(k, span)
			}
			x[i] = T(lo + k)
		}
	})
}

// Normal fills dst with normally distributed numbers mean + std z. float32 and the halves
// take z from normalTable, float64 from the Box-Muller transformation of the block's two
// pairs of words.
func Normal(t dtype.DType, n int, seed, block uint64, mean, std float64, dst unsafe.Pointer) error {
	switch t.ComputeType() {
	case dtype.Float32:
		m, s := float32(mean), float32(std)
		random32(t, n, seed, block, dst, func(x []float32, words []uint32) { normals32(x, words, m, s) })
	case dtype.Float64:
		random64(n, seed, block, (*float64)(dst), func(x []float64, words []uint32) {
			for i := 0; i < len(x); i += 2 {
				a, b := normal64(wordPair(words, i), wordPair(words, i+1))
				x[i] = mean + float64(std*a)
				if i+1 < len(x) {
					x[i+1] = mean + float64(std*b)
				}
			}
		})
	default:
		return unsupported("Normal", t)
	}
	return nil
}

// normals32 is Normal for float32.
func normals32(x []float32, words []uint32, mean, std float32) {
	words = words[:len(x)]
	done := normalVector(x, words, mean, std)
	x = x[done:]
	for i, w := range words[done:] {
		x[i] = mean + float32(std*normal32(w))
	}
}

// normalSegments is the length of normalTable, which holds the quantile of the normal
// distribution at probability x 2^-33 as cubics. Segment 8e + j covers
// [1 + j/8, 1 + (j+1)/8) 2^e; its argument is the distance from the middle, in segments. A
// last segment covers 2^32 alone.
const normalSegments = 32*8 + 1

// normal32 returns the normal number of a word, whose highest bit is the sign.
func normal32(w uint32) float32 {
	b := math.Float32bits(float32(w<<1 | 1)) // odd, in [1, 2^32]
	c := &normalTable[b>>20-127<<3]
	t := math.Float32frombits(b&(1<<20-1)<<3|0x3f800000) - 1.5
	z := float32(c[3]*t) + c[2]
	z = float32(z*t) + c[1]
	z = float32(z*t) + c[0]
	return math.Float32frombits(math.Float32bits(z) | w&(1<<31))
}

// normal64 returns the two normal numbers of two pairs of words: v gives the radius
// sqrt(-2 log u), u in (0, 1] with 53 bits; w gives the angle, the quadrant in its highest
// two bits and 53 more bits within it.
func normal64(v, w uint64) (a, b float64) {
	r := math.Sqrt(-2 * logUnit(float64(int64(v>>11+1))*0x1p-53))
	t := (float64(int64(w<<2>>11))*0x1p-53 - 0.5) * (math.Pi / 2)
	sin, cos := sinCosQuarter(t)
	// By quadrant: (cos, sin), (-sin, cos), (-cos, -sin), (sin, -cos).
	s, c, quarter := math.Float64bits(sin), math.Float64bits(cos), w>>62
	swap := (s ^ c) & -(quarter & 1)
	c ^= swap ^ (quarter+1)>>1<<63
	s ^= swap ^ quarter>>1<<63
	return float64(r * math.Float64frombits(c)), float64(r * math.Float64frombits(s))
}

// logUnit returns the natural logarithm of a normal number in (0, 1], by the reduction and
// the polynomial of FreeBSD's e_log.c.
func logUnit(u float64) float64 {
	const (
		ln2Hi, ln2Lo = 6.93147180369123816490e-01, 1.90821492927058770002e-10
		l1, l2       = 6.666666666666735130e-01, 3.999999999940941908e-01
		l3, l4       = 2.857142874366239149e-01, 2.222219843214978396e-01
		l5, l6       = 1.818357216161805012e-01, 1.531383769920937332e-01
		l7           = 1.479819860511658591e-01
	)
	bits := math.Float64bits(u)
	// The mantissa in [sqrt(1/2), sqrt(2)).
	bits += 0x3ff00000_00000000 - 0x3fe6a09e_667f3bcd
	k := float64(int64(bits>>52) - 1023)
	f := math.Float64frombits(bits&(1<<52-1)+0x3fe6a09e_667f3bcd) - 1
	s := f / (2 + f)
	z := s * s
	p := horner3(horner3(l7, z, l6, l5, l4), z, l3, l2, l1)
	p = float64(p * z)
	h := float64(float64(0.5*f) * f)
	x := float64(s*(h+p)) + float64(k*ln2Lo)
	return float64(k*ln2Hi) - ((h - x) - f)
}

// sinCosQuarter returns the sine and the cosine of t in [-Pi/4, Pi/4], by the polynomials
// of FreeBSD's k_sin.c and k_cos.c.
func sinCosQuarter(t float64) (sin, cos float64) {
	const (
		s1, s2, s3 = -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04
		s4, s5, s6 = 2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10
		c1, c2, c3 = 4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05
		c4, c5, c6 = -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11
	)
	z := float64(t * t)
	p := horner2(horner3(s6, z, s5, s4, s3), z, s2, s1)
	sin = t + float64(float64(t*z)*p)
	q := horner2(horner3(c6, z, c5, c4, c3), z, c2, c1)
	cos = (1 - float64(0.5*z)) + float64(float64(z*z)*q)
	return sin, cos
}

// random32 calls f with slices for float32 numbers, one for each word, and converts the
// numbers to t.
func random32(t dtype.DType, n int, seed, block uint64, dst unsafe.Pointer, f func(x []float32, words []uint32)) {
	if t == dtype.Float32 {
		inBlocks(unsafe.Slice((*float32)(dst), n), philoxWords, seed, block, f)
		return
	}
	c := newCast(dtype.Float32, t)
	inBlocks(unsafe.Slice((*uint16)(dst), n), philoxWords, seed, block, func(half []uint16, words []uint32) {
		w := works.Get().(*work)
		defer works.Put(w)
		in := (*[blockLen]float32)(unsafe.Pointer(&w.block[2]))
		for i := 0; i < len(half); i += blockLen {
			x := in[:min(blockLen, len(half)-i)]
			f(x, words[i:])
			s := span{n: len(x)}
			s.p[0], s.step[0] = unsafe.Pointer(&half[i]), 2
			s.p[1], s.step[1] = unsafe.Pointer(in), 4
			c.span(s, w)
		}
	})
}

// random64 calls f with slices for numbers, one for each pair of words.
func random64[T any](n int, seed, block uint64, dst *T, f func(x []T, words []uint32)) {
	inBlocks(unsafe.Slice(dst, n), philoxWords/2, seed, block, f)
}

// inBlocks calls f in parallel with parts of dst and the words for them. per is the number
// of elements of a block.
func inBlocks[T any](dst []T, per int, seed, block uint64, f func(part []T, words []uint32)) {
	if len(dst) == 0 {
		return
	}
	Parallel((len(dst)-1)/per+1, philoxGrain, func(lo, hi int) {
		var words [philoxWords * philoxChunk]uint32
		for ; lo < hi; lo += philoxChunk {
			m := min(philoxChunk, hi-lo)
			philoxFill(words[:philoxWords*m], seed, block+uint64(lo))
			f(dst[lo*per:min((lo+m)*per, len(dst))], words[:philoxWords*m])
		}
	})
}

package cpu

import (
	"math"
	"math/bits"
)

// twoOverPiBits is 2/pi, 64 bits per word after one word of zeros.
var twoOverPiBits = [...]uint64{
	0,
	0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
	0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
	0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
	0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
	0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d,
}

const (
	halfPi     = 0x1.921fb54442d18p+0
	halfPiRest = 0x1.1a62633145c07p-54
)

// reducePayneHanek returns x minus the nearest multiple q of pi/2 as a sum high + low, with
// a relative error below 2^-100, for |x| >= 1 (Payne and Hanek, 1983). Infinities and NaN
// give NaN.
//
// With x = m 2^e and m an integer of 53 bits, the bits of 2/pi above 2^(2-e) add
// multiples of 4 to x 2/pi. The 256 bits from there on, times m, are the rest.
func reducePayneHanek(x float64) (high, low float64, q uint64) {
	b := math.Float64bits(x)
	e := int(b>>52&0x7ff) - 1075
	if e == 0x7ff-1075 {
		return math.NaN(), 0, 0
	}
	m := b&(1<<52-1) | 1<<52
	// Bit i of 2/pi, counted from 1, is bit 63+i of the table; the first is e-1.
	at := 62 + e
	word, shift := at/64, uint(at%64)
	var w [4]uint64
	for k := range w {
		w[k] = twoOverPiBits[word+k]<<shift | twoOverPiBits[word+k+1]>>(64-shift)
	}
	// P = m W mod 2^256, in units of 2^-254.
	var p [4]uint64
	c1, p3 := bits.Mul64(m, w[3])
	c2, l2 := bits.Mul64(m, w[2])
	c3, l1 := bits.Mul64(m, w[1])
	l0 := m * w[0]
	var carry uint64
	p[3] = p3
	p[2], carry = bits.Add64(l2, c1, 0)
	p[1], carry = bits.Add64(l1, c2, carry)
	p[0], _ = bits.Add64(l0, c3, carry)

	q = p[0] >> 62
	for k := range 3 {
		p[k] = p[k]<<2 | p[k+1]>>62
	}
	// Three words of fraction. From one half on, the next multiple is nearer.
	negative := p[0]>>63 != 0
	if negative {
		q++
		var borrow uint64
		p[2], borrow = bits.Sub64(0, p[2], 0)
		p[1], borrow = bits.Sub64(0, p[1], borrow)
		p[0], _ = bits.Sub64(0, p[0], borrow)
	}
	scale := 0
	if p[0] == 0 {
		p[0], p[1], p[2] = p[1], p[2], 0
		scale = 64
	}
	if n := uint(bits.LeadingZeros64(p[0])); n > 0 {
		p[0], p[1] = p[0]<<n|p[1]>>(64-n), p[1]<<n|p[2]>>(64-n)
		scale += int(n)
	}
	// The upper 53 bits, and the next 53.
	f0 := math.Ldexp(float64(p[0]>>11), -53-scale)
	f1 := math.Ldexp(float64(p[0]<<53>>11|p[1]>>22&(1<<42-1)), -106-scale)
	high = float64(f0 * halfPi) // rounded here, so that it is not fused below
	low = math.FMA(f0, halfPi, -high) + (float64(f0*halfPiRest) + float64(f1*halfPi))
	high, low = high+low, low-((high+low)-high)
	if negative != (x < 0) {
		high, low = -high, -low
	}
	if x < 0 {
		q = -q
	}
	return high, low, q
}

// Parts of pi/2 of 33 bits each, whose multiples below 2^20 are exact, and the rest.
const (
	halfPi1 = 0x1.921fb544p+0
	halfPi2 = 0x1.0b4611a6p-34
	halfPi3 = 0x1.3198a2e037073p-69

	twoOverPi = 0x1.45f306dc9c883p-1
	trigLimit = 1 << 19 // beyond, the Payne-Hanek reduction is needed

	halfPiCancelled = 0x1p-30 // a smaller difference from a multiple of pi/2 has too few bits
)

// reduceHalfPi returns x minus the nearest multiple q of pi/2 as a sum high + low.
func reduceHalfPi(x float64) (high, low float64, q uint64) {
	a := math.Abs(x)
	switch {
	case a <= math.Pi/4:
		return x, 0, 0
	case !(a <= trigLimit):
		return reducePayneHanek(x)
	}
	t := float64(x*twoOverPi) + shifter
	n := t - shifter
	r := x - float64(n*halfPi1)
	w := n * halfPi2
	s := r - w
	w3 := float64(n*halfPi3) - ((r - s) - w)
	high = s - w3
	if math.Abs(high) < halfPiCancelled { // near a multiple of pi/2 more bits of x are needed
		return reducePayneHanek(x)
	}
	return high, (s - high) - w3, math.Float64bits(t)
}

// Coefficients as in smooth.go, for float64.
const (
	sin64C0 = -0x1.5555555555555p-3
	sin64C1 = 0.008333333333333331
	sin64C2 = -0.0001984126984126506
	sin64C3 = 2.7557319219335453e-06
	sin64C4 = -2.5052106231157904e-08
	sin64C5 = 1.605853141458901e-10
	sin64C6 = -7.586685070091267e-13

	cos64C0 = 0x1.5555555555555p-5
	cos64C1 = -0.0013888888888888887
	cos64C2 = 2.4801587301584645e-05
	cos64C3 = -2.755731922140076e-07
	cos64C4 = 2.0876755790363397e-09
	cos64C5 = -1.1470460773969325e-11
	cos64C6 = 4.7458652037874553e-14
)

// sinF64 returns the sine of any x, cosF64 the cosine, with errors below 1 ulp.
func sinF64(x float64) float64 { return sinQuarter64(x, 0) }

func cosF64(x float64) float64 { return sinQuarter64(x, 1) }

// sinQuarter64 returns sin(x + quarter pi/2).
func sinQuarter64(x float64, quarter uint64) float64 {
	r, rest, q := reduceHalfPi(x)
	q += quarter
	z := r * r
	var v float64
	if q&1 == 0 {
		p := horner3(horner3(sin64C6, z, sin64C5, sin64C4, sin64C3), z, sin64C2, sin64C1, sin64C0)
		// sin(r + rest) = sin r + rest cos r
		v = r + (float64(float64(z*r)*p) + (rest - float64(float64(0.5*z)*rest)))
		if r == 0 {
			v = r // keeps -0
		}
	} else {
		p := horner3(horner3(cos64C6, z, cos64C5, cos64C4, cos64C3), z, cos64C2, cos64C1, cos64C0)
		// cos(r + rest) = cos r - rest sin r
		h := 0.5 * z
		w := 1 - h
		v = w + (((1 - w) - h) + (float64(float64(z*z)*p) - float64(r*rest)))
	}
	if q&2 != 0 {
		return -v
	}
	return v
}

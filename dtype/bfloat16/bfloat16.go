// Package bfloat16 is the 16-bit floating-point type with the exponent range
// of float32: 1 sign bit, 8 exponent bits, 7 fraction bits.
package bfloat16

import (
	"math"
	"strconv"
)

// BFloat16 holds the bits of one value: the upper half of a float32.
type BFloat16 uint16

// FromFloat32 returns the value nearest to f, ties to even. A NaN becomes a quiet NaN of
// the same sign. A number that is too large becomes an infinity.
func FromFloat32(f float32) BFloat16 {
	b := math.Float32bits(f)
	if b&0x7fffffff > 0x7f800000 {
		return BFloat16(b>>16 | 0x40)
	}
	return BFloat16((b + 0x7fff + b>>16&1) >> 16)
}

// Float32 returns the value exactly.
func (b BFloat16) Float32() float32 { return math.Float32frombits(uint32(b) << 16) }

// FromBits returns the value whose bits are u.
func FromBits(u uint16) BFloat16 { return BFloat16(u) }

// Bits returns the bits of b.
func (b BFloat16) Bits() uint16 { return uint16(b) }

// IsNaN reports whether b is a NaN.
func (b BFloat16) IsNaN() bool { return b&0x7fff > 0x7f80 }

// IsInf reports whether b is an infinity with the given sign; with sign 0, any infinity.
func (b BFloat16) IsInf(sign int) bool {
	return sign >= 0 && b == 0x7f80 || sign <= 0 && b == 0xff80
}

// String formats b as the shortest decimal that float32 reads back.
func (b BFloat16) String() string {
	return strconv.FormatFloat(float64(b.Float32()), 'g', -1, 32)
}

package dtype

import (
	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/x448/float16"
)

// Half describes a 16-bit floating-point type of IEEE 754's form: a sign bit, 15 - Fraction bits of
// the exponent and Fraction bits of the significand.
type Half struct {
	Fraction int
	Round    func(float32) uint16 // the bits of the number nearest to a float32, ties to even
	Float32  func(uint16) float32 // the number that has these bits, exactly
}

var halfs = [len(table)]*Half{
	Float16: {
		10,
		func(f float32) uint16 { return float16.Fromfloat32(f).Bits() },
		func(b uint16) float32 { return float16.Frombits(b).Float32() },
	},
	BFloat16: {
		7,
		func(f float32) uint16 { return bfloat16.FromFloat32(f).Bits() },
		func(b uint16) float32 { return bfloat16.FromBits(b).Float32() },
	},
}

// Half returns the description of a 16-bit floating-point type, and false for every other type.
func (d DType) Half() (h *Half, ok bool) {
	if int(d) < len(halfs) {
		h = halfs[d]
	}
	return h, h != nil
}

// Infinity returns the bits of positive infinity. Without the sign bit, all larger bits are NaN.
func (h *Half) Infinity() uint16 { return 1<<15 - 1<<h.Fraction }

// NaN returns the bits of the quiet NaN without a payload.
func (h *Half) NaN() uint16 { return h.Infinity() | 1<<(h.Fraction-1) }

// MinExponent returns the exponent of the smallest normal number.
func (h *Half) MinExponent() int { return 2 - 1<<(14-h.Fraction) }

package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
)

// onesFloat32 and the others hold the values of true Bools, and zeros64 those of false ones.
var (
	onesFloat32 = onesOf[float32]()
	onesFloat64 = onesOf[float64]()
	onesInt32   = onesOf[int32]()
	onesInt64   = onesOf[int64]()
	zeros64     [blockLen]int64
)

func onesOf[T number]() (ones [blockLen]T) {
	for i := range ones {
		ones[i] = 1
	}
	return ones
}

// truthConverter returns the conversion of Bools to a real type of 4 or 8 bytes by vector code, of at most blockLen
// elements. It returns nil for other types, and where the processor has no AVX2.
func truthConverter(to dtype.DType) func(dst, src unsafe.Pointer, n int) {
	if !vectorAVX {
		return nil
	}
	switch to {
	case dtype.Float32:
		return func(dst, src unsafe.Pointer, n int) { choices32(dst, src, at0(onesFloat32[:]), at0(zeros64[:]), n) }
	case dtype.Float64:
		return func(dst, src unsafe.Pointer, n int) { choices64(dst, src, at0(onesFloat64[:]), at0(zeros64[:]), n) }
	case dtype.Int32, dtype.Uint32:
		return func(dst, src unsafe.Pointer, n int) { choices32(dst, src, at0(onesInt32[:]), at0(zeros64[:]), n) }
	case dtype.Int64, dtype.Uint64:
		return func(dst, src unsafe.Pointer, n int) { choices64(dst, src, at0(onesInt64[:]), at0(zeros64[:]), n) }
	}
	return nil
}

package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
)

// onesFloat32 and onesFloat64 hold the values of true Bools, and zeros64 those of false ones.
var (
	onesFloat32 = onesOf[float32]()
	onesFloat64 = onesOf[float64]()
	zeros64     [blockLen]int64
)

func onesOf[T number]() (ones [blockLen]T) {
	for i := range ones {
		ones[i] = 1
	}
	return ones
}

// truthConverter returns the conversion of Bools to a real type by vector code, or nil if there is none.
func truthConverter(to dtype.DType) func(dst, src unsafe.Pointer, n int) {
	switch {
	case !vectorAVX:
		return nil
	case to == dtype.Float32:
		return blockwise(4, func(dst, src unsafe.Pointer, n int) { choices32(dst, src, at0(onesFloat32[:]), at0(zeros64[:]), n) })
	case to == dtype.Float64:
		return blockwise(8, func(dst, src unsafe.Pointer, n int) { choices64(dst, src, at0(onesFloat64[:]), at0(zeros64[:]), n) })
	case to.Size() == 1:
		return truthOf[uint8]()
	case to.IsInteger():
		return through(uintptr(to.Size()), 1, truthOf[uint8](), integerOf(dtype.Uint8).to(to))
	}
	return nil
}

// blockwise returns a function that calls f for at most blockLen bytes at a time. A result has to bytes.
func blockwise(to int, f func(dst, src unsafe.Pointer, n int)) func(dst, src unsafe.Pointer, n int) {
	return func(dst, src unsafe.Pointer, n int) {
		for at := 0; at < n; at += blockLen {
			f(unsafe.Add(dst, at*to), unsafe.Add(src, at), min(blockLen, n-at))
		}
	}
}

package cpu

import "unsafe"

// toFloat32 returns the conversion from S to float32, which rounds once.
func toFloat32[S number]() func(dst, src unsafe.Pointer, n int) {
	plain := convert[float32, S]
	if !vectorAVX {
		return plain
	}
	switch any(S(0)).(type) {
	case float64:
		return withVectors(true, 4, 8, float32sOfFloat64s, plain)
	case int32:
		return withVectors(true, 4, 4, float32sOfInt32s, plain)
	case int64:
		return withVectors(true, 4, 8, wider(castAVX512, float32sOfInt64sAVX512, float32sOfInt64sAVX2), plain)
	case int8:
		return through(4, 1, intToInt[int32, int8](), toFloat32[int32]())
	case int16:
		return through(4, 2, intToInt[int32, int16](), toFloat32[int32]())
	case uint8:
		return through(4, 1, intToInt[int32, uint8](), toFloat32[int32]())
	case uint16:
		return through(4, 2, intToInt[int32, uint16](), toFloat32[int32]())
	case uint32:
		return through(4, 4, toFloat64[uint32](), toFloat32[float64]()) // float64 holds all of uint32
	}
	return plain
}

// toFloat64 returns the conversion from S to float64, which rounds once.
func toFloat64[S number]() func(dst, src unsafe.Pointer, n int) {
	plain := convert[float64, S]
	if !vectorAVX {
		return plain
	}
	switch any(S(0)).(type) {
	case float32:
		return withVectors(true, 8, 4, float64sOfFloat32s, plain)
	case int32:
		return withVectors(true, 8, 4, float64sOfInt32s, plain)
	case int64:
		return withVectors(true, 8, 8, wider(castAVX512, float64sOfInt64sAVX512, float64sOfInt64sAVX2), plain)
	case uint32:
		return withVectors(true, 8, 4, float64sOfUint32s, plain)
	case int8:
		return through(8, 1, intToInt[int32, int8](), toFloat64[int32]())
	case int16:
		return through(8, 2, intToInt[int32, int16](), toFloat64[int32]())
	case uint8:
		return through(8, 1, intToInt[int32, uint8](), toFloat64[int32]())
	case uint16:
		return through(8, 2, intToInt[int32, uint16](), toFloat64[int32]())
	}
	return plain
}

package cpu

import "unsafe"

// toFloat32 returns the conversion from S to float32, which rounds once.
func toFloat32[S number]() func(dst, src unsafe.Pointer, n int) {
	plain := convert[float32, S]
	switch any(S(0)).(type) {
	case float64:
		return withVectors(vectorAVX, 4, 8, float32sOfFloat64s, plain)
	case int32:
		return withVectors(vectorAVX, 4, 4, float32sOfInt32s, plain)
	case int64:
		return withVectors(castAVX512, 4, 8, float32sOfInt64sAVX512, plain)
	}
	return plain
}

// toFloat64 returns the conversion from S to float64, which rounds once.
func toFloat64[S number]() func(dst, src unsafe.Pointer, n int) {
	plain := convert[float64, S]
	switch any(S(0)).(type) {
	case float32:
		return withVectors(vectorAVX, 8, 4, float64sOfFloat32s, plain)
	case int32:
		return withVectors(vectorAVX, 8, 4, float64sOfInt32s, plain)
	case int64:
		return withVectors(castAVX512, 8, 8, float64sOfInt64sAVX512, plain)
	}
	return plain
}

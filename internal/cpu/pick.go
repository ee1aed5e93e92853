package cpu

import (
	"bytes"
	"unsafe"
)

// pickVector is the vector length of the assembly for searches and selections.
const pickVector = 8

// extremeVector is the vector length of the assembly for extreme elements.
const extremeVector = 16

// largest returns the largest element of x: NaN if there is one, 0 over -0. It runs four
// independent chains of comparisons.
func largest[T number](x []T) T {
	a := x[0]
	b, c, d := a, a, a
	for ; len(x) >= 4; x = x[4:] {
		a, b, c, d = max(a, x[0]), max(b, x[1]), max(c, x[2]), max(d, x[3])
	}
	for _, v := range x {
		a = max(a, v)
	}
	return max(a, b, c, d)
}

// smallest returns the smallest element of x: NaN if there is one, -0 over 0.
func smallest[T number](x []T) T {
	a := x[0]
	b, c, d := a, a, a
	for ; len(x) >= 4; x = x[4:] {
		a, b, c, d = min(a, x[0]), min(b, x[1]), min(c, x[2]), min(d, x[3])
	}
	for _, v := range x {
		a = min(a, v)
	}
	return min(a, b, c, d)
}

// indexOf returns the index of the first element equal to v, or of the first NaN if v is
// NaN. There must be one.
func indexOf[T number](x []T, v T) int {
	for i, u := range x {
		if u == v || u != u {
			return i
		}
	}
	return 0
}

// extremeOf returns the extreme element of x: by the assembly fast of whole vectors, and by the loop slow of
// the rest. merge returns the extreme of both.
func extremeOf[T float32 | float64](x []T, fast func(x unsafe.Pointer, n int) T, slow func(x []T) T, merge func(a, b T) T) T {
	whole := len(x) &^ (extremeVector - 1)
	if !vectorAVX || whole == 0 {
		return slow(x)
	}
	v := fast(at0(x), whole)
	if whole == len(x) {
		return v
	}
	return merge(v, slow(x[whole:]))
}

func larger[T number](a, b T) T  { return max(a, b) }
func smaller[T number](a, b T) T { return min(a, b) }

// largestOf32 and largestOf64 are largest, and smallestOf32 and smallestOf64 smallest, with assembly.
func largestOf32(x []float32) float32 {
	if castAVX512 {
		return extremeOf(x, largest32AVX512, largest[float32], larger[float32])
	}
	return extremeOf(x, largest32, largest[float32], larger[float32])
}

func largestOf64(x []float64) float64 {
	if castAVX512 {
		return extremeOf(x, largest64AVX512, largest[float64], larger[float64])
	}
	return extremeOf(x, largest64, largest[float64], larger[float64])
}

func smallestOf32(x []float32) float32 {
	if castAVX512 {
		return extremeOf(x, smallest32AVX512, smallest[float32], smaller[float32])
	}
	return extremeOf(x, smallest32, smallest[float32], smaller[float32])
}

func smallestOf64(x []float64) float64 {
	if castAVX512 {
		return extremeOf(x, smallest64AVX512, smallest[float64], smaller[float64])
	}
	return extremeOf(x, smallest64, smallest[float64], smaller[float64])
}

// firstOf is indexOf with the assembly function fast for whole vectors.
func firstOf[T float32 | float64](x []T, v T, fast func(x unsafe.Pointer, v T, n int) int) int {
	whole := len(x) &^ (pickVector - 1)
	if !vectorAVX || v != v {
		return indexOf(x, v)
	}
	if i := fast(at0(x), v, whole); i < whole {
		return i
	}
	return whole + indexOf(x[whole:], v)
}

// firstOf32 and firstOf64 are indexOf with assembly.
func firstOf32(x []float32, v float32) int { return firstOf(x, v, index32) }
func firstOf64(x []float64, v float64) int { return firstOf(x, v, index64) }

// firstByte is indexOf for bytes.
func firstByte[T int8 | uint8](x []T, v T) int {
	return max(bytes.IndexByte(unsafe.Slice((*byte)(at0(x)), len(x)), byte(v)), 0)
}

// choices32 and choices64 are choices with assembly.
func choices32(dst, x, y, z unsafe.Pointer, n int) { vectorChoices[uint32](choose32, dst, x, y, z, n) }

func choices64(dst, x, y, z unsafe.Pointer, n int) { vectorChoices[uint64](choose64, dst, x, y, z, n) }

// vectorChoices is choices with the assembly function fast for whole vectors.
func vectorChoices[T uint32 | uint64](fast func(dst, x, y, z unsafe.Pointer, n int), dst, x, y, z unsafe.Pointer, n int) {
	if whole := n &^ (pickVector - 1); vectorAVX && whole > 0 {
		fast(dst, x, y, z, whole)
		if n -= whole; n == 0 {
			return // a pointer must not point after the last element
		}
		at := whole * int(unsafe.Sizeof(T(0)))
		dst, x, y, z = unsafe.Add(dst, at), unsafe.Add(x, whole), unsafe.Add(y, at), unsafe.Add(z, at)
	}
	choices[T](dst, x, y, z, n)
}

// bytesToFloats converts uint8 to float32.
func bytesToFloats(dst, src unsafe.Pointer, n int) {
	if whole := n &^ (pickVector - 1); vectorAVX && whole > 0 {
		floats8(dst, src, whole)
		if n -= whole; n == 0 {
			return
		}
		dst, src = unsafe.Add(dst, 4*whole), unsafe.Add(src, whole)
	}
	convert[float32, uint8](dst, src, n)
}

// loadBool gathers Bools as 1 and 0.
func loadBool(dst, src unsafe.Pointer, step, n int) {
	d, i := unsafe.Slice((*uint8)(dst), n), 0
	if step == 1 {
		for ; i+8 <= n; i += 8 {
			*(*uint64)(unsafe.Add(dst, i)) = truths8(*(*uint64)(unsafe.Add(src, i)))
		}
	}
	for ; i < n; i++ {
		d[i] = bit(*(*uint8)(unsafe.Add(src, i*step)) != 0)
	}
}

//go:build !noasm

package cpu

// Each function sets dst[i] = f(x[i], y[i]), where f is the Go function of its name, bit for bit. Where |x/y| is not below 2^52,
// or y is infinite, it writes NaN. It computes a prefix and returns its length, a multiple of 4 with AVX2 and of 8 with AVX-512.

//go:noescape
func remainder64AVX2(dst, x, y *float64, n int) int

//go:noescape
func floorDivide64AVX2(dst, x, y *float64, n int) int

//go:noescape
func remainder64AVX512(dst, x, y *float64, n int) int

//go:noescape
func floorDivide64AVX512(dst, x, y *float64, n int) int

// floorDivideBlock and remainderBlock compute in place of x; s is scratch memory.
func floorDivideBlock(x, y, s []float64) {
	divideBlock(floorDivide64AVX512, floorDivide64AVX2, floorDivideF64, x, y, s)
}

func remainderBlock(x, y, s []float64) {
	divideBlock(remainder64AVX512, remainder64AVX2, remainderF64, x, y, s)
}

// divideBlock computes f in place of x. Elements after the vectors, and those that are NaN there, are computed one at a time.
func divideBlock(wide, narrow func(dst, x, y *float64, n int) int, f func(x, y float64) float64, x, y, s []float64) {
	done := 0
	switch {
	case smooth64AVX512:
		done = wide(&s[0], &x[0], &y[0], len(x))
	case smooth64AVX2:
		done = narrow(&s[0], &x[0], &y[0], len(x))
	}
	for i, v := range s[:done] {
		if v != v {
			v = f(x[i], y[i])
		}
		x[i] = v
	}
	for i := done; i < len(x); i++ {
		x[i] = f(x[i], y[i])
	}
}

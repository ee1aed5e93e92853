//go:build !noasm

package cpu

// weighColumns512 computes the weights of up to 16 columns of scores, whose rows are ld
// elements apart:
//
//	x[i, j] = e^max(x[i, j] - largest[j], -exp32Limit) - e^-exp32Limit
//	sums[j] = sum over i of x[i, j], in four chains
//
//go:noescape
func weighColumns512(x *float32, ld, rows, cols int, largest, sums *float32)

// maxColumns512 sets largest[j] to the maximum of x[i, j] over i for up to 16 columns. NaN may
// be ignored. rows > 0.
//
//go:noescape
func maxColumns512(x *float32, ld, rows, cols int, largest *float32)

// rescaleAVX is rescale for n elements, a multiple of 8. n > 0.
//
//go:noescape
func rescaleAVX(x, y *float32, alpha float32, n int)

// dotsFour512 is variant.dots for four vectors x, ldx elements apart. Row i of dst, with pitch
// ldd, has the n results of vector i. k is a multiple of 32, n a multiple of 2, both above 0.
//
//go:noescape
func dotsFour512(dst *float32, ldd int, x *float32, ldx int, a *float32, ld, k, n int)

// columnsFour512 is variant.columns for four vectors x of k elements, ldx elements apart, and
// rows of y with pitch ldy.
//
//go:noescape
func columnsFour512(y *float32, ldy int, x *float32, ldx int, a *float32, ld, k int)

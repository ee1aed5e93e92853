//go:build !noasm

package cpu

import "unsafe"

// for c := range n { for r := range lineBytes/size { dst[r*tileWidth+c] = src[r] }; src += pitch }
// for elements of 2, 4 and 8 bytes; n is a multiple of 16, 8 and 4, and not 0.

//go:noescape
func transpose16AVX(dst, src unsafe.Pointer, pitch, n int)

//go:noescape
func transpose32AVX(dst, src unsafe.Pointer, pitch, n int)

//go:noescape
func transpose64AVX(dst, src unsafe.Pointer, pitch, n int)

// transposeLines is transposeTile for columns of one cache line. It transposes the columns that
// fill registers, and returns their number.
func transposeLines(dst, src unsafe.Pointer, pitch, size, cols int) int {
	if !vectorAVX {
		return 0
	}
	switch size {
	case 2:
		if cols &^= 15; cols > 0 {
			transpose16AVX(dst, src, pitch, cols)
		}
	case 4:
		if cols &^= 7; cols > 0 {
			transpose32AVX(dst, src, pitch, cols)
		}
	case 8:
		if cols &^= 3; cols > 0 {
			transpose64AVX(dst, src, pitch, cols)
		}
	default:
		return 0
	}
	return cols
}

// The assembly assumes rows of 256 elements.
var _ [0]struct{} = [tileWidth - 256]struct{}{}

// Package indextest has the arithmetic of shapes and indices for references in tests. It uses
// none of the library's own.
package indextest

// Size returns the number of elements of a shape.
func Size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// Unravel returns the index of element number i of a shape in row-major order.
func Unravel(shape []int, i int) []int {
	ix := make([]int, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		ix[d], i = i%shape[d], i/shape[d]
	}
	return ix
}

// Number is the inverse of Unravel.
func Number(shape, ix []int) int {
	n := 0
	for d, i := range ix {
		n = n*shape[d] + i
	}
	return n
}

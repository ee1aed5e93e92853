// Package indextest computes with shapes and indices. Tests build their references on it, so it calls
// none of the code that they test.
package indextest

// Size returns the number of elements of a shape.
func Size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// Unravel returns the index of the i-th element, from 0, of an array of a shape in row-major order.
func Unravel(shape []int, i int) []int {
	ix := make([]int, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		ix[d], i = i%shape[d], i/shape[d]
	}
	return ix
}

// Number is the inverse function of Unravel.
func Number(shape, ix []int) int {
	n := 0
	for d, i := range ix {
		n = n*shape[d] + i
	}
	return n
}

//go:build !noasm

package cpu

import "unsafe"

// Reductions of rows and of columns with AVX2, with the bits of the loops. n is a multiple of 4.

// for k := range n { sums[k%4] += float64(x[k]) }
//
//go:noescape
func addLanes32(sums *[lanes]float64, x unsafe.Pointer, n int)

//go:noescape
func addLanes64(sums *[lanes]float64, x unsafe.Pointer, n int)

// for k := range n { d := float64(x[k]) - mean; rest[k%4] += d; squares[k%4] += float64(d * d) }
//
//go:noescape
func addDeviations32(rest, squares *[lanes]float64, x unsafe.Pointer, n int, mean float64)

//go:noescape
func addDeviations64(rest, squares *[lanes]float64, x unsafe.Pointer, n int, mean float64)

// The sums of 8 blocks of varianceBlock elements each, from 0 on, whose results are merged in a tree.

//go:noescape
func addLanesOf8Blocks32(sums *[lanes]float64, x unsafe.Pointer)

//go:noescape
func addLanesOf8Blocks64(sums *[lanes]float64, x unsafe.Pointer)

//go:noescape
func addDeviationsOf8Blocks32(rest, squares *[lanes]float64, x unsafe.Pointer, mean float64)

//go:noescape
func addDeviationsOf8Blocks64(rest, squares *[lanes]float64, x unsafe.Pointer, mean float64)

// for j := range n { sums[j] += float64(x[j]) }
//
//go:noescape
func addColumns32(sums, x unsafe.Pointer, n int)

// for j := range n { d := float64(x[j]) - means[j]; rest[j] += d; squares[j] += float64(d * d) }
//
//go:noescape
func addColumnDeviations32(rest, squares, x, means unsafe.Pointer, n int)

//go:noescape
func addColumnDeviations64(rest, squares, x, means unsafe.Pointer, n int)

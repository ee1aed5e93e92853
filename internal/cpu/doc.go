// Package cpu holds the kernels of the CPU backend: products, element-wise
// operations, conversions and reductions on addresses, shapes and strides.
//
// Kernels know nothing of arrays, views or devices, and check nothing that
// their callers in ops and matmul have checked: addresses, shapes and strides
// must fit. Strides count elements and may be 0 (broadcast) or negative; an
// address is that of element (0, 0, …), and may be nil if there are no elements.
//
// A kernel with many elements uses up to GOMAXPROCS goroutines
// and returns when they have finished. Its result does not depend on their number:
// shapes and types alone decide how the work is divided. Every
// operation rounds like its CUDA counterpart in package cutlass, so that Add, Sub, Mul,
// Div, Neg, Conj, ReLU, conversions and sums give the same bits on both.
package cpu

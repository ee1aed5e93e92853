// Package cpu holds the kernels of the CPU backend: products, element-wise
// operations, conversions and reductions on addresses, shapes and strides.
//
// Kernels know nothing of arrays, views or devices, and do not repeat the checks of their
// callers in ops and matmul: addresses, shapes and strides must be valid. Strides count
// elements and may be 0 (broadcast) or negative; an address is that of element (0, 0, …),
// and may be nil if there is no element.
//
// A kernel with many elements uses up to GOMAXPROCS goroutines and returns when they have
// ended. Its result does not depend on their number: the order of the arithmetic depends
// only on shapes and types. Every operation rounds as its counterpart in package cutlass
// does, so that Add, Sub, Mul, Div, Neg, Conj, ReLU, conversions and sums give the same
// bits on both.
package cpu

// Package cpu holds the kernels of the CPU backend: products, element-wise
// operations, conversions and reductions on addresses, shapes and strides.
//
// Kernels know nothing of arrays, views or devices, and check nothing that
// their callers in ops and matmul have checked: addresses, shapes and strides
// must fit. Strides count elements and may be 0 (broadcast) or negative; an
// address is that of element (0, 0, …), and may be nil where there is none.
//
// A kernel that has many elements to work on uses up to GOMAXPROCS goroutines
// and returns when they have ended. Its result does not depend on how many
// there were: what belongs together is decided by shapes and types alone. Every
// operation rounds as its twin in package cutlass does, so that Add, Sub, Mul,
// Div, Neg, Conj, ReLU, conversions and sums give the same bits on both.
package cpu

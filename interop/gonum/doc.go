// Package gonum converts matrices and vectors between gpk and gonum.org/v1/gonum: package mat, and
// the General and Vector of packages blas32, blas64, cblas64 and cblas128.
//
//	a := gonum.FromMat(m)                     // a copy, on the default device
//	d, err := gonum.ToMat(a.MatMul(a.T()))    // waits
//
// Functions named From and To copy; those named Into copy into an existing matrix. Those named Share
// and View do not copy: both sides use the same memory, on the CPU. Share makes an Array over
// gonum's memory, View a matrix over an Array's.
//
// Rules for shared memory:
//
//   - The memory is fixed: gpk writes it in place, and each side sees the other's
//     writes. gpk does not notice that gonum writes, and its operations start late: call gpk.Eval
//     on readers of shared memory before gonum writes there.
//   - Memory behind Share stays reachable as long as the Array, its views and pending operations
//     that read them. Free of such an Array does not touch gonum's memory.
//   - Memory behind View belongs to the Array and never returns to gpk's pool: the
//     matrix keeps its numbers when the Array is dropped or freed.
//   - The program must order goroutines that use the two sides.
//
// NewBLAS returns an implementation of BLAS for blas64.Use and cblas128.Use, with which packages mat
// and lapack multiply with gpk.
//
// Element types are not converted: package mat has float64 and complex128, and an Array of another
// type is gpk.ErrDType; the error names the Cast that helps.
//
// It is a separate package, so that programs that import only gpk do not import gonum.
package gonum

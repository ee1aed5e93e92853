// Package gonum carries matrices and vectors between gpk and gonum.org/v1/gonum:
// package mat, and the General and Vector of packages blas32, blas64, cblas64 and
// cblas128.
//
//	a := gonum.FromMat(m)                     // a copy, on the default device
//	d, err := gonum.ToMat(a.MatMul(a.T()))    // waits
//
// From and To copy; Into copies into a matrix that is there. Share and View do
// not copy: they name the same memory, on the CPU. Share makes an Array over
// gonum's memory, View a matrix over an Array's.
//
// What both sides of shared memory must know:
//
//   - The memory is fixed: gpk writes it where it is, and a write on either side is
//     seen by the other. gpk does not see what gonum writes, and starts late: gpk.Eval
//     what reads shared memory before gonum writes there.
//   - Memory behind Share lives as long as the Array, its views and what was
//     computed from them and has not started. Free of such an Array leaves
//     gonum's memory as it is.
//   - Memory behind View belongs to the Array, and never returns to gpk's pool: the
//     matrix keeps its numbers when the Array is dropped or freed.
//   - Nothing orders the goroutines of the two sides but the program.
//
// NewBLAS returns an implementation of BLAS for blas64.Use and cblas128.Use, with which
// packages mat and lapack multiply by gpk.
//
// Element types do not change on the way: package mat has float64 and
// complex128, and an Array of another type is gpk.ErrDType, with the Cast that
// helps.
//
// This package is apart from package gpk so that importing gpk does not bring
// gonum in.
package gonum

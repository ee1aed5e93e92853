// Package linalg factors matrices and solves systems of equations.
//
//	x := linalg.Solve(a, b)                      // A x = b
//	x := linalg.Solve(a, b, linalg.Positive)     // by Cholesky's factorization
//	u, s, vh := linalg.SVD(a)                    // A = U diag(s) V^H
//
// Every function takes stacks of matrices [..., rows, columns] of float32, float64, complex64 or complex128 on one
// device, with any strides. The results are new arrays on that device. Functions compute immediately, because their
// errors depend on the elements. As everywhere in gpk, the result carries an error to Err and to the boundary.
//
// Cholesky, LU, QR and triangular systems are blocked algorithms on products of full precision, in the matrices' own
// type. Eigh and SVD reduce a matrix to a real tridiagonal or bidiagonal form in its own type, and solve that in
// float64, also for float32, by divide and conquer; values without vectors come from gonum's implementation of LAPACK.
// Eig reduces a matrix to a triangular one by the QR method, in double precision and on the CPU.
//
// On a GPU, gpk's own kernels compute Cholesky and triangular systems. On Hopper they also compute LU and determinants
// of matrices with up to 8192 rows. NVIDIA's cuSOLVER computes everything else for matrices of more than 64 rows and
// columns, in the matrices' own type. Without a CUDA toolkit, `gpk setup -with cusolver` installs it. Otherwise panels
// or whole matrices are copied to the CPU, and the result is copied back. Explain of the result says where it was
// computed. Results may be transposed views.
//
// The functions mean the same as in numpy.linalg, with these differences: a right side with one axis is a vector and
// any other a stack of matrices, as in NumPy 2; SVD without Complete is the reduced one; NaN and Inf are errors that
// name the index; singular and indefinite matrices are errors that name the pivot or order and the batch member. NumPy
// computes float32 and complex64 in double precision and rounds the result, where gpk computes in the matrices' own
// type: for results as accurate as NumPy's, Cast the matrices to float64 or complex128 and the result back.
//
// What belongs here: factorizations, and functions computed from one. What does not: products (package matmul), norms
// of vectors (package gpk).
package linalg

// Package cusolver binds NVIDIA's cuSOLVER, which is opened at run time (internal/dynlib). A Call is one
// factorization, or one solution, of a stack of matrices in device memory. Run starts it on a stream.
//
// cuSOLVER's matrices are stored by columns: element (i, j) of a matrix is at i + j Ld. Package linalg
// chooses the functions and transposes its matrices.
package cusolver

// Package npy reads and writes arrays in NumPy's .npy and .npz formats (NumPy
// enhancement proposal 1; versions 1.0, 2.0 and 3.0 are read, 1.0 is written,
// 2.0 where a header needs it).
//
//	x, err := npy.ReadFile("train.npy")   // on the default device
//	err = npy.WriteFile("k.npy", k)
//
// Element types are those of gpk but bfloat16, which NumPy lacks: it is ErrDType
// both ways, and a file of ml_dtypes' bfloat16, to NumPy two bytes of anything
// (V2), is not guessed at. Cast to Float32, or astype, first. Files of either
// byte order are read; a file in Fortran's order gives a transposed view.
// Objects, strings, dates and structures are ErrUnsupported or ErrDType.
//
// A header is not believed: nothing is allocated beyond what the file's
// length, or what a stream has delivered so far, allows.
//
// This package is apart from package gpk, as every format is.
package npy

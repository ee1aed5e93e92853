// Package npy reads and writes arrays in NumPy's .npy and .npz formats (NumPy
// enhancement proposal 1; versions 1.0, 2.0 and 3.0 are read, 1.0 is written,
// 2.0 where a header needs it).
//
//	x, err := npy.ReadFile("train.npy")   // on the default device
//	y := npy.Load("train.npy").Mean(0)    // an error travels with the array
//	err = npy.WriteFile("k.npy", k)
//
// Element types are those of gpk except bfloat16, which NumPy lacks: it is ErrDType
// in both directions. A file of ml_dtypes' bfloat16 has NumPy's type V2, two bytes of anything,
// and is ErrDType too. Cast to Float32, or astype, first. Files of either
// byte order are read; a file in Fortran's order gives a transposed view.
// Objects, strings, dates and structures are ErrUnsupported or ErrDType.
//
// A header is not trusted: allocations are bounded by the file's
// length, or by what a stream has delivered so far.
//
// Every file format has its own package, apart from package gpk.
package npy

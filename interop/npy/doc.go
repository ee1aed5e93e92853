// Package npy reads and writes arrays in NumPy's .npy and .npz formats (NumPy enhancement
// proposal 1). It reads the versions 1.0, 2.0 and 3.0, and writes 1.0, or 2.0 if the header is
// long.
//
//	x, err := npy.ReadFile("train.npy")   // on the default device
//	y := npy.Load("train.npy").Mean(0)    // an error travels with the array
//	err = npy.WriteFile("k.npy", k)
//
// Element types are those of gpk except bfloat16, which NumPy lacks: it is ErrDType in both
// directions. A file of ml_dtypes' bfloat16 has NumPy's type V2, which is two untyped bytes,
// and is ErrDType too. Convert such arrays first, with Cast or NumPy's astype. Files of either
// byte order are read; a file in Fortran's order gives a transposed view. Objects, strings,
// dates and structures are ErrUnsupported or ErrDType.
//
// A header is not trusted: allocations are bounded by the length of the file, or by the number
// of bytes read from a stream so far.
//
// Every file format has its own package.
package npy

// Package cutlass holds gpk's CUDA kernels: their sources (src), the manifest
// that lists them once, and the loader of the library built from them.
//
// Kernels are one shared library with a C ABI, libgpk.so, which `gpk setup`
// (package cutlass/setup) builds on the user's machine and which Open finds and
// loads at run time, so that a program needs neither CUDA nor NVIDIA's headers
// to build, nor a GPU to start. src/gpk.h is the authority for every entry; the
// methods of Library are those entries one to one.
//
// Open loads nothing on trust: loading a damaged library kills the process, so
// size and SHA-256 are compared with the file that setup wrote beside it, and
// then the ABI version. A library that is there but cannot be used is passed
// over with its reason, which the error, or Library.Tried, lists.
//
// What belongs here: CUDA C++, the kernels' properties, calling them. What does
// not: devices, streams and memory (package device), and which kernel a
// problem gets (package matmul).
package cutlass

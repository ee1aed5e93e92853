// Package cutlass holds gpk's CUDA kernels: their sources (src), the manifest
// that lists them once, and the loader of the library built from them.
//
// Kernels are one shared library with a C ABI, libgpk.so, which `gpk setup`
// (package cutlass/setup) builds on the user's machine and which Open finds and
// loads at run time, so that a program needs neither CUDA nor NVIDIA's headers
// to build, nor a GPU to start. src/gpk.h is the authority for every entry; the
// methods of Library are those entries one to one.
//
// Loading a damaged library kills the process. So Open first compares the
// size and SHA-256 with the file that setup wrote beside the library, and
// then the ABI version. Open skips a library that cannot be used, and lists the
// reason in the error or in Library.Tried.
//
// What belongs here: CUDA C++, the kernels' properties, and their calls. What does
// not: devices, streams and memory (package device), and which kernel a
// problem gets (package matmul).
package cutlass

// Package cutlass has gpk's CUDA kernels: their sources (src), the manifest that lists each
// of them once, and the loader of the library built from them.
//
// The kernels are in a shared library with a C ABI, libgpk.so. `gpk setup` (package
// cutlass/setup) builds it on the user's machine, and Open finds and loads it at run time.
// So a program needs neither CUDA nor NVIDIA's headers to build, nor a GPU to start.
// src/gpk.h is the authority for every entry point; the methods of Library correspond to
// these one to one.
//
// Open verifies before it loads, because loading a damaged library kills the process. It
// compares size and SHA-256 with the file that setup wrote beside the library, and then the
// ABI version. A library that exists but cannot be used is skipped, and the error, or
// Library.Tried, has the reason.
//
// The package contains CUDA C++, the kernels' properties, and calls of kernels. It does not
// contain devices, streams and memory (package device), or the choice of the kernel for a
// problem (package matmul).
package cutlass

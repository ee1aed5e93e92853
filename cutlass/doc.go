// Package cutlass contains gpk's CUDA kernels: their sources (src), the manifest
// that lists them, and the loader of the library built from them.
//
// Kernels are one shared library with a C ABI, libgpk.so, which `gpk setup`
// (package cutlass/setup) builds on the user's machine and which Open finds and
// loads at run time, so that a program needs neither CUDA nor NVIDIA's headers
// to build, nor a GPU to start. src/gpk.h specifies every entry point; each method
// of Library calls one entry point.
//
// A companion is a further library of the kernel set, with the interface of
// device/kernels. Another package has its sources and launches its kernels:
// package quantum, of libgpk_quantum.so. setup builds companions beside
// libgpk.so, KernelSetHash covers their sources, and OpenCompanion loads them.
//
// Loading a damaged library kills the process. So Open first compares the
// size and SHA-256 with the file that setup wrote beside the library, and
// then the ABI version. Open skips a library that cannot be used, and lists the
// reason in the error or in Library.Tried.
//
// CUDA C++, the kernels' properties and their calls belong here. The sources of companions belong
// to the packages that launch their kernels (quantum/kernels), devices, streams and memory to
// package device, and the choice of a product's kernel to package matmul.
package cutlass

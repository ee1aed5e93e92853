// Package setup builds the kernel library libgpk.so on the user's machine. It implements
// `gpk setup`.
//
// Run takes the CUDA sources that are embedded in the program (package cutlass), finds nvcc
// or unpacks NVIDIA's wheels, gets CUTLASS from its wheel, compiles the translation units
// in parallel and links them into gpk's cache, where cutlass.Open looks.
//
// Results of long steps are cached by content and created atomically: objects are named by
// a hash of their whole input, wheels are unpacked into a temporary folder, and each gets
// its name by a rename. If Run is killed at any point, the next Run repairs or reuses what
// it left. A lock on the cache makes a second Run wait.
//
// The package contains everything between the sources and a checked library in the cache.
// It does not define which kernels exist (cutlass), load them (cutlass), or talk to the
// user beyond Options.Progress (cmd/gpk).
package setup

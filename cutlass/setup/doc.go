// Package setup builds the kernel library libgpk.so on the user's machine: what
// `gpk setup` does.
//
// Run takes the CUDA sources that the program carries (package cutlass), finds
// nvcc or unpacks NVIDIA's wheels, takes CUTLASS from its wheel, compiles the
// translation units side by side and links them into gpk's cache, where
// cutlass.Open looks.
//
// Whatever takes long is kept by content and made in one step: objects are
// named by a hash of everything that goes into them, wheels unpack into a
// temporary folder, and each appears under its name by a rename. Killed at any
// point, Run leaves nothing that the next Run does not mend or use. A lock on
// the cache makes a second Run wait.
//
// What belongs here: everything between the sources and a checked library in
// the cache. What does not: which kernels exist (cutlass), loading them
// (cutlass), talking to the user beyond Options.Progress (cmd/gpk).
package setup

// Package setup installs the kernel library libgpk.so and its companions on the user's
// machine. The command `gpk setup` calls it and passes the companions.
//
// Run downloads prebuilt kernels of a release if there are any. Otherwise it compiles: it reads
// the CUDA sources embedded in the program (package cutlass), finds
// nvcc or unpacks NVIDIA's wheels, unpacks CUTLASS from its wheel, compiles the
// translation units in parallel and links them into gpk's cache, where
// cutlass.Open looks.
//
// Results of slow steps are cached by content: objects are
// named by a hash of all their inputs, wheels unpack into a
// temporary folder, and each gets its final name by a rename. A Run that is killed at any
// point leaves only files that the next Run repairs or reuses. A lock on
// the cache makes a second Run wait.
//
// What belongs here: everything between the sources and a checked library in
// the cache. What does not: which kernels exist (cutlass), loading them
// (cutlass), output to the user beyond Options.Progress (cmd/gpk).
package setup

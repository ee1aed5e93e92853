// Package dynlib finds and opens shared libraries of the system that gpk uses where they are
// installed: NVRTC, cuFFT. A library is looked for in stated places and opened by its absolute
// path, after a check that the file is whole.
//
// A package that uses a library names it by a Library, opens it with Open, and binds its functions
// to typed pointers in the C part of a file of its own. That file carries the build tags of the
// CUDA side.
package dynlib

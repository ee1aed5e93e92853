// Package dynlib finds and opens optional shared libraries: NVRTC, cuFFT, cuSOLVER and NCCL. It
// searches a fixed list of places and opens a library by its absolute path, after it has checked that the
// file is complete.
//
// A package that uses a library describes it by an Opened, which opens the library once. The package binds the
// library's functions to typed pointers in the C part of a file of its own. That file has the build
// constraint of the CUDA files.
package dynlib

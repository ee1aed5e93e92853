// Package cufft binds NVIDIA's cuFFT, which is opened at run time (internal/dynlib), and keeps its
// plans. A plan takes the memory that it works in from the device's pool. Package fft says what
// is transformed.
package cufft

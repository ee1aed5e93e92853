// Package cufft binds NVIDIA's cuFFT, which is opened at run time (internal/dynlib), and caches its
// plans. A plan's workspace comes from the device's pool. Package fft describes the transforms.
package cufft

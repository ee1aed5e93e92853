// Package fft computes discrete Fourier transforms of arrays, along any axes and of any length.
//
//	y := fft.FFT(x)                             // along the last axis
//	y := fft.RFFT(x, fft.Axes(0), fft.Ortho)    // of real numbers, along axis 0
//	p := fft.FFT2(x, fft.N(256, 256))           // the last two axes, cropped or padded with zeros
//
// The transform of n elements is
//
//	X[k] = sum over j of x[j] e^(-2 pi i j k / n)
//
// and the inverse has e^(+2 pi i j k / n) and the factor 1/n. Norm selects the direction that has the
// factor. float32 and complex64 are computed in float32, float64 and complex128 in float64. On the CPU,
// lengths with prime factors up to 13 use a mixed-radix algorithm and others Bluestein's algorithm, so that
// every length n takes O(n log n) time. The relative error is of the order of eps log n (Higham, Accuracy
// and Stability of Numerical Algorithms, 2002, section 24.1).
//
// Transforms are pending like other operations. On a GPU they run in NVIDIA's cuFFT, up to three axes at
// once, if the library is installed with the CUDA toolkit or by `gpk setup -with cufft`, or named by
// GPK_CUFFT. Otherwise the elements are copied to the CPU and back. Explain says where the transform runs.
//
// The functions mean the same as in numpy.fft. Integers are ErrDType: Cast first.
//
// What belongs here: Fourier transforms, and convolution by them. What does not: signal processing, windows.
package fft

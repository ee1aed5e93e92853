package fft

import (
	"testing"

	"github.com/gpk-go/gpk/internal/niltest"
)

// TestNil calls everything with nil, with zero values and with numbers as far out as they go.
func TestNil(t *testing.T) {
	niltest.Run(t, niltest.Package{Functions: map[string]any{
		"FFT": FFT, "IFFT": IFFT, "FFT2": FFT2, "IFFT2": IFFT2, "FFTN": FFTN, "IFFTN": IFFTN, "RFFT": RFFT, "IRFFT": IRFFT, "RFFT2": RFFT2, "IRFFT2": IRFFT2,
		"RFFTN": RFFTN, "IRFFTN": IRFFTN, "HFFT": HFFT, "IHFFT": IHFFT, "FFTShift": FFTShift, "IFFTShift": IFFTShift, "FFTFreq": FFTFreq, "RFFTFreq": RFFTFreq,
		"Convolve": Convolve, "Correlate": Correlate, "N": N, "Axes": Axes,
	}})
}

package main

import (
	"fmt"
	"math"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/fft"
)

const (
	spectrumFrame = 1024
	spectrumHop   = 512
)

// spectrumProgram estimates the power of a signal at each frequency by Welch's
// method: the mean over frames that overlap by half, each tapered by Hann's
// window (Welch, IEEE Transactions on Audio and Electroacoustics 15 (1967) 70).
var spectrumProgram = userProgram{
	name: "spectral_power", types: []string{"fp32"}, size: 2048, bound32: 2e-6, bound64: 1e-13,
	outputs: []string{"power"},
	shape: func(n int) string {
		return fmt.Sprintf("frames=%d/frame=%d/hop=%d", n, spectrumFrame, spectrumHop)
	},
	make: func(p precision, n int) task {
		signal := centred(1, (n-1)*spectrumHop+spectrumFrame)
		x := upload(p.dtype, values{re: signal}, len(signal))
		return task{
			inputs: arrays{x},
			run:    func() []*gpk.Array { return []*gpk.Array{spectralPower(x)} },
			want:   func() [][]float64 { return [][]float64{wantSpectrum(signal, n)} },
		}
	},
	body: []string{"spectralPower"},
}

func spectralPower(x *gpk.Array) *gpk.Array {
	taper := gpk.Sub(0.5, gpk.Arange(x.DType(), spectrumFrame).Mul(2*math.Pi/spectrumFrame).Cos().Mul(0.5))
	frames := x.Windows(spectrumFrame, 0, spectrumHop)
	spectrum := fft.RFFT(frames.Mul(taper))
	return spectrum.AbsSquare().Mean(0).Div(taper.Square().Sum())
}

func wantSpectrum(x []float64, n int) []float64 {
	const m = spectrumFrame
	cos, taper := make([]float64, m), make([]float64, m)
	for i := range cos {
		cos[i] = math.Cos(2 * math.Pi * float64(i) / m)
		taper[i] = 0.5 - 0.5*cos[i]
	}
	frames := make([]float64, n*m)
	for i := range frames {
		frames[i] = x[i/m*spectrumHop+i%m] * taper[i%m]
	}
	power := make([]float64, m/2+1)
	parallel(len(power), func(k int) {
		for f := range n {
			re, im := 0.0, 0.0
			for j, v := range frames[f*m : (f+1)*m] {
				re += v * cos[j*k%m]
				im += v * cos[(j*k+m/4)%m] // -sin
			}
			power[k] += re*re + im*im
		}
		power[k] /= float64(n) * dot(taper, taper)
	})
	return power
}

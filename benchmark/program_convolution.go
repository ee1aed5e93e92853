package main

import (
	"fmt"

	"github.com/gpk-go/gpk"
)

const (
	convolutionImages   = 8
	convolutionChannels = 16
	convolutionFilters  = 32
	convolutionWindow   = 3
)

// convolutionProgram convolves images with filters as one product: each row of the left
// operand holds the elements of one window (im2col).
var convolutionProgram = userProgram{
	name: "convolution", types: []string{"fp32"}, size: 64, bound32: 2e-6, bound64: 1e-14,
	outputs: []string{"out"},
	shape: func(n int) string {
		return fmt.Sprintf("images=%d/channels=%d/side=%d/filters=%d/window=%d", convolutionImages, convolutionChannels, n, convolutionFilters, convolutionWindow)
	},
	make: func(p precision, n int) task {
		const b, c, f, k = convolutionImages, convolutionChannels, convolutionFilters, convolutionWindow
		images, filters := centred(1, b*c*n*n), centred(2, f*c*k*k)
		x, w := upload(p.dtype, values{re: images}, b, c, n, n), upload(p.dtype, values{re: filters}, f, c, k, k)
		return task{
			inputs: arrays{x, w},
			run:    func() []*gpk.Array { return []*gpk.Array{convolve(x, w, n)} },
			want:   func() [][]float64 { return [][]float64{wantConvolution(images, filters, n)} },
		}
	},
	body: []string{"convolve"},
}

func convolve(x, w *gpk.Array, n int) *gpk.Array {
	windows := x.Windows(convolutionWindow, 2).Windows(convolutionWindow, 3)
	columns := windows.Transpose(0, 2, 3, 1, 4, 5).Reshape(-1, convolutionChannels*convolutionWindow*convolutionWindow)
	out := columns.MatMul(w.Reshape(convolutionFilters, -1).T())
	return out.Reshape(convolutionImages, n-convolutionWindow+1, n-convolutionWindow+1, convolutionFilters).Transpose(0, 3, 1, 2)
}

func wantConvolution(x, w []float64, n int) []float64 {
	const b, c, f, k = convolutionImages, convolutionChannels, convolutionFilters, convolutionWindow
	side := n - k + 1
	out := make([]float64, b*f*side*side)
	parallel(b*f, func(plane int) {
		image, filter := plane/f, plane%f
		for channel := range c {
			for tap := range k * k {
				weight := w[(filter*c+channel)*k*k+tap]
				for row := range side {
					at := ((image*c+channel)*n+row+tap/k)*n + tap%k
					axpy(out[(plane*side+row)*side:][:side], weight, x[at:])
				}
			}
		}
	})
	return out
}

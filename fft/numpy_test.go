package fft

import (
	"math"
	"slices"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/numpytest"
)

// numpyCase is a line of testdata/numpy_fft.py. Complex numbers are pairs.
type numpyCase struct {
	Op               string
	Shape, WantShape []int
	Data, Want       []float64
	Axes, N          []int
	Norm             string
}

func (c *numpyCase) options() (o []Option) {
	if c.Norm != "" {
		o = append(o, Norm(slices.Index([]string{"backward", "ortho", "forward"}, c.Norm)))
	}
	if c.Axes != nil {
		o = append(o, Axes(c.Axes...))
	}
	if c.N != nil {
		o = append(o, N(c.N...))
	}
	return o
}

// numpyNames are the functions of NumPy that the script calls.
var numpyNames = map[string]func(x *gpk.Array, c *numpyCase) *gpk.Array{}

func init() {
	for name, f := range map[string]func(*gpk.Array, ...Option) *gpk.Array{
		"fft": FFT, "ifft": IFFT, "irfft": IRFFT, "hfft": HFFT, "fft2": FFT2, "ifft2": IFFT2, "irfft2": IRFFT2, "fftn": FFTN, "ifftn": IFFTN, "irfftn": IRFFTN,
	} {
		numpyNames[name] = func(x *gpk.Array, c *numpyCase) *gpk.Array { return f(x, c.options()...) }
	}
	for name, f := range map[string]func(*gpk.Array, ...Option) *gpk.Array{"rfft": RFFT, "ihfft": IHFFT, "rfft2": RFFT2, "rfftn": RFFTN} {
		numpyNames[name] = func(x *gpk.Array, c *numpyCase) *gpk.Array { return f(x.Real(), c.options()...) }
	}
	for name, f := range map[string]func(*gpk.Array, ...int) *gpk.Array{"fftshift": FFTShift, "ifftshift": IFFTShift} {
		numpyNames[name] = func(x *gpk.Array, c *numpyCase) *gpk.Array { return f(x, c.Axes...) }
		numpyNames[name+" all"] = numpyNames[name]
	}
	for name, f := range map[string]func(gpk.DType, int, float64) *gpk.Array{"fftfreq": FFTFreq, "rfftfreq": RFFTFreq} {
		numpyNames[name] = func(_ *gpk.Array, c *numpyCase) *gpk.Array { return f(gpk.Float64, c.N[0], c.Data[0]) }
	}
	for name, f := range map[string]func(a, b *gpk.Array, m Mode) *gpk.Array{"convolve": Convolve, "correlate": Correlate} {
		numpyNames[name] = func(x *gpk.Array, c *numpyCase) *gpk.Array {
			real := true
			for i := 1; i < len(c.Data); i += 2 {
				real = real && c.Data[i] == 0
			}
			if real {
				x = x.Real()
			}
			return f(x.Slice(0, 0, c.N[0]), x.Slice(0, c.N[0], x.Size()), Mode(c.N[1]))
		}
	}
}

// complexes returns pairs of numbers as complex ones.
func complexes(pairs []float64) []complex128 {
	var list []complex128
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, complex(pairs[i], pairs[i+1]))
	}
	return list
}

// TestNumPy compares with NumPy, by 200 random calls of each function on operands that lie dense and
// transposed; package numpytest says with which variables.
func TestNumPy(t *testing.T) {
	count, cases := map[string]int{}, numpytest.Cases(t, 200)
	numpytest.Each(t, "testdata/numpy_fft.py", cases, func(c *numpyCase) {
		call := numpyNames[c.Op]
		if call == nil {
			t.Fatalf("nothing is called for %s", c.Op)
		}
		count[c.Op]++
		x := gpk.FromSlice(complexes(c.Data), c.Shape...)
		want := complexes(c.Want)
		for _, x := range []*gpk.Array{x, x.T().Contiguous().T()} {
			a := call(x, c)
			got := elements(t, a)
			if !slices.Equal(a.Shape(), c.WantShape) {
				t.Fatalf("%s of %v, %v %v: shape %v, want %v", c.Op, c.Shape, c.Axes, c.N, a.Shape(), c.WantShape)
			}
			// Both have errors of a few eps of the norms.
			tolerance := 1e-14 * (norm(want) + norm(complexes(c.Data)))
			for i, w := range want {
				if d := got[i] - w; !(math.Hypot(real(d), imag(d)) <= tolerance) {
					t.Fatalf("%s of %v, axes %v, lengths %v, %s: element %d is %v, want %v", c.Op, c.Shape, c.Axes, c.N, c.Norm, i, got[i], w)
				}
			}
		}
	})
	for op := range numpyNames {
		want := cases
		if op == "convolve" || op == "correlate" {
			want = 3 * count["fft"]
		}
		if count[op] != want {
			t.Errorf("%d calls of %s, want %d", count[op], op, want)
		}
	}
}

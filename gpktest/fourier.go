package gpktest

import (
	"fmt"
	"math"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/fft"
	"github.com/gpk-go/gpk/internal/devicetest"
)

// transforms lists the transforms by name; real is set for those that read real numbers only.
var transforms = []struct {
	name string
	axes int // -1: any number
	real bool
	f    func(*gpk.Array, ...fft.Option) *gpk.Array
}{
	{"FFT", 1, false, fft.FFT},
	{"IFFT", 1, false, fft.IFFT},
	{"FFT2", 2, false, fft.FFT2},
	{"IFFT2", 2, false, fft.IFFT2},
	{"FFTN", -1, false, fft.FFTN},
	{"IFFTN", -1, false, fft.IFFTN},
	{"RFFT", 1, true, fft.RFFT},
	{"RFFT2", 2, true, fft.RFFT2},
	{"RFFTN", -1, true, fft.RFFTN},
	{"IRFFT", 1, false, fft.IRFFT},
	{"IRFFT2", 2, false, fft.IRFFT2},
	{"IRFFTN", -1, false, fft.IRFFTN},
	{"HFFT", 1, false, fft.HFFT},
	{"IHFFT", 1, true, fft.IHFFT},
}

// fourierLengths lists lengths of axes: small and large primes, powers, products, and 1.
var fourierLengths = []int{1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 31, 36, 49, 64, 101, 127, 128}

// testFourierForms compares random transforms of strided, cropped and padded arrays with those of the
// CPU, in complex128. The operand keeps its elements. The bound is that of Higham 2002, theorem 24.2,
// with a factor for lengths with large primes; it is relative to the norm of the result.
func testFourierForms(t *testing.T, s *suite) {
	cpu := devicetest.CPU(t)
	for range rounds(400, 60) {
		f := transforms[s.rng.IntN(len(transforms))]
		dt := []gpk.DType{gpk.Float32, gpk.Float64, gpk.Complex64, gpk.Complex128}[s.rng.IntN(4)]
		if f.real {
			dt = dt.Real()
		}
		a := s.fourierOperand(dt, max(1, f.axes))
		opts, what := s.fourierOptions(f.axes, a.NDim())
		name := fmt.Sprintf("%s of %v %v %s", f.name, dt, a.Shape(), what)
		before := a.Clone()
		got := f.f(a, opts...)
		wide := gpk.Float64
		if dt.IsComplex() {
			wide = gpk.Complex128
		}
		want := f.f(a.To(cpu).Cast(wide), opts...)
		x, err := gpk.ToSlice[complex128](got.Cast(gpk.Complex128))
		if err != nil {
			y, again := gpk.ToSlice[complex128](want.Cast(gpk.Complex128))
			if again == nil {
				t.Errorf("%s: %v; the CPU has %d elements", name, err, len(y))
			}
			continue
		}
		y, err := gpk.ToSlice[complex128](want.Cast(gpk.Complex128))
		if err != nil {
			t.Errorf("%s: the CPU has %v", name, err)
			continue
		}
		eps := 0x1p-53
		if dt.Real() == gpk.Float32 {
			eps = 0x1p-24
		}
		if bound := 7 * 3 * 24 * eps; len(x) != len(y) || len(x) > 0 && !(apart(x, y) <= bound) {
			t.Errorf("%s: %g, the bound is %g\n%s", name, apart(x, y), bound, got.Explain())
		}
		bitsEqual(t, name+": the operand", a, before)
	}
}

// fourierOperand returns a random array of at least n axes, which may be a view with strides.
func (s *suite) fourierOperand(dt gpk.DType, n int) *gpk.Array {
	shape := make([]int, n+s.rng.IntN(3))
	size := 1
	for i := range shape {
		shape[i] = fourierLengths[s.rng.IntN(len(fourierLengths))]
		if size*shape[i] > 1<<16 {
			shape[i] = 1 + s.rng.IntN(3)
		}
		size *= shape[i]
	}
	r := gpk.NewRNG(s.rng.Uint64())
	normal := func(shape ...int) *gpk.Array {
		x := r.Normal(dt.Real(), 0, 1, shape...).Cast(dt)
		if dt.IsComplex() {
			x = x.Add(r.Normal(dt.Real(), 0, 1, shape...).Cast(dt).Mul(complex(0, 1)))
		}
		return x
	}
	switch s.rng.IntN(5) {
	case 0: // every second element of the last axis, from an odd address on
		shape[len(shape)-1] = 2*shape[len(shape)-1] + 1
		return normal(shape...).Slice(-1, 1, shape[len(shape)-1], 2)
	case 1:
		return normal(shape...).T()
	case 2: // rows that begin anywhere
		shape[len(shape)-1]++
		return normal(shape...).Slice(-1, 1, shape[len(shape)-1])
	case 3:
		shape[0]++
		return normal(shape...).Slice(0, 1, shape[0])
	}
	return normal(shape...)
}

// fourierOptions returns random options for a transform along n axes of ndim: norm, axes, lengths.
func (s *suite) fourierOptions(n, ndim int) (opts []fft.Option, what string) {
	norm := fft.Norm(s.rng.IntN(3))
	opts = append(opts, norm)
	if n < 0 {
		n = 1 + s.rng.IntN(ndim)
	}
	axes := s.rng.Perm(ndim)[:n]
	opts, what = append(opts, fft.Axes(axes...)), fmt.Sprintf("norm %d axes %v", norm, axes)
	if s.rng.IntN(3) == 0 {
		lengths := make([]int, n)
		for i := range lengths {
			lengths[i] = fourierLengths[s.rng.IntN(len(fourierLengths))]
			if i > 1 {
				lengths[i] = 1 + s.rng.IntN(4)
			}
		}
		opts, what = append(opts, fft.N(lengths...)), what+fmt.Sprint(" lengths ", lengths)
	}
	return opts, what
}

// testFourierGraph records transforms, whose plans are made while the graph is recorded, and replays
// them on new elements.
func testFourierGraph(t *testing.T, s *suite) {
	if s.dev.Kind() != device.CPU {
		if y := fft.FFT(gpk.Zeros(gpk.Complex64, 8)); y.Err() == nil && strings.Contains(y.Explain(), "fallback") {
			t.Skipf("transforms on the CPU cannot be recorded: %s", y.Explain())
		}
	}
	r := gpk.NewRNG(s.rng.Uint64())
	x := r.Normal(gpk.Float32, 0, 1, 6, 1000)
	spectra := func(in []*gpk.Array) []*gpk.Array {
		y := fft.RFFT(in[0])
		return []*gpk.Array{y.Abs(), fft.IRFFT(y.Mul(0.5), fft.N(1000))}
	}
	g, err := gpk.Capture([]*gpk.Array{x}, spectra)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Free()
	for range 3 {
		next := r.Normal(gpk.Float32, 0, 1, 6, 1000)
		if err := gpk.Into(x, next); err != nil {
			t.Fatal(err)
		}
		if err := g.Replay(); err != nil {
			t.Fatal(err)
		}
		want := spectra([]*gpk.Array{next})
		for i, y := range g.Outputs() {
			bitsEqual(t, fmt.Sprint("output ", i), y, want[i])
		}
		back, err := gpk.ToSlice[float32](g.Outputs()[1])
		if err != nil {
			t.Fatal(err)
		}
		in, err := gpk.ToSlice[float32](next)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range in {
			if math.Abs(float64(back[i]-v/2)) > 1e-5 {
				t.Fatalf("element %d is %g after both transforms, want %g", i, back[i], v/2)
			}
		}
	}
}

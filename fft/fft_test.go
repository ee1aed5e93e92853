package fft

import (
	"errors"
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/bigmath"
	"github.com/gpk-go/gpk/internal/testrand"
)

func TestMain(m *testing.M) {
	d, err := device.Open("cpu")
	if err != nil {
		panic(err)
	}
	device.SetDefault(d)
	m.Run()
}

var types = []gpk.DType{gpk.Float32, gpk.Float64, gpk.Complex64, gpk.Complex128}

func eps(dt gpk.DType) float64 {
	if dt.Real() == gpk.Float32 {
		return 0x1p-24
	}
	return 0x1p-53
}

// definition returns the transform by its formula, with compensated sums (Kahan) and angles reduced
// in integers.
func definition(x []complex128, sign float64) []complex128 {
	n := len(x)
	roots := make([]complex128, n)
	for i := range roots {
		s, c := math.Sincos(sign * 2 * math.Pi * float64(i) / float64(n))
		roots[i] = complex(c, s)
	}
	y := make([]complex128, n)
	for k := range y {
		var sum, lost complex128
		at := 0
		for _, v := range x {
			term := v*roots[at] - lost
			if at += k; at >= n { // j k modulo n
				at -= n
			}
			next := sum + term
			lost = next - sum - term
			sum = next
		}
		y[k] = sum
	}
	return y
}

func norm(x []complex128) float64 {
	s := 0.0
	for _, v := range x {
		s += real(v)*real(v) + imag(v)*imag(v)
	}
	return math.Sqrt(s)
}

func draw(r *rand.Rand, dt gpk.DType, n int) []complex128 {
	x := make([]complex128, n)
	for i := range x {
		re, im := r.NormFloat64(), 0.0
		if dt.IsComplex() {
			im = r.NormFloat64()
		}
		x[i] = complex(re, im)
		if dt.Real() == gpk.Float32 {
			x[i] = complex128(complex64(x[i]))
		}
	}
	return x
}

// elements returns an array's elements in complex128.
func elements(t *testing.T, a *gpk.Array) []complex128 {
	t.Helper()
	x, err := gpk.ToSlice[complex128](a.Cast(gpk.Complex128))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// limit returns the bound of the error relative to the norm of the result: Higham 2002, theorem
// 24.2, gives log2(n) eta for powers of two with eta about 7 eps; Bluestein's algorithm has three
// transforms of up to 4 n elements, and products between them. The error of the definition is
// added.
func limit(dt gpk.DType, n int) float64 {
	stages := math.Log2(float64(n)) + 1
	for _, p := range []int{2, 3, 5, 7, 11, 13} {
		for n%p == 0 {
			n /= p
		}
	}
	if n > 1 {
		stages = 3 * (stages + 2)
	}
	return 7*stages*eps(dt) + 4*0x1p-53*stages
}

// TestDefinition compares all lengths up to 64, primes, and lengths of each radix with the formula.
func TestDefinition(t *testing.T) {
	r := testrand.New(t)
	lengths := []int{97, 101, 127, 169, 243, 256, 257, 343, 375, 480, 509, 735, 750, 1000, 1155}
	for n := 1; n <= 64; n++ {
		lengths = append(lengths, n)
	}
	norms := map[Norm]func(n int) (forward, inverse float64){
		Backward: func(n int) (float64, float64) { return 1, 1 / float64(n) },
		Ortho:    func(n int) (float64, float64) { return 1 / math.Sqrt(float64(n)), 1 / math.Sqrt(float64(n)) },
		Forward:  func(n int) (float64, float64) { return 1 / float64(n), 1 },
	}
	for _, n := range lengths {
		for _, dt := range types {
			x := draw(r, dt, n)
			a := gpk.FromSlice(x).Cast(dt)
			check := func(what string, got *gpk.Array, want []complex128, scale float64) {
				t.Helper()
				y := elements(t, got)
				if len(y) != len(want) {
					t.Fatalf("%s of %d %v: %d elements, want %d", what, n, dt, len(y), len(want))
				}
				var diff []complex128
				for k, v := range y {
					diff = append(diff, v-want[k]*complex(scale, 0))
				}
				if e, size := norm(diff), scale*norm(want); !(e <= limit(dt, n)*size) {
					t.Errorf("%s of %d %v: error %g, the bound is %g", what, n, dt, e/size, limit(dt, n))
				}
			}
			y, z := definition(x, -1), definition(x, 1)
			for norm, factor := range norms {
				f, i := factor(n)
				check("FFT", FFT(a, norm), y, f)
				check("IFFT", IFFT(a, norm), z, i)
				if dt.IsComplex() {
					continue
				}
				check("RFFT", RFFT(a, norm), y[:n/2+1], f)
				half := gpk.FromSlice(y[:n/2+1]).Cast(complexOf(dt))
				check("IRFFT", IRFFT(half, N(n), norm), x, i*float64(n))
				conj := slices.Clone(y)
				for k, v := range conj {
					conj[k] = cmplx.Conj(v)
				}
				check("IHFFT", IHFFT(a, norm), conj[:n/2+1], i)
				check("HFFT", HFFT(gpk.FromSlice(conj[:n/2+1]).Cast(complexOf(dt)), N(n), norm), x, f*float64(n))
			}
		}
	}
}

// TestRoots compares the roots of unity with big floats.
func TestRoots(t *testing.T) {
	r := testrand.New(t)
	for range 300 {
		n := 1 + r.IntN(1<<uint(1+r.IntN(30)))
		k := r.IntN(n)
		angle := bigmath.Mul(bigmath.Quo(bigmath.Of(-2*float64(k)), bigmath.Of(float64(n))), bigmath.Pi())
		s, c := bigmath.Sin(angle, 0), bigmath.Sin(angle, 1)
		sin, _ := s.Float64()
		cos, _ := c.Float64()
		got := root(k, n)
		if e := cmplx.Abs(got - complex(cos, sin)); !(e <= 4*0x1p-53) {
			t.Errorf("e^(-2 pi i %d/%d) is %v, want %v: %g", k, n, got, complex(cos, sin), e)
		}
	}
}

// TestParseval: |X|^2 = n |x|^2, and the inverse gives the line back, for long lines.
func TestParseval(t *testing.T) {
	r := testrand.New(t)
	for _, n := range []int{1 << 16, 3 << 14, 65521, 30030, 50000, 99999} {
		for _, dt := range types {
			x := draw(r, dt, n)
			a := gpk.FromSlice(x).Cast(dt)
			y := FFT(a)
			got, want := norm(elements(t, y)), math.Sqrt(float64(n))*norm(x)
			if !(math.Abs(got/want-1) <= limit(dt, n)) {
				t.Errorf("%d %v: |X| is %v, want %v", n, dt, got, want)
			}
			back := elements(t, IFFT(y))
			for i := range back {
				back[i] -= x[i]
			}
			if e := norm(back) / norm(x); !(e <= 2*limit(dt, n)) {
				t.Errorf("%d %v: the inverse is off by %g", n, dt, e)
			}
			if dt.IsComplex() {
				continue
			}
			back = elements(t, IRFFT(RFFT(a), N(n)))
			for i := range back {
				back[i] -= x[i]
			}
			if e := norm(back) / norm(x); !(e <= 2*limit(dt, n)) {
				t.Errorf("%d %v: the inverse of RFFT is off by %g", n, dt, e)
			}
		}
	}
}

// TestErrors checks that arrays that cannot be transformed are errors on the line of the call, with
// the right sentinel.
func TestErrors(t *testing.T) {
	x := gpk.Zeros(gpk.Float32, 3, 4)
	for what, c := range map[string]struct {
		a    *gpk.Array
		want error
	}{
		"integers":        {FFT(gpk.Zeros(gpk.Int32, 4)), gpk.ErrDType},
		"halves":          {FFT(gpk.Zeros(gpk.Float16, 4)), gpk.ErrDType},
		"complex RFFT":    {RFFT(gpk.Zeros(gpk.Complex64, 4)), gpk.ErrDType},
		"0-d":             {FFT(gpk.Zeros(gpk.Float32)), gpk.ErrShape},
		"0-d FFTN":        {FFTN(gpk.Zeros(gpk.Float32)), gpk.ErrShape},
		"1-d FFT2":        {FFT2(gpk.Zeros(gpk.Float32, 4)), gpk.ErrShape},
		"no elements":     {FFT(gpk.Zeros(gpk.Float32, 3, 0)), gpk.ErrShape},
		"length 0":        {FFT(x, N(0)), gpk.ErrShape},
		"IRFFT of one":    {IRFFT(gpk.Zeros(gpk.Complex64, 1)), gpk.ErrShape},
		"two lengths":     {FFT(x, N(2, 2)), gpk.ErrShape},
		"axis outside":    {FFT(x, Axes(2)), gpk.ErrShape},
		"axis twice":      {FFT2(x, Axes(1, -1)), gpk.ErrShape},
		"no axes":         {FFTN(x, Axes()), gpk.ErrShape},
		"a norm":          {FFT(x, Norm(7)), gpk.ErrUnsupported},
		"nil option":      {FFT(x, nil), gpk.ErrUnsupported},
		"shift outside":   {FFTShift(x, 2), gpk.ErrShape},
		"no frequencies":  {FFTFreq(gpk.Float64, 0, 1), gpk.ErrShape},
		"frequency type":  {RFFTFreq(gpk.Int32, 4, 1), gpk.ErrDType},
		"a mode":          {Convolve(x, x, Mode(9)), gpk.ErrUnsupported},
		"nothing to fold": {Convolve(gpk.Zeros(gpk.Float32, 0), x, Full), gpk.ErrShape},
	} {
		if err := c.a.Err(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
			continue
		}
		var e *gpk.OpError
		if !errors.As(c.a.Err(), &e) || e.Site == "" || e.Site[:8] != "fft/fft_" {
			t.Errorf("%s: no line of this file: %v", what, c.a.Err())
		}
	}
	if got := fmt.Sprint(FFT(gpk.Zeros(gpk.Float32, 0, 4)).Shape()); got != "[0 4]" {
		t.Errorf("no lines: %s", got)
	}
}

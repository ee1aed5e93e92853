package main

import (
	"math"
	"math/rand/v2"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/fft"
)

var fourierList = []batchCase{
	{"fft", "c64", 1, 1 << 24},
	{"fft", "c64", 4096, 4096},
	{"fft", "c64", 65536, 256},
	{"fft", "c64", 1024, 10007},
	{"ifft", "c64", 4096, 4096},
	{"fft2", "c64", 1, 4096},
	{"rfft", "fp32", 4096, 4096},
	{"irfft", "fp32", 4096, 4096},
	{"fft", "c128", 4096, 4096},
}

// fourierOps are the transforms, with which part of x they read and write of a line.
var fourierOps = map[string]struct {
	call    func(x *gpk.Array, n int) *gpk.Array
	in, out func(n int) int
	want    func(x values, n, k int) complex128
}{
	"fft":   {func(x *gpk.Array, _ int) *gpk.Array { return fft.FFT(x) }, whole, whole, wantFourier},
	"ifft":  {func(x *gpk.Array, _ int) *gpk.Array { return fft.IFFT(x) }, whole, whole, wantInverse},
	"fft2":  {func(x *gpk.Array, _ int) *gpk.Array { return fft.FFT2(x) }, squared, squared, wantFourier2},
	"rfft":  {func(x *gpk.Array, _ int) *gpk.Array { return fft.RFFT(x) }, whole, halved, wantFourier},
	"irfft": {func(x *gpk.Array, n int) *gpk.Array { return fft.IRFFT(x, fft.N(n)) }, halved, whole, wantRealInverse},
}

func whole(n int) int   { return n }
func squared(n int) int { return n * n }
func halved(n int) int  { return n/2 + 1 }

// term returns element j of a line times e^(i angle).
func term(x values, j int, angle float64) complex128 {
	sin, cos := math.Sincos(angle)
	im := 0.0
	if x.im != nil {
		im = x.im[j]
	}
	return complex(x.re[j], im) * complex(cos, sin)
}

// turnOf returns 2 pi j k / n, with j k first reduced modulo n.
func turnOf(j, k, n int) float64 { return 2 * math.Pi * float64(j*k%n) / float64(n) }

func wantFourier(x values, n, k int) (s complex128) {
	for j := range n {
		s += term(x, j, -turnOf(j, k, n))
	}
	return s
}

func wantInverse(x values, n, k int) (s complex128) {
	for j := range n {
		s += term(x, j, turnOf(j, k, n))
	}
	return s / complex(float64(n), 0)
}

func wantFourier2(x values, n, k int) (s complex128) {
	for i := range n {
		for j := range n {
			s += term(x, i*n+j, -turnOf(i, k/n, n)-turnOf(j, k%n, n))
		}
	}
	return s
}

// wantRealInverse is for even n: only the real parts of the first and the last element count.
func wantRealInverse(x values, n, k int) complex128 {
	s := x.re[0] + x.re[n/2]*math.Cos(turnOf(n/2, k, n))
	for j := 1; j < n/2; j++ {
		s += 2 * real(term(x, j, turnOf(j, k, n)))
	}
	return complex(s/float64(n), 0)
}

// fourierCases are transforms of contiguous arrays. -sizes is the even length of all of them, in small
// batches.
func fourierCases(o options, _ bool) ([]benchCase, error) {
	return batchCases(o, "fft", "FFT", fourierList, batchCase.measureFourier)
}

// fourierSamples is the number of results that are compared with sums in float64.
const fourierSamples = 12

func (c batchCase) measureFourier(r *runner) ([]result, error) {
	op, p := fourierOps[c.op], mustPrecision(c.dtype)
	in, from := op.in(c.n), p
	if c.op == "irfft" {
		from = mustPrecision("c64")
	}
	h := from.random(r.seed, 1, c.batch*in, normal)
	x := upload(from.dtype, h, c.batch, in)
	if c.op == "fft2" {
		x = x.Reshape(c.batch, c.n, c.n)
	}
	var as arrays
	defer func() { as.free() }()
	as.keep(x)
	y := as.keep(op.call(x, c.n))
	rng := rand.New(rand.NewPCG(r.seed, 2))
	var lines, ks []int
	var want values
	for range fourierSamples {
		b, k := rng.IntN(c.batch), rng.IntN(op.out(c.n))
		line := values{re: h.re[b*in : (b+1)*in]}
		if h.im != nil {
			line.im = h.im[b*in : (b+1)*in]
		}
		v := op.want(line, c.n, k)
		lines, ks = append(lines, b), append(ks, k)
		want.re, want.im = append(want.re, real(v)), append(want.im, imag(v))
	}
	if !y.DType().IsComplex() {
		want.im = nil
	}
	outs := make([]*gpk.Array, min(2, r.sets(2*bytesOf(from.dtype, c.batch*in))))
	ins := make([]*gpk.Array, len(outs))
	for i := range outs {
		outs[i], ins[i] = as.keep(poisoned(y.DType(), y.Shape()...)), x
		if i > 0 {
			ins[i] = as.keep(x.Clone())
		}
	}
	if err := gpk.Eval(as...); err != nil {
		return nil, err
	}
	for i := range ins {
		ins[i] = ins[i].On(r.stream)
	}
	// 5 n log2 n is the conventional operation count of a transform, whatever its algorithm.
	n := float64(in)
	return r.time(trial{
		sets: len(outs),
		call: func(i int) error { return gpk.Into(outs[i], op.call(ins[i], c.n)) },
		check: func(i int) (deviation, error) {
			var got values
			flat := outs[i].Reshape(-1)
			for s, b := range lines {
				at := b*op.out(c.n) + ks[s]
				v, err := download(flat.Slice(0, at, at+1))
				if err != nil {
					return deviation{}, err
				}
				got.re, got.im = append(got.re, v.re...), append(got.im, v.im...)
			}
			return deviationOf(got, want), nil
		},
	}, work{5 * float64(c.batch) * n * math.Log2(n), "GFLOP/s"}, p)
}

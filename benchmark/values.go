package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/x448/float16"
)

// values are elements on the host, widened: real parts and, of complex types
// only, imaginary parts. What goes to a device is exact in its element type,
// so that a reference computed from values starts from the same numbers.
type values struct{ re, im []float64 }

// distribution draws one value.
type distribution func(*rand.Rand) float64

func normal(r *rand.Rand) float64  { return r.NormFloat64() }
func uniform(r *rand.Rand) float64 { return r.Float64() }

// spread is normal times 2^e, e uniform in -12 .. 11: rows whose elements
// differ by many binades, which a scaled split has trouble with.
func spread(r *rand.Rand) float64 { return math.Ldexp(r.NormFloat64(), r.IntN(24)-12) }

// random returns n elements rounded to p's type. They depend on the seed, the
// stream and n alone, not on the number of processors.
func (p precision) random(seed, stream uint64, n int, draw distribution) values {
	v := values{re: p.fill(seed, 2*stream, n, draw)}
	if p.dtype.IsComplex() {
		v.im = p.fill(seed, 2*stream+1, n, draw)
	}
	return v
}

func (p precision) fill(seed, stream uint64, n int, draw distribution) []float64 {
	const chunk = 1 << 16
	out := make([]float64, n)
	parallel((n+chunk-1)/chunk, func(c int) {
		r := rand.New(rand.NewPCG(seed, stream<<32|uint64(c)))
		for i := c * chunk; i < min(n, (c+1)*chunk); i++ {
			out[i] = p.round(p.unit() * draw(r))
		}
	})
	return out
}

// parallel runs f(0) … f(n-1) on all processors.
func parallel(n int, f func(i int)) {
	workers := min(n, runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				f(i)
			}
		})
	}
	wg.Wait()
}

// upload makes an array of type dt on the default device.
func upload(dt dtype.DType, v values, shape ...int) *gpk.Array {
	switch dt {
	case dtype.Float32:
		return gpk.FromSlice(convert(v.re, func(x float64) float32 { return float32(x) }), shape...)
	case dtype.Float64:
		return gpk.FromSlice(v.re, shape...)
	case dtype.Float16:
		return gpk.FromSlice(convert(v.re, func(x float64) float16.Float16 { return float16.Fromfloat32(float32(x)) }), shape...)
	case dtype.BFloat16:
		return gpk.FromSlice(convert(v.re, func(x float64) bfloat16.BFloat16 { return bfloat16.FromFloat32(float32(x)) }), shape...)
	case dtype.Int8:
		return gpk.FromSlice(convert(v.re, func(x float64) int8 { return int8(x) }), shape...)
	case dtype.Complex64:
		return gpk.FromSlice(pairs(v, func(re, im float64) complex64 { return complex(float32(re), float32(im)) }), shape...)
	case dtype.Complex128:
		return gpk.FromSlice(pairs(v, func(re, im float64) complex128 { return complex(re, im) }), shape...)
	}
	panic(fmt.Sprintf("benchmark: no precision has elements of %v", dt))
}

// download waits for a and returns its elements, row-major.
func download(a *gpk.Array) (values, error) {
	switch a.DType() {
	case dtype.Float32:
		return widened(a, func(x float32) float64 { return float64(x) })
	case dtype.Float64:
		return widened(a, func(x float64) float64 { return x })
	case dtype.Float16:
		return widened(a, func(x float16.Float16) float64 { return float64(x.Float32()) })
	case dtype.BFloat16:
		return widened(a, func(x bfloat16.BFloat16) float64 { return float64(x.Float32()) })
	case dtype.Int32:
		return widened(a, func(x int32) float64 { return float64(x) })
	case dtype.Complex64:
		return parted(a, func(x complex64) complex128 { return complex128(x) })
	case dtype.Complex128:
		return parted(a, func(x complex128) complex128 { return x })
	}
	if err := a.Err(); err != nil {
		return values{}, err
	}
	return values{}, fmt.Errorf("benchmark: a product of elements of %v was not expected", a.DType())
}

func convert[T any](in []float64, f func(float64) T) []T {
	out := make([]T, len(in))
	for i, x := range in {
		out[i] = f(x)
	}
	return out
}

func pairs[T any](v values, f func(re, im float64) T) []T {
	out := make([]T, len(v.re))
	for i, re := range v.re {
		out[i] = f(re, v.im[i])
	}
	return out
}

func widened[T dtype.Elem](a *gpk.Array, f func(T) float64) (values, error) {
	s, err := gpk.ToSlice[T](a)
	v := values{re: make([]float64, len(s))}
	for i, x := range s {
		v.re[i] = f(x)
	}
	return v, err
}

func parted[T dtype.Elem](a *gpk.Array, f func(T) complex128) (values, error) {
	s, err := gpk.ToSlice[T](a)
	v := values{re: make([]float64, len(s)), im: make([]float64, len(s))}
	for i, x := range s {
		c := f(x)
		v.re[i], v.im[i] = real(c), imag(c)
	}
	return v, err
}

// poisoned returns an array that no right result equals: NaN, of integers a
// number out of the product's range.
func poisoned(dt dtype.DType, shape ...int) *gpk.Array {
	switch {
	case dt.IsComplex():
		return gpk.Full(dt, complex(math.NaN(), math.NaN()), shape...)
	case dt.IsInteger():
		return gpk.Full(dt, math.MinInt32, shape...)
	}
	return gpk.Full(dt, math.NaN(), shape...)
}

// arrays are freed together when a case is over.
type arrays []*gpk.Array

// keep notes an array and returns it.
func (as *arrays) keep(a *gpk.Array) *gpk.Array {
	*as = append(*as, a)
	return a
}

func (as arrays) free() {
	for _, a := range as {
		a.Free()
	}
}

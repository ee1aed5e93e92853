package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dtype"
)

// values are the elements of an array on the host, converted to float64: real parts and,
// only for complex types, imaginary parts. Elements copied to a device are exact in the
// array's type, so a reference computed from values starts from the same numbers.
type values struct{ re, im []float64 }

// distribution draws one value.
type distribution func(*rand.Rand) float64

func normal(r *rand.Rand) float64  { return r.NormFloat64() }
func uniform(r *rand.Rand) float64 { return r.Float64() }

// spread returns a normal number times 2^e, with e uniform in -12 .. 11. The elements of
// a row differ by many binades, which is difficult for a scaled split.
func spread(r *rand.Rand) float64 { return math.Ldexp(r.NormFloat64(), r.IntN(24)-12) }

// random returns n random elements rounded to p's type. They depend only on the seed, the
// stream and n, not on the number of processors.
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
	c, ok := codecs[dt]
	if !ok {
		panic(fmt.Sprintf("benchmark: no precision has elements of %v", dt))
	}
	return c.upload(v, shape)
}

// download waits for a and returns its elements, row-major.
func download(a *gpk.Array) (values, error) {
	if c, ok := codecs[a.DType()]; ok {
		return c.download(a)
	}
	if err := a.Err(); err != nil {
		return values{}, err
	}
	return values{}, fmt.Errorf("benchmark: a product of elements of %v was not expected", a.DType())
}

// poisoned returns an array whose elements no correct result has: NaN or, for integers,
// a number that no product reaches.
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

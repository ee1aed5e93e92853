package cpu

import (
	"fmt"
	"math"
	"math/big"
	"math/cmplx"
	"runtime"
	"slices"
	"testing"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/testrand"
)

// sums sums terms in order: exactly for integers, otherwise in compensated float64 (Kahan). It also sums
// the absolute values.
type sums struct {
	c, rest complex128
	abs     float64
	i       big.Int
}

func (s *sums) add(v any) {
	switch v := v.(type) {
	case float64:
		s.add(complex(v, 0))
	case complex128:
		s.abs += cmplx.Abs(v)
		y := v - s.rest
		t := s.c + y
		s.rest = (t - s.c) - y
		s.c = t
	default:
		s.i.Add(&s.i, bigOf(v))
	}
}

func TestSum(t *testing.T) {
	rng := testrand.New(t)
	for _, dt := range dtype.All {
		for _, shape := range [][]int{{}, {0}, {1}, {3}, {128}, {129}, {1023}, {1024}, {1025}, {5000}, {40000}, {70000}, {3, 0}, {0, 3}, {1000, 3}, {3, 1000}, {2100, 20}, {20, 2100}, {5, 600, 7}, {2, 3, 4, 5, 2, 2, 3, 2}} {
			for axes := range uint32(1) << len(shape) {
				if len(shape) > 3 && rng.IntN(16) != 0 || size(shape) > 10000 && rng.IntN(3) != 0 || testing.Short() && size(shape) > 1000 && rng.IntN(4) != 0 {
					continue
				}
				lx := arrangements[rng.IntN(len(arrangements))]
				x := lx.make(dt, shape)
				x.each(func(_, k int) {
					v := randomElement(rng, dt)
					if dt.IsFloat() {
						v = rng.NormFloat64()
					} else if dt.IsComplex() {
						v = complex(rng.NormFloat64(), rng.NormFloat64())
					}
					put(dt, x.at(k), v)
				})
				checkSum(t, x, axes, lx.name)
			}
		}
	}
}

// keptAxes returns the shape of a reduction over axes and the number of elements of each of its results.
func keptAxes(shape []int, axes uint32) (kept []int, n int) {
	n = 1
	for d, m := range shape {
		if axes>>d&1 == 0 {
			kept = append(kept, m)
		} else {
			n *= m
		}
	}
	return kept, n
}

// eachTerm calls f with each element of x and the index of the result that it belongs to.
func eachTerm(x *tensor, axes uint32, f func(k int, v any)) {
	strides := make([]int, len(x.shape))
	next := 1
	for d := len(x.shape) - 1; d >= 0; d-- {
		if axes>>d&1 == 0 {
			strides[d] = next
			next *= x.shape[d]
		}
	}
	in := x.values()
	(&tensor{t: x.t, shape: x.shape, strides: strides}).each(func(i, k int) { f(k, in[i]) })
}

func checkSum(t *testing.T, x *tensor, axes uint32, layout string) {
	t.Helper()
	kept, n := keptAxes(x.shape, axes)
	z := dense(x.t.SumType(), kept)
	want := make([]sums, size(kept))
	eachTerm(x, axes, func(k int, v any) { want[k].add(v) })
	if err := Reduce(expr.Sum, x.t, z.t, x.shape, axes, x.p(), x.strides, z.p()); err != nil {
		t.Fatal(err)
	}
	what := fmt.Sprintf("sum of %v %v %s over %b", x.t, x.shape, layout, axes)
	for i, got := range z.values() {
		w := &want[i]
		if isWhole(got) {
			if exact := wrapTo(z.t, &w.i); got != exact {
				t.Fatalf("%s: element %d is %d, not %d", what, i, got, exact)
			}
			continue
		}
		if f, ok := got.(float64); ok {
			got = complex(f, 0)
		}
		unit := map[dtype.DType]float64{dtype.Float64: 0x1p-53, dtype.Complex128: 0x1p-53}[x.t]
		if unit == 0 {
			unit = 0x1p-24
		}
		tol := unit*(math.Log2(float64(n)+1)+2)*w.abs + 1e-15*w.abs
		tol += map[dtype.DType]float64{dtype.Float16: 0x1p-11, dtype.BFloat16: 0x1p-8}[x.t] * cmplx.Abs(w.c)
		if x.t.IsHalf() && math.IsInf(convertValue(real(w.c), x.t).(float64), 0) {
			w.c = complex(convertValue(real(w.c), x.t).(float64), 0)
			if got == w.c {
				continue
			}
		}
		if d := cmplx.Abs(got.(complex128) - w.c); !(d <= tol) {
			t.Fatalf("%s: element %d is %v, not %v (off by %g, allowed %g)", what, i, got, w.c, d, tol)
		}
	}
	if err := z.untouched(); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// tree returns the definition in Reduce, written recursively and slowly: it sums the elements of x in
// the tree's order.
func tree(x []float32, lanes int) float32 {
	var pairs func(v []float32) float32
	pairs = func(v []float32) float32 {
		if len(v) == 1 {
			return v[0]
		}
		half := 1
		for half*2 < len(v) {
			half *= 2
		}
		return pairs(v[:half]) + pairs(v[half:])
	}
	var chunks []float32
	for c := 0; c < len(x); c += 8 * lanes {
		chunk := x[c:min(c+8*lanes, len(x))]
		var sums []float32
		for j := range min(lanes, len(chunk)) {
			var column []float32
			for k := j; k < len(chunk); k += lanes {
				column = append(column, chunk[k])
			}
			sums = append(sums, pairs(column))
		}
		chunks = append(chunks, pairs(sums))
	}
	return pairs(chunks)
}

// TestSumTree checks that the bits are the tree's, whatever the layout and
// the number of goroutines.
func TestSumTree(t *testing.T) {
	rng := testrand.New(t)
	for _, n := range []int{1, 2, 3, 5, 100, 127, 128, 129, 250, 256, 300, 1000, 1023, 1024, 1025, 2047, 3000, 9999, 32768, 70001} {
		for i, dt := range []dtype.DType{dtype.Float32, dtype.BFloat16, dtype.Float32} {
			if testing.Short() && n > 3000 && rng.IntN(3) != 0 {
				continue
			}
			columns := []int{5, 5, 24}[i] // 24: the vector code for columns
			lanes := 512 / dt.Size()
			values := make([][]float32, columns)
			flat := dense(dt, []int{columns, n})
			turned := arrangements[1].make(dt, []int{columns, n})
			wide := dense(dt, []int{n, columns})
			apart := dense(dt, []int{n, columns + 8})
			apart.shape = []int{n, columns}
			for c := range values {
				for i := range n {
					v := convertValue(rng.NormFloat64()*math.Exp2(float64(rng.IntN(20))), dt).(float64)
					values[c] = append(values[c], float32(v))
					put(dt, flat.at(c*flat.strides[0]+i*flat.strides[1]), v)
					put(dt, turned.at(c*turned.strides[0]+i*turned.strides[1]), v)
					put(dt, wide.at(i*columns+c), v)
					put(dt, apart.at(i*(columns+8)+c), v)
				}
			}
			for _, procs := range []int{1, 3} {
				for _, x := range []struct {
					*tensor
					axes uint32
				}{{flat, 2}, {turned, 2}, {wide, 1}, {apart, 1}} {
					old := runtime.GOMAXPROCS(procs)
					z := dense(dt, []int{columns})
					err := Reduce(expr.Sum, dt, dt, x.shape, x.axes, x.p(), x.strides, z.p())
					runtime.GOMAXPROCS(old)
					if err != nil {
						t.Fatal(err)
					}
					for c, got := range z.values() {
						if want := convertValue(float64(tree(values[c], lanes)), dt); !same(got, want) {
							t.Fatalf("%v, %d terms, shape %v, GOMAXPROCS %d: %v, not %v", dt, n, x.shape, procs, got, want)
						}
					}
				}
			}
		}
	}
}

// TestSumLong checks the accuracy that Reduce promises.
func TestSumLong(t *testing.T) {
	if testing.Short() {
		t.Skip("1e8 elements")
	}
	rng := testrand.New(t)
	const n = 100_000_000
	x := make([]float32, n)
	var want float64
	for i := range x {
		x[i] = rng.Float32()
		want += float64(x[i])
	}
	var got float32
	if err := Reduce(expr.Sum, dtype.Float32, dtype.Float32, []int{n}, 1, addr(&x[0]), []int{1}, addr(&got)); err != nil {
		t.Fatal(err)
	}
	if e := math.Abs(float64(got)-want) / want; e > 1e-6 {
		t.Errorf("sum of 1e8 float32s is off by %g", e)
	}
}

// TestSumNothing checks that empty sums are 0, wherever the 0-length axis is.
func TestSumNothing(t *testing.T) {
	for _, dt := range dtype.All {
		z := dense(dt.SumType(), []int{3})
		if err := Reduce(expr.Sum, dt, z.t, []int{3, 0}, 2, nil, []int{0, 1}, z.p()); err != nil {
			t.Fatal(err)
		}
		zero := dense(z.t, []int{3})
		clear(zero.bytes())
		if !slices.EqualFunc(z.values(), zero.values(), same) {
			t.Errorf("%v: %v", dt, z.values())
		}
	}
}

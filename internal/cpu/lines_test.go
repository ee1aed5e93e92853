package cpu

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/cmplx"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/bigmath"
	"github.com/gpk-go/gpk/internal/testrand"
)

// lineCheck is one operation along an axis: run computes it, want is the
// reference of one line and the error allowed of each result.
type lineCheck struct {
	op   expr.Op
	out  func(dtype.DType) dtype.DType // Invalid if the type is not supported
	last bool                          // along the last axis only
	run  func(x, z *tensor, axis int, gamma, beta *tensor) error
	want func(t dtype.DType, v, gamma, beta []any) (want []any, tol []float64)
}

func floatsOnly(t dtype.DType) dtype.DType {
	if t.IsFloat() {
		return t
	}
	return dtype.Invalid
}

const testEps = 1e-3

var lineChecks = []lineCheck{
	{expr.CumSum, dtype.DType.SumType, false, func(x, z *tensor, axis int, _, _ *tensor) error {
		return CumSum(x.t, z.t, x.shape, axis, x.p(), x.strides, z.p(), z.strides)
	}, func(t dtype.DType, v, _, _ []any) (want []any, tol []float64) {
		i := new(big.Int)
		re, im := bigmath.Of(0), bigmath.Of(0)
		var size float64
		for k, x := range v {
			switch x := x.(type) {
			case float64:
				re = bigmath.Add(re, bigmath.Of(x))
				size += math.Abs(x)
				f, _ := re.Float64()
				want = append(want, f)
				tol = append(tol, halfUnit(t)*math.Abs(f)+0x1p-53*size*float64(k)+0x1p-1074)
			case complex128:
				re, im = bigmath.Add(re, bigmath.Of(real(x))), bigmath.Add(im, bigmath.Of(imag(x)))
				size += cmplx.Abs(x)
				a, _ := re.Float64()
				b, _ := im.Float64()
				want = append(want, complex(a, b))
				tol = append(tol, 2*halfUnit(t)*cmplx.Abs(complex(a, b))+0x1p-53*size*float64(k))
			default:
				want, tol = append(want, wrapTo(t.SumType(), i.Add(i, bigOf(x)))), append(tol, 0)
			}
		}
		return want, tol
	}},
	{expr.Softmax, floatsOnly, false, func(x, z *tensor, axis int, _, _ *tensor) error {
		return Softmax(expr.Softmax, x.t, x.shape, axis, x.p(), x.strides, z.p(), z.strides)
	}, func(t dtype.DType, v, _, _ []any) (want []any, tol []float64) {
		m, sum := exponentials(v)
		for _, x := range v {
			p := math.Exp(x.(float64)-m) / sum
			want = append(want, p)
			tol = append(tol, (halfUnit(t)+8*working(t)+(1+math.Abs(x.(float64)-m))*working(t))*p+smallestOf(t))
		}
		return want, tol
	}},
	{expr.LogSoftmax, floatsOnly, false, func(x, z *tensor, axis int, _, _ *tensor) error {
		return Softmax(expr.LogSoftmax, x.t, x.shape, axis, x.p(), x.strides, z.p(), z.strides)
	}, func(t dtype.DType, v, _, _ []any) (want []any, tol []float64) {
		m, sum := exponentials(v)
		for _, x := range v {
			p := x.(float64) - m - math.Log(sum)
			want = append(want, p)
			tol = append(tol, (halfUnit(t)+2*working(t))*math.Abs(p)+8*working(t)+smallestOf(t))
		}
		return want, tol
	}},
	{expr.LayerNorm, floatsOnly, true, func(x, z *tensor, _ int, gamma, beta *tensor) error {
		return Norm(expr.LayerNorm, x.t, x.shape, x.p(), x.strides, gamma.start(), beta.start(), testEps, z.p(), z.strides)
	}, func(t dtype.DType, v, gamma, beta []any) (want []any, tol []float64) {
		var total, squares, deviation sums
		for _, x := range v {
			total.add(x)
		}
		mean := real(total.c) / float64(len(v))
		for _, x := range v {
			squares.add((x.(float64) - mean) * (x.(float64) - mean))
			deviation.add(x.(float64) - mean)
		}
		square := real(squares.c) / float64(len(v))
		for i, x := range v {
			g, b := 1.0, 0.0
			if gamma != nil {
				g = gamma[i].(float64)
			}
			if beta != nil {
				b = beta[i].(float64)
			}
			scale := math.Abs(g) / math.Sqrt(square+testEps)
			y := (x.(float64) - mean) / math.Sqrt(square+testEps) * g
			want = append(want, y+b)
			// In units of 2^-53: the kernel's mean is rounded once, after a correction that
			// adds up to 80 deviations one after the other; the reference's is off by 2 for
			// every |x| (Kahan) and rounded; both are subtracted with one rounding of
			// |x - mean|. The scale magnifies all of that, most where a line is nearly
			// constant. Variance, root and products are relative to y, 90 in all.
			n := float64(len(v))
			rounding := 0x1p-53 * (4*total.abs/n + 80*deviation.abs/n + 2*math.Abs(x.(float64)-mean)) * scale
			tol = append(tol, (halfUnit(t)+working(t))*math.Abs(y+b)+90*0x1p-53*math.Abs(y)+rounding+smallestOf(t))
		}
		return want, tol
	}},
	{expr.RMSNorm, floatsOnly, true, func(x, z *tensor, _ int, gamma, _ *tensor) error {
		return Norm(expr.RMSNorm, x.t, x.shape, x.p(), x.strides, gamma.start(), nil, testEps, z.p(), z.strides)
	}, func(t dtype.DType, v, gamma, _ []any) (want []any, tol []float64) {
		var squares sums
		for _, x := range v {
			squares.add(x.(float64) * x.(float64))
		}
		square := real(squares.c) / float64(len(v))
		for i, x := range v {
			y := x.(float64) / math.Sqrt(square+testEps)
			if gamma != nil {
				y *= gamma[i].(float64)
			}
			want = append(want, y)
			tol = append(tol, (halfUnit(t)+working(t))*math.Abs(y)+1e-14*math.Abs(y)+smallestOf(t))
		}
		return want, tol
	}},
}

// start returns the address of a tensor, nil for none.
func (x *tensor) start() unsafe.Pointer {
	if x == nil {
		return nil
	}
	return x.p()
}

func maxOf(v []any) float64 {
	m := math.Inf(-1)
	for _, x := range v {
		m = math.Max(m, x.(float64))
	}
	return m
}

// halfUnit returns the error of one rounding to type t, working that of the type computed
// in, smallestOf the spacing of t's subnormals.
func halfUnit(t dtype.DType) float64 {
	return map[dtype.DType]float64{dtype.Float16: 0x1p-11, dtype.BFloat16: 0x1p-8, dtype.Float32: 0x1p-24, dtype.Complex64: 0x1p-24, dtype.Float64: 0x1p-53, dtype.Complex128: 0x1p-53}[t]
}

func working(t dtype.DType) float64 { return halfUnit(computeType(t)) }

func smallestOf(t dtype.DType) float64 {
	return map[dtype.DType]float64{dtype.Float16: 0x1p-24, dtype.BFloat16: 0x1p-133, dtype.Float32: 0x1p-149, dtype.Float64: 0x1p-1074}[t]
}

func TestLines(t *testing.T) {
	rng := testrand.New(t)
	for _, c := range lineChecks {
		for _, dt := range dtype.All {
			out := c.out(dt)
			if out == dtype.Invalid {
				x := dense(dt, []int{3})
				if err := c.run(x, x, 0, nil, nil); !errors.Is(err, expr.ErrUnsupported) {
					t.Errorf("%v of %v: %v", c.op, dt, err)
				}
				continue
			}
			for _, shape := range [][]int{{0}, {1}, {2}, {17}, {1025}, {0, 3}, {3, 0}, {7, 33}, {33, 7}, {3, 4, 5}, {2, 70, 19}} {
				for axis := range shape {
					if c.last && axis < len(shape)-1 {
						continue
					}
					for range repeats() {
						lx, lz := arrangements[rng.IntN(len(arrangements))], arrangements[rng.IntN(5)]
						x, z := lx.make(dt, shape), lz.make(out, shape)
						x.each(func(_, k int) {
							v := randomElement(rng, dt)
							if dt.IsFloat() {
								v = convertValue(2*rng.NormFloat64(), dt)
							} else if dt.IsComplex() {
								v = convertValue(complex(rng.NormFloat64(), rng.NormFloat64()), dt)
							}
							put(dt, x.at(k), v)
						})
						var gamma, beta *tensor
						n := []int{shape[axis]}
						if rng.IntN(2) == 0 && dt.IsFloat() {
							gamma, beta = dense(dt, n), dense(dt, n)
							for _, p := range []*tensor{gamma, beta} {
								p.each(func(_, k int) { put(dt, p.at(k), convertValue(rng.NormFloat64(), dt)) })
							}
						}
						what := fmt.Sprintf("%v of %v %v along %d, %s to %s", c.op, dt, shape, axis, lx.name, lz.name)
						if out == dt && !lx.readOnly && rng.IntN(3) == 0 { // in place
							z = x.clone()
							if err := c.run(z, z, axis, gamma, beta); err != nil {
								t.Fatal(err)
							}
						} else if err := c.run(x, z, axis, gamma, beta); err != nil {
							t.Fatal(err)
						}
						checkLines(t, what, c, x, z, axis, gamma, beta)
						if err := z.untouched(); err != nil {
							t.Fatalf("%s: %v", what, err)
						}
					}
				}
			}
		}
	}
}

func checkLines(t *testing.T, what string, c lineCheck, x, z *tensor, axis int, gamma, beta *tensor) {
	t.Helper()
	values := func(p *tensor) []any {
		if p == nil {
			return nil
		}
		return p.values()
	}
	in, got := x.values(), z.values()
	step := size(x.shape[axis+1:])
	n := x.shape[axis]
	for i := range in {
		if i/step%n != 0 {
			continue
		}
		line := make([]any, n)
		for k := range line {
			line[k] = in[i+k*step]
		}
		want, tol := c.want(x.t, line, values(gamma), values(beta))
		for k, w := range want {
			g := got[i+k*step]
			ok := same(g, w)
			switch g := g.(type) {
			case float64:
				ok = ok || math.Abs(g-w.(float64)) <= tol[k] || same(g, convertValue(w, z.t))
			case complex128:
				ok = ok || cmplx.Abs(g-w.(complex128)) <= tol[k]
			}
			if !ok {
				t.Fatalf("%s: element %d is %v, not %v (allowed %g)", what, i+k*step, g, w, tol[k])
			}
		}
	}
}

// TestSoftmaxExtremes uses lines that would over- or underflow without subtracting the
// maximum, and lines without a finite maximum.
func TestSoftmaxExtremes(t *testing.T) {
	inf := math.Inf(1)
	for _, dt := range []dtype.DType{dtype.Float32, dtype.Float64, dtype.BFloat16} {
		for _, c := range []struct{ in, want []float64 }{
			{[]float64{1e4, 1e4}, []float64{0.5, 0.5}},
			{[]float64{-1e4, -1e4}, []float64{0.5, 0.5}},
			{[]float64{-inf, 0}, []float64{0, 1}},
			{[]float64{-inf, -inf}, []float64{math.NaN(), math.NaN()}},
			{[]float64{inf, 0}, []float64{math.NaN(), math.NaN()}},
			{[]float64{math.NaN(), 0}, []float64{math.NaN(), math.NaN()}},
		} {
			x, z := dense(dt, []int{2}), dense(dt, []int{2})
			x.each(func(i, k int) { put(dt, x.at(k), c.in[i]) })
			if err := Softmax(expr.Softmax, dt, x.shape, 0, x.p(), x.strides, z.p(), z.strides); err != nil {
				t.Fatal(err)
			}
			for i, got := range z.values() {
				if !same(got, c.want[i]) && !(c.in[i] == inf && math.IsNaN(got.(float64))) && !(c.in[0] == inf && got == 0.0) {
					t.Errorf("%v of %v: %v", dt, c.in, z.values())
				}
			}
		}
	}
}

// exponentials returns the largest x of v and the sum of exp(x - largest).
func exponentials(v []any) (largest, sum float64) {
	largest = maxOf(v)
	var powers sums
	for _, x := range v {
		powers.add(math.Exp(x.(float64) - largest))
	}
	return largest, real(powers.c)
}

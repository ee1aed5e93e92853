package linalg

import (
	"cmp"
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gpk-go/gpk"
)

func TestEig(t *testing.T) {
	residuals(t, append([][2]int{{3, 3}, {64, 64}}, squares...), func(t *testing.T, dt gpk.DType, list []wide, a *gpk.Array) {
		values, vectors := Eig(a)
		vs := widen(t, vectors)
		eigenvalues := widen(t, values)[0]
		alone := widen(t, Eigvals(a))[0]
		for i, m := range list {
			n := m.rows
			d := newWide(n, n)
			sum, trace := complex128(0), complex128(0)
			for j := range n {
				d.set(j, j, eigenvalues.at(i, j))
				sum += eigenvalues.at(i, j)
				trace += m.at(j, j)
				column := newWide(n, 1)
				largest := complex128(0)
				for k := range n {
					column.set(k, 0, vs[i].at(k, j))
					if v := vs[i].at(k, j); cmplx.Abs(v) > cmplx.Abs(largest)*(1+2*eps(dt)) {
						largest = v
					}
				}
				bound(t, "|v| - 1", dt, n, math.Abs(column.norm()-1), 1)
				if imag(largest) != 0 {
					t.Errorf("the largest element of a vector is %v", largest)
				}
			}
			bound(t, "A V - V D", dt, n, m.times(vs[i]).minus(vs[i].times(d)).norm(), m.norm())
			bound(t, "sum of the values - trace", dt, n, cmplx.Abs(sum-trace), m.norm())
			for j := range n { // each value is one of a matrix near A, so A - value I is nearly singular
				shifted := newWide(n, n)
				copy(shifted.data, m.data)
				for k := range n {
					shifted.data[k*n+k] -= alone.at(i, j)
				}
				s := widen(t, SVDVals(rounded(gpk.Complex128, nil, shifted)).Unsqueeze(0))[0]
				bound(t, "the least singular value of A - value I", dt, n, real(s.at(0, n-1)), m.norm())
			}
		}
	})
}

// TestEigKnown compares with matrices whose eigenvalues are known.
func TestEigKnown(t *testing.T) {
	r := random(t)
	const n = 9
	shift, jordan, upper, lower := newWide(n, n), newWide(n, n), newWide(n, n), newWide(n, n)
	roots, diagonal, same := make([]complex128, n), make([]complex128, n), make([]complex128, n)
	for i := range n {
		shift.set((i+1)%n, i, 1)
		roots[i] = cmplx.Rect(1, 2*math.Pi*float64(i)/n)
		jordan.set(i, i, 2)
		same[i] = 2
		diagonal[i] = complex(float64(i*i+1), 0)
		for j := range i {
			upper.set(j, i, complex(r.NormFloat64(), 0))
			lower.set(i, j, complex(r.NormFloat64(), 0))
		}
		upper.set(i, i, diagonal[i])
		lower.set(i, i, diagonal[i])
		if i > 0 {
			jordan.set(i-1, i, 1)
		}
	}
	scaled := newWide(n, n) // D^-1 A D with a dense A
	q := unitary(r, gpk.Float64, n)
	plain := q.times(upper).times(q.adjoint())
	for i := range n {
		for j := range n {
			scaled.set(i, j, plain.at(i, j)*complex(math.Ldexp(1, 10*(j-i)), 0))
		}
	}
	for _, c := range []struct {
		name  string
		m     wide
		want  []complex128
		error float64
	}{
		{"a cyclic shift", shift, roots, 1e-14},
		{"a Jordan block", jordan, same, 1e-14},
		{"upper triangular", upper, diagonal, 0},
		{"lower triangular", lower, diagonal, 1e-9},
		{"badly scaled", scaled, diagonal, 1e-9},
		{"zero", newWide(n, n), make([]complex128, n), 0},
	} {
		for _, dt := range []gpk.DType{gpk.Float64, gpk.Complex128} {
			for _, factor := range []float64{1, 0x1p900, 0x1p-900} {
				m := newWide(n, n)
				for i, v := range c.m.data {
					m.data[i] = v * complex(factor, 0)
				}
				a := rounded(dt, nil, m)
				values, vectors := Eig(a)
				for name, x := range map[string]*gpk.Array{"Eig": values, "Eigvals": Eigvals(a)} {
					got, err := gpk.ToSlice[complex128](x)
					if err != nil {
						t.Fatal(err)
					}
					for _, w := range c.want { // the nearest value, each once
						nearest := slices.MinFunc(got, func(x, y complex128) int {
							return cmp.Compare(cmplx.Abs(x-w*complex(factor, 0)), cmplx.Abs(y-w*complex(factor, 0)))
						})
						if !(cmplx.Abs(nearest-w*complex(factor, 0)) <= c.error*factor) {
							t.Errorf("%s of %s %v times %g: %v, want %v", name, c.name, dt, factor, nearest, w)
						}
						got = slices.DeleteFunc(got, func(x complex128) bool { return x == nearest && c.name != "a Jordan block" && c.name != "zero" })
					}
				}
				v := widen(t, vectors)[0]
				for j := range n {
					if size := (wide{column(v, j), n, 1}).norm(); math.Abs(size-1) > 1e-14 {
						t.Errorf("%s %v: a vector of norm %g", c.name, dt, size)
					}
				}
			}
		}
	}
}

// TestEigRandom computes matrices with equal eigenvalues, whose residuals it checks, and matrices with zeros or elements of very
// different sizes, whose residuals are small only in comparison with the balanced matrix: for these it checks that the results
// are finite and the vectors have the norm 1.
func TestEigRandom(t *testing.T) {
	r := random(t)
	kinds := []struct {
		name     string
		element  func(i, j, n int) float64
		residual bool
	}{
		{"integers", func(_, _, _ int) float64 { return float64((1 + r.IntN(3)) * (1 - 2*r.IntN(2))) }, true},
		{"many zeros", func(_, _, _ int) float64 { return r.NormFloat64() * float64(r.IntN(3)/2) }, false},
		{"nilpotent", func(i, j, _ int) float64 { return float64(r.IntN(3) * b2i(j > i)) }, true},
		{"a permutation", func(i, j, n int) float64 { return float64(b2i(j == (i+1)%n)) }, true},
		{"graded", func(_, _, _ int) float64 { return r.NormFloat64() * math.Pow(10, float64(r.IntN(30)-15)) }, false},
		{"of all sizes", func(_, _, _ int) float64 { return r.NormFloat64() * math.Pow(10, float64(r.IntN(600)-300)) }, false},
	}
	for round := range 3000 {
		kind, dt, n := kinds[round%len(kinds)], types[round/len(kinds)%len(types)], 1+r.IntN(9)
		if !kind.residual && dt.Real() == gpk.Float32 {
			dt = gpk.Complex128
		}
		m := newWide(n, n)
		for i := range n {
			for j := range n {
				re, im := kind.element(i, j, n), 0.0
				if dt.IsComplex() && kind.name != "a permutation" {
					im = kind.element(i, j, n)
				}
				m.set(i, j, complex(re, im))
			}
		}
		a := rounded(dt, nil, m)
		values, vectors := Eig(a)
		m, v := widen(t, a)[0], widen(t, vectors)[0]
		d := newWide(n, n)
		for j, value := range widen(t, values.Unsqueeze(0))[0].data {
			d.set(j, j, value)
			if size := (wide{column(v, j), n, 1}).norm(); !(math.Abs(size-1) <= 4*float64(n)*eps(dt)) || cmplx.IsInf(value) || cmplx.IsNaN(value) {
				t.Fatalf("%s %v %v: value %v, vector %v", kind.name, dt, m.data, value, column(v, j))
			}
		}
		if kind.residual {
			bound(t, fmt.Sprint(kind.name, dt, m.data), dt, n, m.times(v).minus(v.times(d)).norm(), m.norm())
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func column(m wide, j int) []complex128 {
	c := make([]complex128, m.rows)
	for i := range c {
		c[i] = m.at(i, j)
	}
	return c
}

// TestEigShapes checks empty stacks, types and the order of conjugates.
func TestEigShapes(t *testing.T) {
	for _, dt := range types {
		for _, shape := range [][]int{{0, 0}, {0, 3, 3}, {2, 0, 0}, {2, 1, 3, 3}} {
			values, vectors := Eig(gpk.Ones(dt, shape...))
			alone := Eigvals(gpk.Ones(dt, shape...))
			want := gpk.Complex128
			if dt.Real() == gpk.Float32 {
				want = gpk.Complex64
			}
			if err := gpk.Eval(values, vectors, alone); err != nil || values.DType() != want || vectors.DType() != want || alone.DType() != want ||
				!slices.Equal(values.Shape(), shape[:len(shape)-1]) || !slices.Equal(vectors.Shape(), shape) || !slices.Equal(alone.Shape(), shape[:len(shape)-1]) {
				t.Errorf("%v %v: %v %v and %v %v (%v)", dt, shape, values.DType(), values.Shape(), vectors.DType(), vectors.Shape(), err)
			}
		}
	}
	values, _ := Eig(gpk.FromSlice([]float64{0, -1, 1, 0}, 2, 2))
	if got, err := gpk.ToSlice[complex128](values); err != nil || fmt.Sprint(got) != "[(0+1i) (0-1i)]" {
		t.Errorf("%v (%v), want i and -i", got, err)
	}
}

func BenchmarkEig(b *testing.B) {
	for _, dt := range []gpk.DType{gpk.Float64, gpk.Complex128} {
		for _, n := range []int{10, 100, 400} {
			a := rounded(dt, nil, normal(rand.New(rand.NewPCG(1, 1)), dt, n, n))
			b.Run(fmt.Sprintf("%v/n=%d", dt, n), func(b *testing.B) {
				for b.Loop() {
					values, vectors := Eig(a)
					if err := gpk.Eval(values, vectors); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(fmt.Sprintf("values/%v/n=%d", dt, n), func(b *testing.B) {
				for b.Loop() {
					if err := gpk.Eval(Eigvals(a)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

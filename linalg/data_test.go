package linalg

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
)

// onDevice is the device that GPK_TEST_DEVICE names, on which all tests of this package then run; empty:
// the CPU.
var onDevice = os.Getenv("GPK_TEST_DEVICE")

func TestMain(m *testing.M) {
	name := onDevice
	if name == "" {
		name = "cpu"
	}
	d, err := device.Open(name)
	if err != nil {
		panic(err)
	}
	device.SetDefault(d)
	m.Run()
}

// random returns a generator and prints its seed when the test fails.
func random(t *testing.T) *rand.Rand {
	seed := rand.Uint64()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 1))
}

// wide is a matrix in complex128, in which the tests compute their references.
type wide struct {
	data       []complex128
	rows, cols int
}

func newWide(rows, cols int) wide { return wide{make([]complex128, rows*cols), rows, cols} }

func (m wide) at(i, j int) complex128     { return m.data[i*m.cols+j] }
func (m wide) set(i, j int, v complex128) { m.data[i*m.cols+j] = v }

func (m wide) adjoint() wide {
	c := newWide(m.cols, m.rows)
	for i := range m.rows {
		for j := range m.cols {
			v := m.at(i, j)
			c.set(j, i, complex(real(v), -imag(v)))
		}
	}
	return c
}

func (m wide) times(b wide) wide {
	if m.cols != b.rows {
		panic(fmt.Sprint(m.rows, m.cols, " times ", b.rows, b.cols))
	}
	c := newWide(m.rows, b.cols)
	for i := range m.rows {
		for k := range m.cols {
			v := m.at(i, k)
			for j := range b.cols {
				c.data[i*c.cols+j] += v * b.at(k, j)
			}
		}
	}
	return c
}

func (m wide) minus(b wide) wide {
	c := newWide(m.rows, m.cols)
	for i := range m.data {
		c.data[i] = m.data[i] - b.data[i]
	}
	return c
}

// norm returns the Frobenius norm.
func (m wide) norm() float64 {
	largest := 0.0
	for _, v := range m.data {
		largest = max(largest, math.Abs(real(v)), math.Abs(imag(v)))
	}
	if largest == 0 || math.IsInf(largest, 0) {
		return largest
	}
	sum := 0.0
	for _, v := range m.data {
		re, im := real(v)/largest, imag(v)/largest
		sum += re*re + im*im
	}
	return largest * math.Sqrt(sum)
}

func eye(n int) wide {
	m := newWide(n, n)
	for i := range n {
		m.set(i, i, 1)
	}
	return m
}

// widen returns the matrices of an array of any type.
func widen(t *testing.T, a *gpk.Array) []wide {
	t.Helper()
	if err := a.Err(); err != nil {
		t.Fatal(err)
	}
	data, err := gpk.ToSlice[complex128](a.Cast(gpk.Complex128))
	if err != nil {
		t.Fatal(err)
	}
	s := a.Shape()
	rows, cols := s[len(s)-2], s[len(s)-1]
	if rows*cols == 0 {
		return nil
	}
	var list []wide
	for ; len(data) > 0; data = data[rows*cols:] {
		list = append(list, wide{data[:rows*cols], rows, cols})
	}
	return list
}

// rounded returns an array of matrices, rounded to the type.
func rounded(dt gpk.DType, lead []int, list ...wide) *gpk.Array {
	var data []complex128
	for _, m := range list {
		data = append(data, m.data...)
	}
	return gpk.FromSlice(data, append(append([]int{}, lead...), list[0].rows, list[0].cols)...).Cast(dt)
}

// normal returns a matrix of normally distributed elements.
func normal(r *rand.Rand, dt gpk.DType, rows, cols int) wide {
	m := newWide(rows, cols)
	for i := range m.data {
		re, im := r.NormFloat64(), 0.0
		if dt.IsComplex() {
			im = r.NormFloat64()
		}
		m.data[i] = complex(re, im)
	}
	return m
}

// unitary returns a product of random reflectors.
func unitary(r *rand.Rand, dt gpk.DType, n int) wide {
	q := eye(n)
	for range min(n, 4) {
		v := normal(r, dt, n, 1)
		s := v.norm()
		for i := range v.data {
			v.data[i] /= complex(s, 0)
		}
		w := v.times(v.adjoint().times(q))
		for i := range q.data {
			q.data[i] -= 2 * w.data[i]
		}
	}
	return q
}

// kinds are the matrices that the residuals are measured on. eps is that of the type.
var kinds = map[string]func(r *rand.Rand, dt gpk.DType, rows, cols int) wide{
	"random": normal,
	"graded": func(r *rand.Rand, dt gpk.DType, rows, cols int) wide { // rows and columns fall by up to 1e12
		m := normal(r, dt, rows, cols)
		for i := range rows {
			for j := range cols {
				m.data[i*cols+j] *= complex(math.Pow(10, -6*float64(i)/float64(rows)-6*float64(j)/float64(cols)), 0)
			}
		}
		return m
	},
	"nearly singular": func(r *rand.Rand, dt gpk.DType, rows, cols int) wide { // singular values from 1 to the type's eps
		k := min(rows, cols)
		u, v := unitary(r, dt, rows), unitary(r, dt, cols)
		d := newWide(rows, cols)
		for i := range k {
			d.set(i, i, complex(math.Pow(eps(dt), float64(i)/float64(max(1, k-1))), 0))
		}
		return u.times(d).times(v)
	},
}

// positive returns a Hermitian positive definite matrix of a kind.
func positive(r *rand.Rand, dt gpk.DType, kind string, n int) wide {
	if kind == "nearly singular" { // eigenvalues from 1 to 8 n^2 eps: Higham's condition for success
		q, d := unitary(r, dt, n), newWide(n, n)
		for i := range n {
			d.set(i, i, complex(math.Pow(8*float64(n*n)*eps(dt), float64(i)/float64(max(1, n-1))), 0))
		}
		return q.times(d).times(q.adjoint())
	}
	m := normal(r, dt, n, n)
	s := m.times(m.adjoint())
	for i := range n {
		s.data[i*n+i] += 1
	}
	if kind == "graded" {
		for i := range n {
			for j := range n {
				s.data[i*n+j] *= complex(math.Pow(10, -5*float64(i+j)/float64(n)), 0)
			}
		}
	}
	return s
}

func eps(dt gpk.DType) float64 {
	if dt.Real() == dtype.Float32 {
		return 0x1p-23
	}
	return 0x1p-52
}

var types = []gpk.DType{gpk.Float32, gpk.Float64, gpk.Complex64, gpk.Complex128}

// bound fails the test if a residual is above 4 n eps of a norm.
func bound(t *testing.T, what string, dt gpk.DType, n int, residual, size float64) {
	t.Helper()
	if !(residual <= 4*float64(n)*eps(dt)*size) {
		t.Errorf("%s: %g, which is %.3g n eps of %g", what, residual, residual/size/float64(n)/eps(dt), size)
	}
}

// layouts are the ways in which an operand may lie.
var layouts = map[string]func(a *gpk.Array) *gpk.Array{
	"dense":      func(a *gpk.Array) *gpk.Array { return a },
	"transposed": func(a *gpk.Array) *gpk.Array { return a.T().Contiguous().T() },
	"sliced": func(a *gpk.Array) *gpk.Array {
		n := a.NDim()
		widths := make([][2]int, n)
		widths[n-1], widths[n-2] = [2]int{1, 2}, [2]int{2, 1}
		p := a.Pad(widths, 7)
		s := a.Shape()
		return p.Slice(-1, 1, 1+s[n-1]).Slice(-2, 2, 2+s[n-2])
	},
}

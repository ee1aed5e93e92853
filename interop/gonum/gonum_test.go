package gonum

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/arraytest"
	"github.com/gpk-go/gpk/internal/testrand"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/cblas128"
	"gonum.org/v1/gonum/blas/cblas64"
	"gonum.org/v1/gonum/mat"
)

// value returns a number, a different one at almost every call.
func value[T number](r *rand.Rand) T {
	re, im := r.NormFloat64(), r.NormFloat64()
	var v any
	switch any(*new(T)).(type) {
	case float32:
		v = float32(re)
	case float64:
		v = re
	case complex64:
		v = complex64(complex(re, im))
	case complex128:
		v = complex(re, im)
	}
	return v.(T)
}

func TestGeneral(t *testing.T) {
	t.Run("float32", testGeneral[float32, blas32.General, blas32.Vector])
	t.Run("float64", testGeneral[float64, blas64.General, blas64.Vector])
	t.Run("complex64", testGeneral[complex64, cblas64.General, cblas64.Vector])
	t.Run("complex128", testGeneral[complex128, cblas128.General, cblas128.Vector])
}

func testGeneral[T number, G General, V Vector](t *testing.T) {
	r := testrand.New(t)
	for _, s := range [][3]int{{1, 1, 1}, {3, 4, 4}, {3, 4, 7}, {5, 1, 3}, {1, 6, 9}, {0, 3, 3}, {3, 0, 1}, {40, 33, 50}} {
		rows, cols, stride := s[0], s[1], s[2]
		n := 0
		if rows > 0 && cols > 0 {
			n = (rows-1)*stride + cols
		}
		data := make([]T, n) // no longer than it must be
		for i := range data {
			data[i] = value[T](r)
		}
		var want []T
		for i := range min(rows, n) { // none of a matrix without columns
			want = append(want, data[i*stride:][:cols]...)
		}
		var g G
		dense[T]{2, rows, cols, stride, data}.put(&g)

		a := FromGeneral(g)
		if got := arraytest.Elements[T](t, a); !slices.Equal(got, want) || !slices.Equal(a.Shape(), []int{rows, cols}) {
			t.Fatalf("%v: FromGeneral: %v, want %v", s, got, want)
		}
		back, err := ToGeneral[G](a)
		if err != nil {
			t.Fatal(err)
		}
		b := of(back).(dense[T])
		if !slices.Equal(b.data, want) || b.rows != rows || b.cols != cols || b.stride != max(1, cols) {
			t.Fatalf("%v: ToGeneral: %+v, want %v", s, b, want)
		}

		// Shared: each side sees the other's writes, and the elements between the rows do
		// not change.
		before := slices.Clone(data)
		shared := ShareGeneral(g)
		if err := gpk.Into(shared, a.Add(a)); err != nil {
			t.Fatal(err)
		}
		for i := range before {
			if i%stride < cols {
				before[i] += before[i]
			}
		}
		if !slices.Equal(data, before) {
			t.Fatalf("%v: written through ShareGeneral: %v, want %v", s, data, before)
		}
		if n > 0 {
			data[n-1] = 42
			if got := arraytest.Elements[T](t, shared); got[len(got)-1] != 42 {
				t.Fatalf("%v: ShareGeneral does not see a write: %v", s, got)
			}
		}

		// A view of the array's own memory.
		seen, err := ViewGeneral[G](shared)
		if err != nil {
			t.Fatal(err)
		}
		v := of(seen).(dense[T])
		if n > 0 && &v.data[0] != &data[0] || len(v.data) != n {
			t.Fatalf("%v: ViewGeneral of shared memory is elsewhere, or %d long", s, len(v.data))
		}

		// The last column as a vector.
		if rows == 0 || cols == 0 {
			continue
		}
		var col V
		dense[T]{1, rows, 1, stride, data[cols-1:]}.put(&col)
		want = want[:0]
		for i := range rows {
			want = append(want, data[i*stride+cols-1])
		}
		for name, a := range map[string]*gpk.Array{"FromVector": FromVector(col), "ShareVector": ShareVector(col)} {
			if got := arraytest.Elements[T](t, a); !slices.Equal(got, want) || !slices.Equal(a.Shape(), []int{rows}) {
				t.Fatalf("%v: %s: %v, want %v", s, name, got, want)
			}
			u, err := ToVector[V](a)
			if err != nil || !slices.Equal(of(u).(dense[T]).data, want) {
				t.Fatalf("%v: ToVector: %v, %v", s, u, err)
			}
			w, err := ViewVector[V](a)
			if err != nil {
				t.Fatal(err)
			}
			for i, x := range want {
				if d := of(w).(dense[T]); d.data[i*d.stride] != x || d.rows != rows {
					t.Fatalf("%v: ViewVector: %+v, want %v", s, w, want)
				}
			}
		}
		runtime.KeepAlive(shared)
	}
}

func TestMat(t *testing.T) {
	r := testrand.New(t)
	data := make([]float64, 7*9)
	for i := range data {
		data[i] = r.NormFloat64()
	}
	whole := mat.NewDense(7, 9, data)
	part := whole.Slice(1, 5, 2, 8).(*mat.Dense)
	upper := mat.NewTriDense(4, mat.Upper, nil)
	sym := mat.NewSymDense(4, nil)
	for i := range 4 {
		for j := i; j < 4; j++ {
			upper.SetTri(i, j, r.NormFloat64())
			sym.SetSym(i, j, r.NormFloat64())
		}
	}
	for name, m := range map[string]mat.Matrix{
		"dense": whole, "part": part, "transposed": whole.T(), "part transposed": part.T(), "triangular": upper, "triangular transposed": upper.T(),
		"symmetric": sym, "diagonal": mat.NewDiagDense(3, []float64{1, 2, 3}), "vector": mat.NewVecDense(3, []float64{1, 2, 3}),
		"vector transposed": mat.NewVecDense(3, []float64{1, 2, 3}).T(), "column": whole.ColView(3), "row": whole.RowView(2), "empty": &mat.Dense{},
		"banded": mat.NewBandDense(4, 5, 1, 1, data[:12]), "inverse transposed": mat.Transpose{Matrix: mat.Transpose{Matrix: part}},
	} {
		a := FromMat(m)
		rows, cols := m.Dims()
		got := arraytest.Elements[float64](t, a)
		if !slices.Equal(a.Shape(), []int{rows, cols}) {
			t.Fatalf("%s: shape %v, want %d x %d", name, a.Shape(), rows, cols)
		}
		for i := range rows {
			for j := range cols {
				if got[i*cols+j] != m.At(i, j) {
					t.Fatalf("%s: element %d, %d is %v, not %v", name, i, j, got[i*cols+j], m.At(i, j))
				}
			}
		}
		back, err := ToMat(a)
		if err != nil || rows > 0 && !mat.Equal(back, m) || rows == 0 && !back.IsEmpty() {
			t.Errorf("%s: ToMat: %v, %v", name, back, err)
		}
	}

	// Into a part: the rest stays.
	before := slices.Clone(data)
	fill := gpk.Full(gpk.Float64, 7, 4, 6)
	if err := IntoMat(part, fill); err != nil {
		t.Fatal(err)
	}
	for i, v := range data {
		want := before[i]
		if row, col := i/9, i%9; row >= 1 && row < 5 && col >= 2 && col < 8 {
			want = 7
		}
		if v != want {
			t.Fatalf("IntoMat: element %d is %v, not %v", i, v, want)
		}
	}

	// A product, against gonum's own.
	var want mat.Dense
	want.Mul(whole, whole.T())
	c := ShareMat(whole).MatMul(ShareMat(whole).T())
	got, err := ToMat(c)
	if err != nil || !mat.EqualApprox(got, &want, 1e-12) {
		t.Errorf("a product of shared matrices: %v, %v, want %v", mat.Formatted(got), err, mat.Formatted(&want))
	}
	view, err := ViewMat(c)
	if err != nil || !mat.Equal(view, got) {
		t.Errorf("ViewMat: %v, %v", view, err)
	}
	view.Set(0, 0, -5)
	if v := arraytest.Elements[float64](t, c); v[0] != -5 {
		t.Errorf("a write through ViewMat is not seen: %v", v[0])
	}
	if empty, err := ViewMat(ShareMat(&mat.Dense{})); err != nil || !empty.IsEmpty() {
		t.Errorf("the empty matrix: %v, %v", empty, err)
	}
}

func TestCMat(t *testing.T) {
	r := testrand.New(t)
	m := mat.NewCDense(3, 4, nil)
	for i := range 3 {
		for j := range 4 {
			m.Set(i, j, complex(r.NormFloat64(), r.NormFloat64()))
		}
	}
	for name, x := range map[string]mat.CMatrix{"dense": m, "conjugated": m.H(), "transposed": m.T(), "part": m.Slice(1, 3, 1, 3)} {
		rows, cols := x.Dims()
		got := arraytest.Elements[complex128](t, FromCMat(x))
		for i := range rows {
			for j := range cols {
				if got[i*cols+j] != x.At(i, j) {
					t.Fatalf("%s: element %d, %d is %v, not %v", name, i, j, got[i*cols+j], x.At(i, j))
				}
			}
		}
		back, err := ToCMat(FromCMat(x))
		if err != nil || !mat.CEqual(back, x) {
			t.Errorf("%s: ToCMat: %v, %v", name, back, err)
		}
	}
}

// TestBLAS lets gonum write elements that gpk reads.
func TestBLAS(t *testing.T) {
	r := testrand.New(t)
	a, b := gpk.FromSlice(normal(r, 6), 2, 3), gpk.FromSlice(normal(r, 12), 3, 4)
	x, err := ViewGeneral[blas64.General](a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := ToGeneral[blas64.General](b)
	if err != nil {
		t.Fatal(err)
	}
	c := blas64.General{Rows: 2, Cols: 4, Stride: 4, Data: make([]float64, 8)}
	shared := ShareGeneral(c)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, x, y, 0, c)
	runtime.KeepAlive(a)
	d := arraytest.Elements[float64](t, shared.Sub(a.MatMul(b)).Abs().Max())
	if !(d[0] < 1e-14) {
		t.Errorf("gonum's product differs by %g", d[0])
	}
}

func normal(r *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = r.NormFloat64()
	}
	return v
}

func TestApart(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "github.com/gpk-go/gpk").CombinedOutput()
	if err != nil {
		t.Skipf("go list: %v: %s", err, out)
	}
	if strings.Contains(string(out), "gonum.org/") || !strings.Contains(string(out), "github.com/gpk-go/gpk/array") {
		t.Errorf("importing gpk brings gonum in, or go list failed:\n%s", out)
	}
}

// TestSite: errors at the boundary name the user's line and nothing of this package.
// That of a freed array names the line of Free too.
func TestSite(t *testing.T) {
	freed := gpk.Ones(gpk.Float64, 2, 3)
	freed.Free()
	narrow, empty := gpk.Ones(gpk.Float32, 2, 3), gpk.Ones(gpk.Float64, 0, 3)
	line := func() string {
		_, file, n, _ := runtime.Caller(1)
		return fmt.Sprintf("gonum/%s:%d", filepath.Base(file), n)
	}
	for name, f := range map[string]func() (string, error){
		"freed":          func() (string, error) { _, err := ToMat(freed); return line(), err },
		"freed, general": func() (string, error) { _, err := ToGeneral[blas64.General](freed); return line(), err },
		"freed, viewed":  func() (string, error) { _, err := ViewMat(freed); return line(), err },
		"freed, into":    func() (string, error) { return line(), IntoMat(mat.NewDense(2, 3, nil), freed) },
		"type":           func() (string, error) { _, err := ToMat(narrow); return line(), err },
		"shape":          func() (string, error) { _, err := ToMat(empty); return line(), err },
		"nil":            func() (string, error) { return line(), IntoMat(nil, freed) },
		"from":           func() (string, error) { return line(), FromMat(nil).Err() },
		"complex":        func() (string, error) { return line(), FromCMat(nil).Err() },
		"vector":         func() (string, error) { return line(), ShareVector(blas64.Vector{N: -1, Inc: 1}).Err() },
	} {
		want, err := f()
		op, ok := errors.AsType[*gpk.OpError](err)
		lines := 1
		if strings.HasPrefix(name, "freed") {
			lines = 2 // the line of Free, too
		}
		if !ok || op.Site != want || strings.Count(err.Error(), ".go:") != lines || strings.Count(err.Error(), "gonum_test.go:") != lines {
			t.Errorf("%s: %v, want the line %s and %d in all", name, err, want, lines)
		}
	}
}

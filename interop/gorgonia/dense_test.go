package gorgonia

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/gpk-go/gpk/internal/testrand"
	"github.com/x448/float16"
	"gorgonia.org/tensor"
)

func TestDense(t *testing.T) {
	t.Run("float32", testDense[float32])
	t.Run("float64", testDense[float64])
	t.Run("float16", testDense[float16.Float16])
	t.Run("bfloat16", testDense[bfloat16.BFloat16])
	t.Run("int8", testDense[int8])
	t.Run("uint8", testDense[uint8])
	t.Run("int32", testDense[int32])
	t.Run("int64", testDense[int64])
	t.Run("bool", testDense[bool])
	t.Run("complex64", testDense[complex64])
	t.Run("complex128", testDense[complex128])
}

func testDense[T gpk.Elem](t *testing.T) {
	r := testrand.New(t)
	value := func() T { return number[T](r.IntN(100), r.IntN(100)) }
	for _, layout := range layoutNames {
		t.Run(layout, func(t *testing.T) {
			m, n := 2+r.IntN(5), 2+r.IntN(5)
			x := newMatrix(t, layout, m, n, value)
			want := make([]T, 0, m*n)
			for i := range m {
				for j := range n {
					want = append(want, x.at(i, j))
				}
			}
			a := FromDense(x.Dense)
			got, err := gpk.ToSlice[T](a)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(a.Shape(), []int{m, n}) || !slices.Equal(got, want) {
				t.Fatalf("FromDense: %v %v, want [%d %d] %v", a.Shape(), got, m, n, want)
			}

			d, err := ToDense(a)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(d.Data().([]T), want) || !slices.Equal([]int(d.Shape()), []int{m, n}) || d.Dtype() != x.Dtype() {
				t.Errorf("ToDense: %v %v %v, want %v [%d %d] %v", d.Dtype(), d.Shape(), d.Data(), x.Dtype(), m, n, want)
			}

			// Other values into a tensor of the same layout: they are stored, and the
			// elements between them do not change.
			y := newMatrix(t, layout, m, n, value)
			kept := slices.Clone(y.base)
			if err := IntoDense(y.Dense, a); err != nil {
				t.Fatal(err)
			}
			for i := range m {
				for j := range n {
					kept[y.place(i, j)] = want[i*n+j]
				}
			}
			if !slices.Equal(y.base, kept) {
				t.Errorf("IntoDense left %v, want %v", y.base, kept)
			}
		})
	}
	t.Run("scalar", func(t *testing.T) {
		v := number[T](7, 5)
		a := FromDense(tensor.New(tensor.FromScalar(v)))
		if got, err := gpk.Item[T](a); err != nil || got != v || a.NDim() != 0 {
			t.Fatalf("FromDense: %v of shape %v, %v; want %v", got, a.Shape(), err, v)
		}
		d, err := ToDense(a)
		if err != nil || !d.IsScalar() || memory[T](d)[0] != v {
			t.Fatalf("ToDense: %v, %v; want the scalar %v", d, err, v)
		}
		other := tensor.New(tensor.FromScalar(number[T](0, 0)))
		if err := IntoDense(other, a); err != nil || memory[T](other)[0] != v {
			t.Errorf("IntoDense: %v, %v; want %v", memory[T](other), err, v)
		}
	})
}

// TestAxes covers shapes that a matrix does not have: three axes in every order, axes of
// length 1, vectors of every form, and views of views.
func TestAxes(t *testing.T) {
	r := testrand.New(t)
	cube := func() (*tensor.Dense, []float64) {
		base := make([]float64, 2*3*4)
		for i := range base {
			base[i] = r.Float64()
		}
		return tensor.New(tensor.WithShape(2, 3, 4), tensor.WithBacking(base)), base
	}
	check := func(t *testing.T, d *tensor.Dense, shape []int, want []float64) {
		t.Helper()
		a := FromDense(d)
		got, err := gpk.ToSlice[float64](a)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(a.Shape(), shape) || !slices.Equal(got, want) {
			t.Errorf("%v %v, want %v %v", a.Shape(), got, shape, want)
		}
		back := gpk.FromSlice(want, shape...).Neg()
		if err := IntoDense(d, back); err != nil {
			t.Fatal(err)
		}
		again, err := gpk.ToSlice[float64](FromDense(d).Neg())
		if err != nil || !slices.Equal(again, want) {
			t.Errorf("after IntoDense of the negative: %v, %v; want %v", again, err, want)
		}
	}
	lengths := []int{2, 3, 4}
	for _, axes := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		d, base := cube()
		if err := d.T(axes...); err != nil {
			t.Fatal(err)
		}
		var want []float64
		shape := []int{lengths[axes[0]], lengths[axes[1]], lengths[axes[2]]}
		var index [3]int
		for i := range shape[0] {
			for j := range shape[1] {
				for k := range shape[2] {
					index[axes[0]], index[axes[1]], index[axes[2]] = i, j, k
					want = append(want, base[(index[0]*3+index[1])*4+index[2]])
				}
			}
		}
		check(t, d, shape, want)
	}

	d, base := cube()
	v, err := d.Slice(nil, tensor.S(1)) // [2 4], rows 4..8 and 16..20
	if err != nil {
		t.Fatal(err)
	}
	check(t, v.(*tensor.Dense), []int{2, 4}, slices.Concat(base[4:8], base[16:20]))

	d, base = cube()
	v, err = d.Slice(tensor.S(1), nil, tensor.S(2)) // a column: base[12+2], +4, +8
	if err != nil {
		t.Fatal(err)
	}
	check(t, v.(*tensor.Dense), []int{3}, []float64{base[14], base[18], base[22]})

	block := make([]float64, 4*3*3)
	for i := range block {
		block[i] = r.Float64()
	}
	d = tensor.New(tensor.WithShape(4, 3, 3), tensor.WithBacking(block))
	v, err = d.Slice(nil, tensor.S(0, 2), tensor.S(1, 3))
	if err != nil {
		t.Fatal(err)
	}
	var inner []float64
	for i := range 4 {
		for j := range 2 {
			inner = append(inner, block[9*i+3*j+1], block[9*i+3*j+2])
		}
	}
	check(t, v.(*tensor.Dense), []int{4, 2, 2}, inner)

	for _, shape := range [][]int{{5}, {5, 1}, {1, 5}, {1, 5, 1}} {
		data := []float64{1, 2, 3, 4, 5}
		check(t, tensor.New(tensor.WithShape(shape...), tensor.WithBacking(slices.Clone(data))), shape, data)
		check(t, tensor.New(tensor.WithShape(shape...), tensor.AsFortran(slices.Clone(data))), shape, data)
	}
	check(t, tensor.New(tensor.WithShape(1, 1), tensor.AsFortran([]float64{3})), []int{1, 1}, []float64{3})
}

func TestDenseErrors(t *testing.T) {
	masked := tensor.New(tensor.WithShape(2), tensor.WithBacking([]float32{1, 2}, []bool{true, false}))
	ints := tensor.New(tensor.WithShape(2), tensor.WithBacking([]int{1, 2}))
	plain := tensor.New(tensor.WithShape(2), tensor.WithBacking([]float32{1, 2}))
	two := gpk.FromSlice([]float32{8, 9})
	for _, c := range []struct {
		name string
		err  error
		want error
	}{
		{"FromDense of a masked tensor", FromDense(masked).Err(), gpk.ErrUnsupported},
		{"FromDense of Go's int", FromDense(ints).Err(), gpk.ErrDType},
		{"FromDense of nil", FromDense(nil).Err(), gpk.ErrShape},
		{"IntoDense of a masked tensor", IntoDense(masked, two), gpk.ErrUnsupported},
		{"IntoDense of Go's int", IntoDense(ints, two), gpk.ErrDType},
		{"IntoDense of another type", IntoDense(plain, two.Cast(gpk.Float64)), gpk.ErrDType},
		{"IntoDense of another shape", IntoDense(plain, two.Reshape(1, 2)), gpk.ErrShape},
		{"IntoDense of a failed array", IntoDense(plain, FromDense(ints)), gpk.ErrDType},
		{"ToDense of a failed array", second(ToDense(FromDense(masked))), gpk.ErrUnsupported},
		{"ToDense of no elements", second(ToDense(gpk.Zeros(gpk.Float32, 0, 3))), gpk.ErrShape},
		{"what is computed from a failed array", FromDense(ints).Add(1).Err(), gpk.ErrDType},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.err, c.want)
		}
	}
	var oe *gpk.OpError
	if err := FromDense(masked).Err(); !errors.As(err, &oe) || !strings.Contains(oe.Site, "dense_test.go:") {
		t.Errorf("the error %v does not name this file", err)
	}
	if got := plain.Data().([]float32); !slices.Equal(got, []float32{1, 2}) {
		t.Errorf("what failed wrote %v", got)
	}
}

func second[T any](_ T, err error) error { return err }

// TestFits covers access patterns that no tensor should have.
func TestFits(t *testing.T) {
	for _, c := range []struct {
		s    strided
		n    int
		want bool
	}{
		{strided{[]int{2, 3}, []int{3, 1}}, 6, true},
		{strided{[]int{2, 3}, []int{3, 1}}, 5, false},
		{strided{[]int{2, 3}, []int{1, 2}}, 6, true},
		{strided{[]int{2}, []int{-1}}, 6, false},
		{strided{[]int{0, 3}, []int{3, 1}}, 0, true},
		{strided{nil, nil}, 1, true},
		{strided{nil, nil}, 0, false},
	} {
		if err := c.s.fits(c.n); (err == nil) != c.want || (err != nil && !errors.Is(err, gpk.ErrShape)) {
			t.Errorf("%v in %d elements: %v", c.s, c.n, err)
		}
	}
}

// TestCoreIsLight checks that importing gpk brings in nothing of Gorgonia.
func TestCoreIsLight(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "github.com/gpk-go/gpk").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	deps := strings.Fields(string(out))
	if !slices.Contains(deps, "github.com/gpk-go/gpk/array") {
		t.Fatalf("go list answered %q", deps)
	}
	for _, d := range deps {
		if strings.HasPrefix(d, "gorgonia.org/") || strings.HasPrefix(d, "go4.org/") {
			t.Errorf("importing gpk brings in %s", d)
		}
	}
}

func BenchmarkFromDense(b *testing.B) {
	d := tensor.New(tensor.WithShape(512, 512), tensor.WithBacking(tensor.Random(tensor.Float32, 512*512)))
	v, err := d.Slice(tensor.S(0, 511), tensor.S(1, 512))
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		t    *tensor.Dense
	}{{"dense", d}, {"view", v.(*tensor.Dense)}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(c.t.Shape().TotalSize() * 4))
			for b.Loop() {
				FromDense(c.t).Free()
			}
		})
	}
}

package gorgonia

import (
	"fmt"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/x448/float16"
	"gorgonia.org/tensor"
)

// number makes an element of type T that float16 and int8 hold exactly.
func number[T gpk.Elem](re, im int) T {
	var v T
	switch p := any(&v).(type) {
	case *float32:
		*p = float32(re)
	case *float64:
		*p = float64(re)
	case *float16.Float16:
		*p = float16.Fromfloat32(float32(re))
	case *bfloat16.BFloat16:
		*p = bfloat16.FromFloat32(float32(re))
	case *int8:
		*p = int8(re)
	case *uint8:
		*p = uint8(re)
	case *int32:
		*p = int32(re)
	case *int64:
		*p = int64(re)
	case *bool:
		*p = re%2 != 0
	case *complex64:
		*p = complex(float32(re), float32(im))
	case *complex128:
		*p = complex(float64(re), float64(im))
	}
	return v
}

// wide returns an element as a complex128.
func wide[T gpk.Elem](v T) complex128 {
	switch x := any(v).(type) {
	case float32:
		return complex(float64(x), 0)
	case float64:
		return complex(x, 0)
	case float16.Float16:
		return complex(float64(x.Float32()), 0)
	case bfloat16.BFloat16:
		return complex(float64(x.Float32()), 0)
	case complex64:
		return complex128(x)
	case complex128:
		return x
	}
	panic(fmt.Sprintf("no number: %T", v))
}

// matrix is a tensor of some layout with its expected elements: element (i, j) is
// base[place(i, j)].
type matrix[T gpk.Elem] struct {
	*tensor.Dense
	base  []T
	m, n  int
	place func(i, j int) int
}

func (x matrix[T]) at(i, j int) T { return x.base[x.place(i, j)] }

// layoutNames are the layouts that a matrix can be made in.
var layoutNames = []string{"row-major", "transposed", "column-major", "column-major transposed", "inner block", "inner block transposed", "every second row", "every third column"}

// newMatrix makes an m x n matrix. The places follow from the tensor package's
// documentation of each operation, not from its strides.
func newMatrix[T gpk.Elem](t *testing.T, layout string, m, n int, value func() T, opts ...tensor.ConsOpt) matrix[T] {
	t.Helper()
	build := func(rows, cols int) ([]T, *tensor.Dense) {
		base := make([]T, rows*cols)
		for i := range base {
			base[i] = value()
		}
		return base, tensor.New(append(opts, tensor.WithShape(rows, cols), tensor.WithBacking(base))...)
	}
	fortran := func(rows, cols int) ([]T, *tensor.Dense) {
		base := make([]T, rows*cols)
		for i := range base {
			base[i] = value()
		}
		return base, tensor.New(append(opts, tensor.WithShape(rows, cols), tensor.AsFortran(base))...)
	}
	transpose := func(d *tensor.Dense) {
		if err := d.T(); err != nil {
			t.Fatal(err)
		}
	}
	slice := func(d *tensor.Dense, s ...tensor.Slice) *tensor.Dense {
		v, err := d.Slice(s...)
		if err != nil {
			t.Fatal(err)
		}
		return v.(*tensor.Dense)
	}
	x := matrix[T]{m: m, n: n}
	switch layout {
	case "row-major":
		x.base, x.Dense = build(m, n)
		x.place = func(i, j int) int { return i*n + j }
	case "transposed":
		x.base, x.Dense = build(n, m)
		transpose(x.Dense)
		x.place = func(i, j int) int { return j*m + i }
	case "column-major":
		x.base, x.Dense = fortran(m, n)
		x.place = func(i, j int) int { return j*m + i }
	case "column-major transposed":
		x.base, x.Dense = fortran(n, m)
		transpose(x.Dense)
		x.place = func(i, j int) int { return i*n + j }
	case "inner block":
		x.base, x.Dense = build(m+2, n+3)
		x.Dense = slice(x.Dense, tensor.S(1, m+1), tensor.S(2, n+2))
		x.place = func(i, j int) int { return (i+1)*(n+3) + j + 2 }
	case "inner block transposed":
		x.base, x.Dense = build(n+2, m+3)
		x.Dense = slice(x.Dense, tensor.S(1, n+1), tensor.S(2, m+2))
		transpose(x.Dense)
		x.place = func(i, j int) int { return (j+1)*(m+3) + i + 2 }
	case "every second row":
		x.base, x.Dense = build(2*m, n)
		x.Dense = slice(x.Dense, tensor.S(0, 2*m, 2))
		x.place = func(i, j int) int { return 2*i*n + j }
	case "every third column":
		x.base, x.Dense = build(m, 3*n)
		x.Dense = slice(x.Dense, nil, tensor.S(0, 3*n, 3))
		x.place = func(i, j int) int { return i*3*n + 3*j }
	default:
		t.Fatalf("no layout %q", layout)
	}
	if got := x.Shape(); len(got) != 2 || got[0] != m || got[1] != n {
		t.Fatalf("%s: the tensor package made %v of %d x %d", layout, got, m, n)
	}
	return x
}

package gpktest

import (
	"math"
	"math/cmplx"
	"slices"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/arraytest"
	"github.com/gpk-go/gpk/internal/numpytest"
	"github.com/gpk-go/gpk/ops"
)

// numpyFunction is a line of testdata/numpy_functions.py.
type numpyFunction struct {
	Op, Type, View, Result string
	Shape, WantShape       []int
	A, B, Want             []byte
}

// numpyTypes are the types by NumPy's names.
var numpyTypes = map[string]gpk.DType{
	"float32": gpk.Float32, "float64": gpk.Float64, "float16": gpk.Float16, "bool": gpk.Bool, "int8": gpk.Int8, "uint8": gpk.Uint8,
	"int32": gpk.Int32, "int64": gpk.Int64, "complex64": gpk.Complex64, "complex128": gpk.Complex128,
	"int16": gpk.Int16, "uint16": gpk.Uint16, "uint32": gpk.Uint32, "uint64": gpk.Uint64,
}

// TestNumPyFunctions compares the functions of the table that NumPy has, and complex
// exponentials, on the default device with NumPy, by random and special elements, dense,
// strided, empty and 0-d.
func TestNumPyFunctions(t *testing.T) {
	byName := map[string]*ops.Row{}
	for i := range ops.Table {
		byName[ops.Table[i].Op.String()] = &ops.Table[i]
	}
	count := 0
	numpytest.Each(t, "testdata/numpy_functions.py", numpytest.Cases(t, 200), func(c *numpyFunction) {
		compareNumPy(t, byName[c.Op], c)
		count++
	})
	if count == 0 {
		t.Error("no calls")
	}
}

// compareNumPy calls a function as NumPy was called.
func compareNumPy(t *testing.T, row *ops.Row, c *numpyFunction) {
	t.Helper()
	dt := numpyTypes[c.Type]
	view := func(data []byte) *gpk.Array {
		a := arraytest.FromBytes(dt, data, c.Shape...)
		switch c.View {
		case "T":
			return a.Transpose()
		case "step":
			return a.Slice(0, 0, c.Shape[0], 2).Flip(1)
		}
		return a
	}
	a := view(c.A)
	var r *gpk.Array
	operands := []tensor{read(t, a)}
	if row.Kind == ops.Binary {
		b := view(c.B)
		operands = append(operands, read(t, b))
		r = binaryMethods[row.Op](a, b)
	} else {
		r = unaryMethods[row.Op](a)
	}
	got := evaluate(t, r)
	want := read(t, arraytest.FromBytes(numpyTypes[c.Result], c.Want, c.WantShape...))
	if got.dt != want.dt || !slices.Equal(got.shape, want.shape) {
		t.Fatalf("%s of %s %v%s: %v %v, want %v %v", c.Op, c.Type, c.Shape, c.View, got.dt, got.shape, want.dt, want.shape)
	}
	for i := range size(want.shape) {
		args := make([]complex128, len(operands))
		for k, x := range operands {
			if exact(dt) {
				args[k] = complex(float64(x.ints[i]), 0)
			} else {
				args[k] = x.values[i]
			}
		}
		if exact(got.dt) {
			if got.ints[i] != want.ints[i] {
				t.Errorf("%s of %s, %v: %d, want %d", c.Op, c.Type, args, got.ints[i], want.ints[i])
			}
			continue
		}
		if g, w := got.values[i], want.values[i]; !likeNumPy(row, dt, g, w, args) {
			t.Errorf("%s of %s, %v: %v, want %v", c.Op, c.Type, args, g, w)
		}
	}
}

// likeNumPy reports whether two results agree: NaN, infinities and the signs of zeros, and
// numbers within the row's bound and 4 ulp that NumPy may have.
func likeNumPy(row *ops.Row, dt gpk.DType, g, w complex128, args []complex128) bool {
	if !dt.IsComplex() {
		a, b := real(g), real(w)
		switch {
		case math.IsNaN(b) || math.IsNaN(a):
			return a != a && b != b
		case b == 0 && a == 0:
			return math.Signbit(a) == math.Signbit(b)
		case math.IsInf(a, 0) != math.IsInf(b, 0): // the last number of a type, and beyond
			return math.Abs(b) >= math.MaxFloat32*0.99999 && math.Abs(a) >= math.MaxFloat32*0.99999
		}
	}
	if g == w {
		return true
	}
	if !ops.Finite(real(w), imag(w)) { // part by part, but for the signs that C99 leaves open
		alike := func(a, b float64) bool {
			return math.Abs(a) == math.Abs(b) || a != a && b != b || b-b == 0 && math.Abs(a-b) <= 16*epsilon[dt]*math.Abs(b)
		}
		return alike(real(g), real(w)) && alike(imag(g), imag(w))
	}
	units := row.Error.Units(dt) + 4
	if dt == gpk.Float16 {
		units = 1
	}
	size := cmplx.Abs(w)
	switch {
	case row.Error.FromOne:
		size = max(size, 1, cmplx.Abs(args[0]))
	case row.Op == expr.Log:
		size++
	case row.Op == expr.Pow:
		units *= 2 * (1 + cmplx.Abs(args[1]*cmplx.Log(args[0])))
	}
	return cmplx.Abs(g-w) <= 2*units*epsilon[dt]*size+2*smallest(dt.Real())
}

package ops

import (
	"errors"
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
)

// hostView returns a dense view of data on the CPU.
func hostView(t *testing.T, data []float64, shape ...int) (*device.Stream, device.View) {
	t.Helper()
	host, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	buf, err := device.WrapHost(host, unsafe.Pointer(unsafe.SliceData(data)), int64(8*len(data)), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(buf.Free)
	return host.DefaultStream(), device.View{Buffer: buf, DType: dtype.Float64, Layout: layout.Dense(shape)}
}

func TestMakeLinspace(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		want   []float64
	}{
		{2, 3, []float64{2}},
		{1, 0, []float64{1, 0}},
		{0, 1, []float64{0, 0.25, 0.5, 0.75, 1}},
	} {
		got := slices.Repeat([]float64{math.NaN()}, len(c.want))
		s, dst := hostView(t, got, len(got))
		if err := Linspace(s, dst, c.lo, c.hi); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%v to %v: %v, %v", c.lo, c.hi, got, err)
		}
	}
	// The last number is exactly hi, even if the sum of the steps is not.
	for n := 2; n < 50; n++ {
		got := make([]float64, n)
		s, dst := hostView(t, got, n)
		if err := Linspace(s, dst, 0.1, 0.7); err != nil || got[0] != 0.1 || got[n-1] != 0.7 {
			t.Errorf("%d numbers: %v, %v", n, got, err)
		}
	}
}

func TestLinspaceBounds(t *testing.T) {
	for _, c := range []struct {
		dt     dtype.DType
		lo, hi float64
		n      int
		ok     bool
	}{
		{dtype.Int8, -128, 127.9, 5, true},
		{dtype.Int8, 0, 128, 2, false},
		{dtype.Int8, 0, 128, 1, true},
		{dtype.Int8, -129, 0, 1, false},
		{dtype.Int8, 999, 999, 0, true},
		{dtype.Uint8, -0.5, 1, 2, false},
		{dtype.Int32, math.NaN(), 1, 2, false},
		{dtype.Float16, math.Inf(1), 1e300, 2, true},
		{dtype.Invalid, 0, 1, 2, false},
	} {
		if err := LinspaceBounds(c.dt, c.lo, c.hi, c.n); (err == nil) != c.ok || err != nil && !errors.Is(err, dtype.ErrDType) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestMakeEye(t *testing.T) {
	got := slices.Repeat([]float64{7}, 9)
	s, dst := hostView(t, got, 3, 3)
	if err := Eye(s, dst, Scalar{math.Float64bits(1)}); err != nil || !slices.Equal(got, []float64{1, 0, 0, 0, 1, 0, 0, 0, 1}) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestMakeConcat(t *testing.T) {
	got := make([]float64, 6)
	s, dst := hostView(t, got, 2, 3)
	_, a := hostView(t, []float64{1, 2, 3, 4}, 2, 2)
	_, b := hostView(t, []float64{5, 6}, 2, 1)
	if err := Concat(s, dst, 1, []device.View{a, b}); err != nil || !slices.Equal(got, []float64{1, 2, 5, 3, 4, 6}) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestNormalBounds(t *testing.T) {
	for _, c := range []struct {
		dt        dtype.DType
		mean, std float64
		want      error
	}{
		{dtype.Float16, 1, 2, nil},
		{dtype.Invalid, 1, 2, nil}, // the caller reports it
		{dtype.Int32, 1, 2, dtype.ErrDType},
		{dtype.Complex64, 1, 2, dtype.ErrDType},
		{dtype.Float16, 1e6, 2, dtype.ErrDType},
		{dtype.Float64, math.NaN(), 2, ErrNonFinite},
		{dtype.Float64, 0, math.Inf(1), ErrNonFinite},
		{dtype.Float64, 0, -1, expr.ErrUnsupported},
	} {
		if err := NormalBounds(c.dt, c.mean, c.std); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestScalarFloat32(t *testing.T) {
	for _, dt := range dtype.All {
		v, err := ScalarOf(dt, 1, "")
		if err != nil {
			t.Fatal(err)
		}
		want := dt == dtype.Float32 || dt.IsHalf()
		if x, ok := v.Float32(dt); ok != want || ok && x != 1 {
			t.Errorf("%v: %v, %v", dt, x, ok)
		}
	}
}

package matmul

import (
	"errors"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
)

// TestResolve: the call beats SetPrecision, which beats GPK_NO_TF32; an invalid
// precision or an invalid switch is an error.
func TestResolve(t *testing.T) {
	defer SetPrecision(SetPrecision(Default))
	for _, c := range []struct {
		call, set Precision
		no        string
		dt        dtype.DType
		want      Precision
		err       error
	}{
		{Default, Default, "", dtype.Float32, TF32, nil},
		{Default, Default, "1", dtype.Float32, FullPrecision, nil},
		{Default, Default, "yes", dtype.Float32, FullPrecision, nil},
		{Default, Default, "on", dtype.Float32, FullPrecision, nil},
		{Default, Default, "0", dtype.Float32, TF32, nil},
		{Default, Default, "false", dtype.Float32, TF32, nil},
		{Default, Default, "no", dtype.Float32, TF32, nil},
		{Default, Default, "maybe", dtype.Float32, 0, device.ErrDevice},
		{Default, TF32, "maybe", dtype.Float32, TF32, nil},
		{FullPrecision, TF32, "maybe", dtype.Float32, FullPrecision, nil},
		{Default, Default, "0", dtype.Complex64, FullPrecision, nil},
		{Default, TF32, "1", dtype.Complex64, TF32, nil},
		{Default, 99, "", dtype.Float32, 0, dtype.ErrDType},
		{Default, 99, "", dtype.Complex64, 0, dtype.ErrDType},
		{TF32, 99, "", dtype.Float32, TF32, nil},
		{Default, 99, "", dtype.Float64, Default, nil},
		{99, Default, "", dtype.Float32, 0, dtype.ErrDType},
		{TF32, Default, "", dtype.Float64, 0, dtype.ErrDType},
		{FullPrecision, TF32, "", dtype.Float64, Default, nil},
	} {
		SetPrecision(c.set)
		t.Setenv("GPK_NO_TF32", c.no)
		got, err := Options{Precision: c.call}.Resolve(c.dt)
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%+v: %v, %v", c, got, err)
		}
	}
}

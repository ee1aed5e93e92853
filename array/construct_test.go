package array

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/dtype"
)

// TestNumbers checks that a number that a type cannot represent is an error with usable
// advice, and that floats overflow to Inf.
func TestNumbers(t *testing.T) {
	for what, c := range map[string]struct {
		err    error
		is     error
		advice string
	}{
		"Full(uint8, -1)":   {Full(dtype.Uint8, -1, 2).Err(), dtype.ErrDType, "name a type"},
		"Full(int32, 0.5)":  {Full(dtype.Int32, 0.5).Err(), dtype.ErrDType, "name a type"},
		"Full(float32, i)":  {Full(dtype.Float32, 1i).Err(), dtype.ErrDType, "name a type"},
		"Arange(int8, 129)": {Arange(dtype.Int8, 129).Err(), dtype.ErrDType, "name a type"},
		"uint8.Add(-1)":     {Zeros(dtype.Uint8, 2).Add(-1).Err(), dtype.ErrDType, "Cast the array"},
		"int32.Div(2)":      {Zeros(dtype.Int32, 2).Div(2).Err(), dtype.ErrDType, "Cast(gpk.Float32)"},
		"float32.And(1)":    {Zeros(dtype.Float32, 2).And(1).Err(), dtype.ErrDType, "Cast(gpk.Int32)"},
		"Linspace of int8":  {Linspace(dtype.Int8, -1000, 1000, 3).Err(), dtype.ErrDType, "from -1000 to 1000"},
		"Linspace above":    {Linspace(dtype.Int8, 0, 128, 2).Err(), dtype.ErrDType, "from 0 to 128"},
		"Linspace of NaN":   {Linspace(dtype.Int64, math.NaN(), 0, 2).Err(), dtype.ErrDType, "NaN"},
		"Linspace to Inf":   {Linspace(dtype.Int64, 0, math.Inf(1), 2).Err(), dtype.ErrDType, "Inf"},
	} {
		if !errors.Is(c.err, c.is) || !strings.Contains(c.err.Error(), c.advice) || strings.Contains(c.err.Error(), "Cast the array") != (c.advice == "Cast the array") {
			t.Errorf("%s: %v", what, c.err)
		}
	}
	for what, err := range map[string]error{
		"Linspace within int8":   Linspace(dtype.Int8, -128, 127.9, 9).Err(),
		"Linspace of one number": Linspace(dtype.Int8, 3, 1000, 1).Err(),
		"Linspace of none":       Linspace(dtype.Int8, -1000, 1000, 0).Err(),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	halves := []*Array{
		Full(dtype.Float16, 1e6), Ones(dtype.Float16).Add(70000), Arange(dtype.Float16, 65521).Slice(0, 65520, 65521),
		Ones(dtype.Float16, 1).Pad([][2]int{{1, 0}}, 1e9).Slice(0, 0, 1),
	}
	for i, a := range halves {
		if v, err := Item[float64](a.Cast(dtype.Float64)); err != nil || !math.IsInf(v, 1) {
			t.Errorf("overflow %d: %v, %v; want Inf", i, v, err)
		}
	}
}

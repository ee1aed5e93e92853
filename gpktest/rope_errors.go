package gpktest

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

// testRoPEErrors gives RoPE what it must refuse.
func testRoPEErrors(t *testing.T, s *suite) {
	f := func(shape ...int) *gpk.Array { return gpk.Ones(gpk.Float32, shape...) }
	p := func(shape ...int) *gpk.Array { return gpk.Zeros(gpk.Int32, shape...) }
	x, r := f(2, 4, 5, 8), f(4, 6, 8)
	type options = gpk.RoPEOptions
	freed := p(5)
	freed.Free()
	for what, c := range map[string]struct {
		x, positions *gpk.Array
		opts         options
		want         error
		said         string
	}{
		"two axes":             {f(5, 8), p(5), options{}, gpk.ErrShape, "[heads, total, dim]"},
		"five axes":            {f(1, 1, 1, 5, 8), p(5), options{}, gpk.ErrShape, "[heads, total, dim]"},
		"no axes":              {f(), p(5), options{}, gpk.ErrShape, "[heads, total, dim]"},
		"positions":            {x, p(4), options{}, gpk.ErrShape, "[4]"},
		"positions of batches": {x, p(1, 5), options{}, gpk.ErrShape, "[1 5]"},
		"positions, 0-d":       {x, p(), options{}, gpk.ErrShape, "[]"},
		"positions, 3 axes":    {x, p(2, 1, 5), options{}, gpk.ErrShape, "[2 1 5]"},
		"positions, ragged":    {r, p(4, 6), options{}, gpk.ErrShape, "[total]"},
		"odd":                  {f(1, 1, 2, 7), p(2), options{}, gpk.ErrShape, "7 features do not divide into pairs"},
		"an odd part":          {x, p(5), options{Dim: 3}, gpk.ErrShape, "3 features do not divide into pairs"},
		"a part too large":     {x, p(5), options{Dim: 10}, gpk.ErrShape, "10 features to turn, and x has 8"},
		"a negative part":      {x, p(5), options{Dim: -2}, gpk.ErrShape, "-2 features"},
		"float positions":      {x, f(5), options{}, gpk.ErrDType, "Cast(gpk.Int64)"},
		"small positions":      {x, p(5).Cast(gpk.Int8), options{}, gpk.ErrDType, "int8"},
		"integers":             {x.Cast(gpk.Int32), p(5), options{}, gpk.ErrDType, "int32"},
		"complex":              {x.Cast(gpk.Complex64), p(5), options{}, gpk.ErrDType, "complex64"},
		"a negative base":      {x, p(5), options{Base: -10000}, gpk.ErrUnsupported, "-10000"},
		"a base of NaN":        {x, p(5), options{Base: math.NaN()}, gpk.ErrUnsupported, "NaN"},
		"an empty scaling":     {x, p(5), options{Scaling: &gpk.RoPEScaling{}}, gpk.ErrUnsupported, "Factor of 0"},
		"nil":                  {nil, p(5), options{}, gpk.ErrShape, "nil"},
		"zero positions":       {x, new(gpk.Array), options{}, gpk.ErrShape, "nil"},
		"freed":                {x, freed, options{}, gpk.ErrFreed, "Free"},
		"packed":               {gpk.Pack(f(3, 3)), p(5), options{}, gpk.ErrUnsupported, "packed"},
	} {
		a := gpk.RoPEWith(c.x, c.positions, c.opts)
		err := a.Err()
		if err == nil {
			err = gpk.Eval(a)
		}
		refusedBy(t, what, err, c.want, "RoPEWith", "rope_errors.go:")
		if err == nil || !strings.Contains(err.Error(), c.said) {
			t.Errorf("%s: %v does not say %q", what, err, c.said)
		}
	}
	refusedBy(t, "RoPE", gpk.RoPE(x, p(4), 0).Err(), gpk.ErrShape, "RoPE", "rope_errors.go:")
	refusedBy(t, "sticky", gpk.RoPE(x.Reshape(3), p(4), 0).Err(), gpk.ErrShape, "Reshape", "rope_errors.go:")
	if cpu, err := device.Open("cpu"); err == nil && cpu != s.dev {
		refusedBy(t, "devices", gpk.RoPE(x, p(5).To(cpu), 0).Err(), gpk.ErrDevice, "RoPE", "rope_errors.go:")
	}
	if text := gpk.RoPE(x, nil, 0).Explain(); !strings.Contains(text, "RoPE: ") || s.dev.Kind() != device.CPU && !strings.Contains(text, "one kernel") {
		t.Errorf("Explain says %q", text)
	}
	if !slices.Equal(gpk.RoPE(x, nil, 0).Shape(), x.Shape()) {
		t.Error("another shape")
	}
}

// refusedBy checks the cause of an error, the operation that it names, and the file.
func refusedBy(t *testing.T, what string, err, want error, op, file string) {
	t.Helper()
	var oe *gpk.OpError
	switch {
	case !errors.Is(err, want):
		t.Errorf("%s: %v, want %v", what, err, want)
	case !errors.As(err, &oe) || oe.Op != op || !strings.Contains(oe.Site, file):
		t.Errorf("%s: not the error of %s in %s: %v", what, op, file, err)
	}
}

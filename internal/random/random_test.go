package random_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/niltest"
	"github.com/gpk-go/gpk/internal/random"
)

// TestNil calls everything with nil, with zero values and with numbers as far out as
// they go.
func TestNil(t *testing.T) {
	cpu, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer device.SetDefault(device.SetDefault(cpu))
	niltest.Run(t, niltest.Package{
		Values:    []func() any{func() any { return random.NewRNG(1) }},
		Functions: map[string]any{"NewRNG": random.NewRNG},
	})
}

// TestNumbers checks that numbers that a type cannot represent are errors, which name the call, its
// line and its arguments.
func TestNumbers(t *testing.T) {
	rng := random.NewRNG(1)
	for what, c := range map[string]struct {
		err    error
		is     error
		advice string
	}{
		"Normal, std -1":       {rng.Normal(dtype.Float32, 0, -1, 2).Err(), expr.ErrUnsupported, "negative"},
		"Normal, float16 mean": {rng.Normal(dtype.Float16, 1e9, 1, 2).Err(), dtype.ErrDType, "float16 does not hold"},
		"Normal, float16 std":  {rng.Normal(dtype.Float16, 0, 1e9, 2).Err(), dtype.ErrDType, "float16 does not hold"},
		"Normal, float32 mean": {rng.Normal(dtype.Float32, -1e39, 1, 2).Err(), dtype.ErrDType, "float32 does not hold"},
		"the call":             {rng.Normal(dtype.Float32, 0, -1, 2, 3).Err(), expr.ErrUnsupported, "gpk: Normal([2 3] float32) at random/random_test.go:"},
	} {
		if !errors.Is(c.err, c.is) || !strings.Contains(c.err.Error(), c.advice) || strings.Contains(c.err.Error(), "Cast the array") {
			t.Errorf("%s: %v", what, c.err)
		}
	}
	for what, err := range map[string]error{
		"Normal with std 0":   rng.Normal(dtype.Float16, 60000, 0, 2).Err(),
		"float64 of anything": rng.Normal(dtype.Float64, 1e300, 1e300, 2).Err(),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

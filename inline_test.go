package gpk_test

import (
	"os"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

// TestIntoAllocates: seen from another package, an operation that ends in Into
// allocates nothing, not even the Array between.
func TestIntoAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("sync.Pool drops what it is given at random when the race detector watches")
	}
	if v := os.Getenv("GPK_EAGER"); v != "" && v != "0" {
		t.Skip("with GPK_EAGER an operation starts, and allocates, before Into is called")
	}
	cpu, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer device.SetDefault(device.SetDefault(cpu))
	dst, x, y := gpk.Zeros(gpk.Float32, 16), gpk.Ones(gpk.Float32, 16), gpk.Ones(gpk.Float32, 16)
	if err := gpk.Eval(dst, x, y); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func() error{
		"Add":      func() error { return gpk.Into(dst, x.Add(y)) },
		"Add of 1": func() error { return gpk.Into(dst, x.Add(1)) },
		"gpk.Add":  func() error { return gpk.Into(dst, gpk.Add(x, y)) },
		"1 - x":    func() error { return gpk.Into(dst, gpk.Sub(1, x)) },
		"Sub":      func() error { return gpk.Into(dst, x.Sub(y)) },
		"Mul":      func() error { return gpk.Into(dst, x.Mul(y)) },
		"Div":      func() error { return gpk.Into(dst, x.Div(y)) },
		"Neg":      func() error { return gpk.Into(dst, x.Neg()) },
		"ReLU":     func() error { return gpk.Into(dst, x.ReLU()) },
		"GELU":     func() error { return gpk.Into(dst, x.GELU()) },
		"GELUTanh": func() error { return gpk.Into(dst, x.GELUTanh()) },
		"SiLU":     func() error { return gpk.Into(dst, x.SiLU()) },
	} {
		if err := f(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if n := testing.AllocsPerRun(100, func() {
			if err := f(); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

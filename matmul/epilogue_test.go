package matmul

import (
	"testing"

	"github.com/gpk-go/gpk/cutlass"
)

func TestSmoothFunctionsJoinWhereProductsHideThem(t *testing.T) {
	for _, c := range []struct {
		schedule string
		k        int
		want     bool
	}{
		{"pingpong", 1023, false},
		{"pingpong", 1024, true},
		{"cooperative", 1024, false},
		{"cooperative", 4095, false},
		{"cooperative", 4096, true},
		{"single", 1024, false},
		{"streamk", 4096, true},
	} {
		cand := candidate{kernel: cutlass.Kernel{Schedule: c.schedule}}
		if got := cand.hidesSmooth(c.k); got != c.want {
			t.Errorf("%s, k = %d: %t", c.schedule, c.k, got)
		}
	}
}

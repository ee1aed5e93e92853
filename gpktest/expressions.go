package gpktest

import (
	"errors"
	"flag"
	"math"
	"slices"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

// expressions asks for so many random expressions. A GPU compiles kernels for each.
var expressions = flag.Int("gpktest.expressions", 0, "how many random expressions are tried; 0: 5,000 on the CPU, 300 on a GPU, and 60 in a short run")

// testExpressions runs random programs twice: with every operation started on its line,
// and with everything pending for as long as it can be. All results agree bit for bit.
// Only an intermediate result whose operand was freed may answer ErrFreed.
func testExpressions(t *testing.T, s *suite) {
	n := *expressions
	if n == 0 {
		switch n = 300; {
		case quick():
			n = 60
		case s.dev.Kind() == device.CPU:
			n = 5000
		}
	}
	compared, lost := 0, 0
	for range n {
		seed := s.rng.Uint64()
		eager := newScript(seed)
		eager.eager = true
		eager.run()
		lazy := newScript(seed)
		lazy.kinds = eager.kinds
		lazy.run()
		if eager.err != nil || lazy.err != nil {
			t.Fatalf("seed %#x: %v, eagerly %v\n%s", seed, lazy.err, eager.err, lazy.text)
		}
		for i, got := range lazy.results {
			want := eager.results[i]
			switch {
			case want.err != nil:
				t.Fatalf("seed %#x: result %d, eagerly: %v\n%s", seed, i, want.err, eager.text)
			case got.err != nil && got.mayBeLost && namesBothLines(got.err):
				lost++
			case got.err != nil:
				t.Fatalf("seed %#x: result %d: %v\n%s", seed, i, got.err, lazy.text)
			default:
				compared++
				if k := differ(got.value, want.value); k >= 0 {
					t.Fatalf("seed %#x: result %d, %v %v, differs at element %d: %v, eagerly %v\n%s\n%s", seed, i, got.value.dt, got.value.shape, k, got.value.at(k), want.value.at(k), got.plan, lazy.text)
				}
			}
		}
	}
	t.Logf("%d programs, %d results compared, %d of lost intermediate results", n, compared, lost)
	if compared < 2*n {
		t.Errorf("only %d results of %d programs could be compared", compared, n)
	}
}

// namesBothLines reports an ErrFreed with the line that made an array and the line that
// freed what it is computed from.
func namesBothLines(err error) bool {
	var oe *gpk.OpError
	return errors.Is(err, gpk.ErrFreed) && errors.As(err, &oe) && oe.Site != "" && strings.Contains(err.Error(), "freed by")
}

// at returns an element for printing.
func (x tensor) at(i int) any {
	if exact(x.dt) {
		return x.ints[i]
	}
	return x.values[i]
}

// differ returns the first element whose bits differ, NaN aside; -1 for none.
func differ(x, y tensor) int {
	if x.dt != y.dt || !slices.Equal(x.shape, y.shape) {
		return 0
	}
	same := func(a, b float64) bool {
		return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
	}
	for i := range x.ints {
		if x.ints[i] != y.ints[i] {
			return i
		}
	}
	for i := range x.values {
		if !same(real(x.values[i]), real(y.values[i])) || !same(imag(x.values[i]), imag(y.values[i])) {
			return i
		}
	}
	return -1
}

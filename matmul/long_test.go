package matmul

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/testrand"
)

// longProblem draws a problem with few results and a long k.
func longProblem(rng *rand.Rand, a, out dtype.DType, k int) Problem {
	aligned := func() int { return a.Size() << rng.IntN(2) }
	return Problem{
		M: 1 + rng.IntN(12), N: 1 + rng.IntN(12), K: k, A: a, B: a, Out: out, LayoutA: Layout(rng.IntN(2)), LayoutB: Layout(rng.IntN(2)),
		AlignA: aligned(), AlignB: aligned(), AlignC: 1 + (out.Size()-1)*rng.IntN(2), // 1: a strided destination
	}
}

// TestLongK checks the parts of k of every candidate for few results of a long k: together they are k, their lengths are
// those that the kernel can read, and the plan is the same each time.
func TestLongK(t *testing.T) {
	rng := testrand.New(t)
	for _, sm := range []int{80, 90, 100} {
		c := device.CapabilitiesOf(sm)
		c.MultiProcessors = 100 + rng.IntN(80)
		for _, types := range [][2]dtype.DType{
			{dtype.Float32, dtype.Float32},
			{dtype.Float64, dtype.Float64},
			{dtype.Float16, dtype.Float16},
			{dtype.BFloat16, dtype.Float32},
			{dtype.Complex64, dtype.Complex64},
			{dtype.Complex128, dtype.Complex128},
		} {
			for _, k := range []int{longK, longK + 1, 65_537, 2*longK + rng.IntN(1<<20)} {
				p := longProblem(rng, types[0], types[1], k)
				found, err := rank(p, c, "", cutlass.Kernels())
				if err != nil {
					t.Fatalf("%v on SM %d: %v", p, sm, err)
				}
				if found[0].parts < 2 && k != longK+1 { // a last part is another launch, so k just above longK may be left whole
					t.Errorf("%v on SM %d: %s does not divide k", p, sm, found[0].kernel.Name)
				}
				for i := range found {
					checkParts(t, p, &found[i])
				}
				again, _ := rank(p, c, "", cutlass.Kernels())
				if again[0].name() != found[0].name() || again[0].parts != found[0].parts || again[0].partK != found[0].partK {
					t.Errorf("%v on SM %d: another plan the second time", p, sm)
				}
			}
		}
	}
}

// checkParts checks the parts of a candidate, if it has some.
func checkParts(t *testing.T, p Problem, c *candidate) {
	t.Helper()
	if c.parts == 0 {
		return
	}
	unit := max(c.kernel.AlignA, c.kernel.AlignB) / p.A.Size()
	switch {
	case c.partK <= 0 || c.partK%unit != 0 || c.partK%c.kernel.MultipleK != 0:
		t.Errorf("%v: %s has parts of length %d", p, c.name(), c.partK)
	case (c.parts-1)*c.partK >= c.k || c.parts*c.partK < c.k:
		t.Errorf("%v: %d parts of %s of length %d are not %d", p, c.parts, c.name(), c.partK, c.k)
	case c.workspace < int64(c.parts*p.M*p.N*partType(p).Size()):
		t.Errorf("%v: %s has a workspace of %d bytes", p, c.name(), c.workspace)
	}
}

// TestWholeK checks that a shorter k, integers, batches and special products are not divided.
func TestWholeK(t *testing.T) {
	rng := testrand.New(t)
	c := sm90
	c.MultiProcessors = 132
	for what, p := range map[string]Problem{
		"a shorter k":       longProblem(rng, dtype.Float32, dtype.Float32, longK-1),
		"integers":          longProblem(rng, dtype.Int8, dtype.Int32, 1<<18),
		"a batch":           longProblem(rng, dtype.Float64, dtype.Float64, 1<<18),
		"a squared modulus": longProblem(rng, dtype.Complex64, dtype.Float32, 1<<18),
		"many tiles":        longProblem(rng, dtype.Float64, dtype.Float64, 1<<18),
	} {
		switch what {
		case "a batch":
			p.Batch = 2
		case "a squared modulus":
			p.AbsSquare = true
		case "many tiles":
			p.M, p.N = 3000, 3000
		}
		found, err := rank(p, c, "", cutlass.Kernels())
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		for i := range found {
			if found[i].parts > 0 || found[i].kernel.Schedule == "long" && !strings.HasPrefix(what, "a squared") {
				t.Errorf("%s: %s", what, found[i].name())
			}
		}
	}
}

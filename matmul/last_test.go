package matmul

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/dtype"
)

// TestCutLast: another kernel computes the last rows if the other tiles fill the
// multiprocessors. The predicted time is then less than that of any single kernel.
func TestCutLast(t *testing.T) {
	dev := sm90
	dev.MultiProcessors = 132
	for _, c := range []struct {
		p     Problem
		last  int
		steps string
	}{
		{Problem{M: 4097, N: 4097, K: 4097, A: bf16}, 1, "padA padB kernel kernel copy outD"},
		{Problem{M: 4097, N: 4097, K: 4097, A: fp16}, 1, "padA padB kernel kernel copy outD"},
		{Problem{M: 2049, N: 2048, K: 2048, A: bf16, AlignA: 16, AlignB: 16, AlignC: 16}, 1, "kernel kernel"},
		{Problem{M: 2063, N: 2048, K: 1024, A: fp16, LayoutA: ColMajor, AlignA: 16, AlignB: 16, AlignC: 16}, 15, "kernel kernel"},
		{Problem{M: 2063, N: 2048, K: 1024, A: fp16, LayoutB: ColMajor, AlignA: 16, AlignB: 16, AlignC: 16}, 15, "kernel kernel"},
		{Problem{M: 2064 + maxLastRows, N: 2048, K: 1024, A: fp16, AlignA: 16, AlignB: 16, AlignC: 16}, 0, "kernel"},
		{Problem{M: 4096, N: 4096, K: 4096, A: bf16, AlignA: 16, AlignB: 16, AlignC: 16}, 0, "kernel"},
		{Problem{M: 4095, N: 4095, K: 4095, A: bf16}, 0, "padA padB kernel"},
		{Problem{M: 2049, N: 2048, K: 2048, Batch: 2, A: bf16, AlignA: 16, AlignB: 16, AlignC: 16}, 0, "kernel"},
		{Problem{M: 2049, N: 2048, K: 2048, A: bf16, Out: dtype.Float32, AbsSquare: true, AlignA: 16, AlignB: 16, AlignC: 16}, 0, "kernel squareD"},
		{Problem{M: 1, N: 4097, K: 4097, A: bf16, AlignA: 16, AlignB: 16, AlignC: 16}, 0, ""},
	} {
		c.p.B = c.p.A
		plan, got, err := choose(c.p, dev, "", manifest)
		if err != nil {
			t.Fatal(err)
		}
		if got.lastRows != c.last || (got.last != nil) != (c.last > 0) || c.steps != "" && kinds(plan) != c.steps {
			t.Errorf("%v: the last %d rows are cut, by %q, want %d, by %q", c.p, got.lastRows, kinds(plan), c.last, c.steps)
		}
		if c.last == 0 {
			continue
		}
		if !strings.Contains(plan.String(), "the last ") {
			t.Errorf("%v: the plan does not name the last rows: %v", c.p, plan)
		}
		for _, k := range manifest {
			if k.SM != 90 {
				continue // not chosen for this problem
			}
			found, err := rank(c.p, dev, k.Name, manifest)
			if err != nil {
				continue
			}
			if slices.ContainsFunc(found, func(x candidate) bool { return x.last != nil }) {
				t.Errorf("%v: %s is forced, but another kernel computes the last rows", c.p, k.Name)
			}
			if found[0].cycles < got.cycles {
				t.Errorf("%v: %s alone takes %s, cut %s", c.p, k.Name, found[0].predicted(), got.predicted())
			}
		}
		if last := got.last; last.last != nil || last.workspace > got.workspace || last.cycles >= got.cycles {
			t.Errorf("%v: its last rows: %s, %d bytes of %d", c.p, last.predicted(), last.workspace, got.workspace)
		}
	}
}

// TestCutLastPadded: the last rows are not cut if the copies have a padded k, because
// their kernel would read the padding as part of k.
func TestCutLastPadded(t *testing.T) {
	dev := sm90
	dev.MultiProcessors = 132
	p, err := Problem{M: 4097, N: 4097, K: 4097, A: bf16, B: bf16}.normal()
	if err != nil {
		t.Fatal(err)
	}
	name := "sm90_bf16_bf16_rr_128x128x64_2x1_direct_pingpong"
	k := manifest[slices.IndexFunc(manifest, func(k cutlass.Kernel) bool { return k.Name == name })]
	for multiple, want := range map[int]int{1: 1, 8: 0} {
		k.MultipleK = multiple
		c, ok := fit(p, k, dev)
		if !ok {
			t.Fatal(name)
		}
		if c.cutLast(p, dev, manifest, math.Inf(1), lastRanks{}); c.lastRows != want {
			t.Errorf("with k a multiple of %d the last %d rows are cut, want %d", multiple, c.lastRows, want)
		}
	}
}

package quantum

import (
	"math"
	"testing"

	"github.com/gpk-go/gpk/device"
)

// TestPlanProducts: what a GPU multiplies at once fits beside states and K, and is
// done before the context has ended for long.
func TestPlanProducts(t *testing.T) {
	rng := seeded(t)
	gpu := device.Info{Kind: device.CUDA, TotalMemory: 143771 << 20}
	plans := 0
	for range 500 {
		q := 4 + rng.IntN(18)
		n := 1 + rng.IntN(90000)
		o := Options{Precision: Precision(rng.IntN(3)), Path: General, Keep: Keep(rng.IntN(3)), MemoryBudget: int64(math.Exp(17 + rng.Float64()*8.5)), Autotune: rng.IntN(4) == 0}
		if rng.IntN(3) == 0 {
			o.Output = &memoryFile{}
		}
		k := compiled(t, reuploaded(q), General)
		p, err := k.plan(n, 0, gpu, o)
		if err != nil {
			continue
		}
		plans++
		if p.side < 1 || p.side > p.Tile/2 || p.PeakBytes > o.MemoryBudget {
			t.Fatalf("q=%d n=%d %+v: %+v", q, n, o, p)
		}
		side := min(p.side, n)
		if s := k.tileSeconds(o.Precision, side, side); side > 1 && s > tileTime {
			t.Errorf("q=%d n=%d %+v: a product of %d takes %.2g s", q, n, o, side, s)
		}
		need := k.tileWorkspace(o.Precision, side, side, n, p.OnHost || o.Output != nil)
		if side > 1 && p.States+p.Result+need > o.MemoryBudget {
			t.Errorf("q=%d n=%d %+v: %+v, and products take %d bytes", q, n, o, p, need)
		}
	}
	if plans < 100 {
		t.Errorf("%d plans", plans)
	}
	// A tile that was asked for is multiplied in parts where memory is short.
	k := compiled(t, reuploaded(12), General)
	p, err := k.plan(20000, 0, gpu, Options{Precision: Double, MemoryBudget: 5 << 30, Tile: 32768, Keep: KeepAll})
	if err != nil || p.Tile != 32768 || p.side >= 16384 || p.PeakBytes > 5<<30 {
		t.Errorf("%+v, %v", p, err)
	}
}

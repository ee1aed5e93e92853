package matmul

import (
	"strings"
	"testing"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
)

// The numbers are those of CUTLASS 4.2's PersistentTileSchedulerSm90StreamKParams for
// 132 multiprocessors, tiles of 128 x 128 x 64 and clusters of 2 x 1.
func TestStreamKDealsAsCUTLASSDoes(t *testing.T) {
	kernel := cutlass.Kernel{Tile: [3]int{128, 128, 64}, Cluster: [2]int{2, 1}, Schedule: "streamk"}
	for _, c := range []struct {
		m, k, n, batch            int
		whole, shared, ctas, cuts int
		bytes                     int64
	}{
		{768, 4096, 3072, 1, 0, 144, 132, 2, 9438336},
		{512, 16384, 512, 1, 0, 16, 132, 10, 1048704},
		{100, 5000, 264, 1, 0, 6, 58, 11, 393344},
		{3072, 3072, 3072, 1, 3, 180, 132, 2, 11798016},
		{700, 4104, 328, 3, 0, 54, 132, 4, 3539456},
		{1537, 4096, 1544, 1, 0, 182, 132, 2, 11929088},
		{640, 8192, 1280, 1, 0, 60, 132, 4, 3932672},
		{2900, 584, 1536, 1, 1, 156, 132, 2, 10224896},
		{65, 16384, 136, 1, 0, 4, 128, 32, 4*65536 + 128},
		{70, 1100, 136, 1, 0, 4, 8, 2, 4*65536 + 128},
		{1000, 8192, 1032, 1, 1, 0, 0, 1, 0},
		{2048, 2048, 2048, 1, 2, 0, 0, 1, 0},
		{64, 64, 64, 1, 1, 0, 0, 1, 0},
	} {
		p := Problem{M: c.m, N: c.n, K: c.k, Batch: c.batch}
		d := streamKOf(p, kernel, device.Capabilities{SM: 90, MultiProcessors: 132})
		if d.wholeTiles != c.whole || d.sharedTiles != c.shared || d.ctas != c.ctas || d.parts() != c.cuts || d.bytes(kernel) != c.bytes {
			t.Errorf("%d x %d x %d, batch %d: %d whole tiles, %d shared by %d CTAs in at most %d parts, %d bytes; want %d, %d, %d, %d, %d",
				c.m, c.k, c.n, c.batch, d.wholeTiles, d.sharedTiles, d.ctas, d.parts(), d.bytes(kernel), c.whole, c.shared, c.ctas, c.cuts, c.bytes)
		}
	}
}

// If no tile is shared, the kernel is chosen only if it is forced.
func TestStreamKIsAskedFor(t *testing.T) {
	hopper := device.Capabilities{SM: 90, MultiProcessors: 132}
	name := "sm90_bf16_bf16_rr_128x128x64_2x1_streamk"
	even := Problem{M: 2048, N: 2048, K: 2048, A: bf16, B: bf16, AlignA: 16, AlignB: 16, AlignC: 16}
	plan, _, err := choose(even, hopper, name, cutlass.Kernels())
	if err != nil || plan.Kernel != name || plan.Workspace != 0 {
		t.Errorf("asked for: %v, %v", plan, err)
	}
	plan, err = Choose(even, hopper)
	if err != nil || strings.Contains(plan.String(), "streamk") {
		t.Errorf("%v, %v", plan, err)
	}
	few := Problem{M: 768, N: 3072, K: 4096, A: bf16, B: bf16, AlignA: 16, AlignB: 16, AlignC: 16}
	plan, err = Choose(few, hopper)
	if err != nil || plan.Kernel != name || plan.Workspace != 9438336 || !strings.Contains(plan.String(), "of 144 tiles over 132 CTAs by stream-K") {
		t.Errorf("%v, %v", plan, err)
	}
}

// A block of a symmetric result can share more tiles than the whole result. The
// workspace suffices for every block.
func TestStreamKOfBlocks(t *testing.T) {
	hopper := device.Capabilities{SM: 90, MultiProcessors: 132}
	more := 0
	for _, m := range []int{3336, 7616, 8192} {
		p := Problem{M: m, N: m, K: 4096, A: bf16, B: bf16, LayoutB: ColMajor, AlignA: 16, AlignB: 16, AlignC: 16, Symmetric: true}
		plan, c, err := choose(p, hopper, "sm90_bf16_bf16_rc_128x128x64_2x1_streamk", manifest)
		if err != nil {
			t.Fatal(err)
		}
		p.Batch = 1
		for _, b := range blocks(p.M, c.rows, true) {
			q := p
			q.M, q.N = b.rows, p.N-b.col
			need := streamKOf(q, c.kernel, hopper).bytes(c.kernel)
			if need > plan.Workspace {
				t.Errorf("%d: the block %v needs %d bytes of workspace, the plan has %d", m, b, need, plan.Workspace)
			}
			if need > streamKOf(p, c.kernel, hopper).bytes(c.kernel) {
				more++
			}
		}
	}
	if more == 0 {
		t.Error("no block needs more than all of the result")
	}
}

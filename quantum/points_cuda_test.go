package quantum

import (
	"context"
	"slices"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/testrand"
)

// setDirect has the slots of c's wires compute their angles themselves or not.
func setDirect(t *testing.T, c *Circuit, direct bool) {
	t.Helper()
	w := compiled(t, c, Auto).encoded().wires
	if w == nil {
		t.Fatal("no single wires")
	}
	w.direct = direct
}

// TestPointBits: K is the same bit for bit where slots compute their angles themselves and
// where they read them, of samples of either type, in any order of memory.
func TestPointBits(t *testing.T) {
	onCPU(t)
	if testDevice(t).Kind() != device.CUDA {
		t.Skip("on a CPU slots always read their angles; -quantum.device=cuda compares a GPU's two ways")
	}
	rng := testrand.New(t)
	for name, c := range singleWires() {
		f := max(c.Features(), 6)
		for _, n := range []int{1, 3, 129, 300} {
			x := arrayOf(randomSamples(rng, n, f), f)
			turned := gpk.FromSlice(flat(randomSamples(rng, f, n)), f, n).Transpose()
			for form, x := range map[string]*gpk.Array{"float64": x, "float32": x.Cast(gpk.Float32), "transposed": turned, "part": x.Cast(gpk.Float32).Slice(0, n/3, n)} {
				for _, o := range []Options{{}, {Precision: Double}, {Tile: 80}, {Normalize: true}} {
					for _, y := range []*gpk.Array{nil, x.Slice(0, 0, (n+1)/2)} {
						var got [2][]uint64
						for i, direct := range []bool{false, true} {
							setDirect(t, c, direct)
							r, err := Gram(context.Background(), c, x, y, o)
							if err != nil {
								t.Fatalf("%s, %d samples, %s, %+v: %v", name, n, form, o, err)
							}
							got[i] = bitsOf(t, r.K)
							r.K.Free()
						}
						if !slices.Equal(got[0], got[1]) {
							t.Errorf("%s, %d samples, %s, %+v, y %v: other bits", name, n, form, o, y != nil)
						}
					}
				}
			}
		}
	}
}

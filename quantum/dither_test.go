package quantum

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestAlike computes circuits whose amplitudes are similar, with one angle in many gates
// or equal magnitudes everywhere, for which float32 errors of one sign add up. K stays
// within the bound of its precision, and the diagonal within the checked limit.
func TestAlike(t *testing.T) {
	onCPU(t)
	rng := testrand.New(t)
	x := Feature(0)
	ring := func(c *Circuit) {
		for i := range c.qubits {
			c.CZ(i, (i+1)%c.qubits)
		}
	}
	uploaded := func(q, layers int, rz bool) *Circuit {
		c := NewCircuit(q)
		for range layers {
			for i := range q {
				c.RY(i, x)
				if rz {
					c.RZ(i, x)
				}
			}
			ring(c)
		}
		for i := range q {
			c.RY(i, x)
		}
		return c
	}
	uniform := func(q int) *Circuit { // every wire has the same gates and the same angle
		c := NewCircuit(q)
		for i := range q {
			c.H(i).RX(i, x)
		}
		return c
	}
	sizes := []int{7, 8, 11}
	if !testing.Short() && testDevice(t).Kind() == device.CPU {
		sizes = append(sizes, 14)
	}
	const n = 40
	samples := randomSamples(rng, n, 1)
	for _, q := range sizes {
		for name, c := range map[string]*Circuit{"uniform": uniform(q), "twice": uploaded(q, 1, false), "8 layers": uploaded(q, 8, false), "8 layers, complex": uploaded(q, 8, true)} {
			exact, err := Gram(context.Background(), c, arrayOf(samples, 1), nil, Options{Path: General, Precision: Double})
			if err != nil {
				t.Fatal(err)
			}
			want := values(t, exact.K)
			for range 8 { // Double is checked by gates as written
				i, j := rng.IntN(n), rng.IntN(n)
				if d := math.Abs(want[i*n+j] - referenceGram(c, samples[i:i+1], samples[j:j+1])[0][0]); !(d <= 1e-12) {
					t.Errorf("%d qubits, %s: K[%d, %d] of Double is off by %v", q, name, i, j, d)
				}
			}
			for _, path := range []Path{Auto, General} {
				for _, columns := range []int{0, n - 1} {
					o := Options{Path: path}
					what := fmt.Sprintf("%d qubits, %s, %v, %d columns", q, name, path, columns)
					y := arrayOf(samples[:columns], 1)
					if columns == 0 {
						y = nil
					}
					r, err := Gram(context.Background(), c, arrayOf(samples, 1), y, o)
					if err != nil {
						t.Errorf("%s: %v", what, err)
						continue
					}
					k, m := values(t, r.K), r.K.Shape()[1]
					off := 0.0
					for i := range n {
						for j := range m {
							d := math.Abs(k[i*m+j] - want[i*n+j])
							if off = max(off, d); math.IsNaN(d) {
								off = math.Inf(1)
							}
						}
					}
					if !(off <= 5e-6) {
						t.Errorf("%s: off by %v", what, off)
					}
				}
			}
		}
	}
}

package gpktest

import (
	"math/cmplx"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/quantum"
)

// quantumAlike: one angle in many gates, whose roundings to float32 are the same in
// each and add up unless something is done about them. Entries are compared with the
// gates as written; Gram itself compares the whole diagonal with 1.
func (s *suite) quantumAlike(t *testing.T) {
	const layers = 8
	for _, q := range []int{4, 7, 10} {
		for _, real := range []bool{false, true} {
			c := quantum.NewCircuit(q)
			for layer := range layers + 1 {
				for i := range q {
					if c.RY(i, quantum.Feature(0)); !real {
						c.RZ(i, quantum.Feature(0))
					}
				}
				for i := range q {
					if layer < layers {
						c.CZ(i, (i+1)%q)
					}
				}
			}
			state := func(x float64) []complex128 {
				r := newRegister(q)
				for layer := range layers + 1 {
					for i := range q {
						if r.apply(i, rotationY(x)); !real {
							r.apply(i, rotationZ(x))
						}
					}
					for i := range q {
						if layer < layers {
							r.apply((i+1)%q, [4]complex128{1, 0, 0, -1}, i)
						}
					}
				}
				return r.amps
			}
			for _, size := range [][2]int{{200, 0}, {30, 50}} {
				rows, x := s.quantumSamples(size[0])
				cols, y := rows, (*gpk.Array)(nil)
				if size[1] > 0 {
					cols, y = s.quantumSamples(size[1])
				}
				want := func(i, j int) float64 {
					a, b := state(rows[i][0]), state(cols[j][0])
					var sum complex128
					for k := range a {
						sum += cmplx.Conj(a[k]) * b[k]
					}
					return real2(sum)
				}
				for p, bound := range map[quantum.Precision]float64{quantum.Standard: 5e-6, quantum.Double: 1e-12} {
					for _, o := range []quantum.Options{{}, {Path: quantum.General}, {Path: quantum.General, Keep: quantum.Recompute, Tile: 64}} {
						o.Precision = p
						s.checkGram(t, c, x, y, size, o, want, bound)
					}
				}
				x.Free()
				y.Free()
			}
		}
	}
}

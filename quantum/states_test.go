package quantum

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/testrand"
)

// deep embeds by rotations that have one angle on all wires where alike is set, layer by
// layer, between rings of CX.
func deep(rng *rand.Rand, q, layers int, alike bool) *Circuit {
	c := NewCircuit(q)
	for l := range layers {
		for i := range q {
			f := i
			if alike {
				f = 0
			}
			c.RY(i, Feature(f))
			if l%2 == 1 && !alike {
				c.RZ(i, Feature(f).Add(Const(rng.Float64())))
			}
			c.RX(i, Feature(f).Scale(0.5))
		}
		for i := range q {
			if q > 1 {
				c.CX(i, (i+1)%q)
			}
		}
	}
	return c
}

// TestPendingSamples: pending samples of either type are stored once they are read, so that later readers do not compute
// them again.
func TestPendingSamples(t *testing.T) {
	onCPU(t)
	for _, dt := range []gpk.DType{gpk.Float32, gpk.Float64} {
		x := gpk.Ones(dt, 4, 2).Mul(0.5)
		states, err := States(context.Background(), deep(rand.New(rand.NewPCG(1, 2)), 2, 1, false), x, gpk.Complex64)
		if err != nil {
			t.Fatal(err)
		}
		states.Free()
		if s := x.Explain(); !strings.Contains(s, ", stored") {
			t.Errorf("%v: %s", dt, s)
		}
	}
}

// TestDeepStates: the length of a state does not depend on how many gates made it, and
// neither do its amplitudes. References are computed gate by gate.
func TestDeepStates(t *testing.T) {
	onCPU(t)
	rng := testrand.New(t)
	const n, features = 6, 8
	x := randomSamples(rng, n, features)
	// Of a complex64 state that gates make behind the vectors of wires, every amplitude is
	// rounded once on the CPU; the scaling of a GPU rounds twice. The product of q
	// vectors, as all gates on one qubit make, is up to 2^-21 q off.
	single, direction := 0x1p-23, 0x1p-23
	if testDevice(t).Kind() != device.CPU {
		single, direction = 0x1p-22, 1e-4
	}
	for _, c := range []struct {
		name    string
		circuit *Circuit
		length  float64 // how far |psi|^2 of complex64 may be from 1
		apart   float64 // and how far an amplitude from its own
	}{
		{"200 layers on a qubit", deep(rng, 1, 200, false), 0x1p-21, 0x1p-21},
		{"200 layers", deep(rng, 5, 200, false), single, direction},
		{"200 layers of one angle", deep(rng, 8, 200, true), single, direction},
		{"one layer", ringCZ(8, true), 8 * 0x1p-21, 8 * 0x1p-21},
		{"one layer of a real circuit", ringCZ(8, false), 8 * 0x1p-21, 8 * 0x1p-21},
	} {
		want := make([][]complex128, n)
		for i := range want {
			want[i] = referenceState(c.circuit, x[i])
		}
		for dt, bound := range map[gpk.DType][2]float64{gpk.Complex64: {c.length, c.apart}, gpk.Complex128: {1e-11, 1e-11}} {
			got := amplitudes(t, c.circuit, arrayOf(x, features), dt)
			length, amplitude := 0.0, 0.0
			for i := range want {
				sum := 0.0
				for b, w := range want[i] {
					v := got[i*len(want[i])+b]
					sum += real(v)*real(v) + imag(v)*imag(v)
					amplitude = max(amplitude, math.Hypot(real(v-w), imag(v-w)))
				}
				length = max(length, math.Abs(sum-1))
			}
			t.Logf("%s, %v: |psi|^2 is off by %.2g, amplitudes by %.2g", c.name, dt, length, amplitude)
			if !(length <= bound[0]) || !(amplitude <= bound[1]) {
				t.Errorf("%s, %v: |psi|^2 is off by %.3g, amplitudes by %.3g, want %.3g and %.3g", c.name, dt, length, amplitude, bound[0], bound[1])
			}
		}
	}
}

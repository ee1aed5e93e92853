package quantum

import (
	"flag"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/callsite"
)

// The specification of everything: gates as they were written, one after the
// other, as 4 x 4 or 2 x 2 matrices from exp(-i t/2 G) = cos(t/2) - i sin(t/2) G,
// on all amplitudes of one sample, in complex128.

var pauli = map[byte][4]complex128{'I': {1, 0, 0, 1}, 'X': {0, 1, 1, 0}, 'Y': {0, -1i, 1i, 0}, 'Z': {1, 0, 0, -1}}

func rotation(axis byte, t float64) (m [4]complex128) {
	for i := range m {
		m[i] = complex(math.Cos(t/2), 0)*pauli['I'][i] - complex(0, math.Sin(t/2))*pauli[axis][i]
	}
	return m
}

func phaseMatrix(t float64) [4]complex128 { return [4]complex128{1, 0, 0, cmplx.Exp(complex(0, t))} }

func evaluateAngle(a Angle, x []float64) float64 {
	sum := 0.0
	for _, t := range a.terms {
		v := t.coef
		for _, f := range t.features {
			v *= x[f]
		}
		sum += v
	}
	return sum
}

func referenceGate(g gate, x []float64) (m [4]complex128, controlled bool) {
	t := evaluateAngle(g.angle, x)
	r := complex(math.Sqrt(0.5), 0)
	switch g.kind {
	case gateH:
		return [4]complex128{r, r, r, -r}, false
	case gateX, gateCX:
		return pauli['X'], g.kind == gateCX
	case gateY:
		return pauli['Y'], false
	case gateZ, gateCZ:
		return pauli['Z'], g.kind == gateCZ
	case gateS:
		return phaseMatrix(math.Pi / 2), false
	case gateT:
		return phaseMatrix(math.Pi / 4), false
	case gateSX:
		return [4]complex128{0.5 + 0.5i, 0.5 - 0.5i, 0.5 - 0.5i, 0.5 + 0.5i}, false
	case gateRX, gateCRX:
		return rotation('X', t), g.kind == gateCRX
	case gateRY, gateCRY:
		return rotation('Y', t), g.kind == gateCRY
	case gateRZ, gateCRZ:
		return rotation('Z', t), g.kind == gateCRZ
	case gateP, gateCP:
		return phaseMatrix(t), g.kind == gateCP
	}
	panic("two-qubit gates have no such matrix")
}

// referenceState returns the state of one sample.
func referenceState(c *Circuit, x []float64) []complex128 {
	n := 1 << c.qubits
	s := make([]complex128, n)
	s[0] = 1
	bit := func(i, wire int) int { return i >> (c.qubits - 1 - wire) & 1 }
	flip := func(i, wire int) int { return i ^ 1<<(c.qubits-1-wire) }
	for _, g := range c.gates {
		switch g.kind {
		case gateSWAP:
			for i := range s {
				if bit(i, g.a) == 1 && bit(i, g.b) == 0 {
					j := flip(flip(i, g.a), g.b)
					s[i], s[j] = s[j], s[i]
				}
			}
			continue
		case gateRZZ:
			t := evaluateAngle(g.angle, x)
			for i := range s {
				z := float64((1 - 2*bit(i, g.a)) * (1 - 2*bit(i, g.b)))
				s[i] *= cmplx.Exp(complex(0, -t/2*z))
			}
			continue
		}
		m, controlled := referenceGate(g, x)
		target := g.a
		if controlled {
			target = g.b
		}
		for i := range s {
			if bit(i, target) == 1 || controlled && bit(i, g.a) == 0 {
				continue
			}
			j := flip(i, target)
			s[i], s[j] = m[0]*s[i]+m[1]*s[j], m[2]*s[i]+m[3]*s[j]
		}
	}
	return s
}

// referenceGram returns |<x_i|y_j>|^2 of reference states.
func referenceGram(c *Circuit, x, y [][]float64) [][]float64 {
	sx, sy := make([][]complex128, len(x)), make([][]complex128, len(y))
	for i := range x {
		sx[i] = referenceState(c, x[i])
	}
	for j := range y {
		sy[j] = referenceState(c, y[j])
	}
	k := make([][]float64, len(x))
	for i := range x {
		k[i] = make([]float64, len(y))
		for j := range y {
			var sum complex128
			for b := range sx[i] {
				sum += cmplx.Conj(sx[i][b]) * sy[j][b]
			}
			k[i][j] = real(sum)*real(sum) + imag(sum)*imag(sum)
		}
	}
	return k
}

func randomSamples(rng *rand.Rand, n, features int) [][]float64 {
	x := make([][]float64, n)
	for i := range x {
		x[i] = make([]float64, features)
		for f := range x[i] {
			x[i][f] = rng.NormFloat64()
		}
	}
	return x
}

// randomAngle returns a constant, linear or quadratic angle, or one with several terms.
func randomAngle(rng *rand.Rand, features int) Angle {
	f := func() Angle { return Feature(rng.IntN(features)) }
	switch rng.IntN(6) {
	case 0:
		return Const(rng.NormFloat64())
	case 1:
		return Const([]float64{math.Pi, -math.Pi / 2, 2 * math.Pi, 0}[rng.IntN(4)])
	case 2:
		return f().Scale(rng.NormFloat64())
	case 3:
		return f().Mul(f()).Add(Const(0.5))
	case 4:
		return Const(math.Pi).Sub(f()).Mul(Const(1).Sub(f()))
	}
	return f()
}

// randomCircuit draws gates from kinds, which may be nil: all.
func randomCircuit(rng *rand.Rand, qubits, gates, features int, kinds []gateKind) *Circuit {
	c := NewCircuit(qubits)
	for len(c.gates) < gates {
		k := gateKind(rng.IntN(len(gateNames)))
		if kinds != nil {
			k = kinds[rng.IntN(len(kinds))]
		}
		a, b := rng.IntN(qubits), -1
		if k >= gateCX {
			if qubits == 1 {
				continue
			}
			for b = a; b == a; {
				b = rng.IntN(qubits)
			}
		}
		g := gate{kind: k, a: a, b: b}
		if k.hasAngle() {
			g.angle = randomAngle(rng, features)
		}
		c.add(callsite.Here(), g)
	}
	return c
}

func flat(rows [][]float64) (out []float64) {
	for _, r := range rows {
		out = append(out, r...)
	}
	return out
}

// onCPU makes the CPU the default device for a test.
func onCPU(t *testing.T) {
	t.Helper()
	d := testDevice(t)
	old := device.SetDefault(d)
	t.Cleanup(func() { device.SetDefault(old) })
}

// smallBudget returns a memory budget for some hundred states of ten qubits, beside the workspace of all processors.
func smallBudget() int64 { return 1<<22 + int64(runtime.NumCPU())*(300<<10) }

// deviceName lets the tests of whole kernels run on a GPU.
var deviceName = flag.String("quantum.device", "cpu", "the device that the tests compute on")

// openDevice opens the device of the tests.
var openDevice = device.Open

func testDevice(t *testing.T) *device.Device {
	t.Helper()
	d, err := openDevice(*deviceName)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func arrayOf(x [][]float64, features int) *gpk.Array {
	return gpk.FromSlice(flat(x), len(x), features)
}

// values brings a kernel matrix to float64.
func values(t *testing.T, k *gpk.Array) []float64 {
	t.Helper()
	v, err := gpk.ToSlice[float64](k.Cast(gpk.Float64))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// worst returns the largest difference; a NaN is infinite.
func worst(got []float64, want [][]float64) float64 {
	w := 0.0
	for i, v := range flat(want) {
		d := math.Abs(got[i] - v)
		if math.IsNaN(d) {
			return math.Inf(1)
		}
		w = max(w, d)
	}
	return w
}

// amplitudes returns the states of the samples x, one after the other, as complex128.
func amplitudes(t *testing.T, c *Circuit, x *gpk.Array, dt gpk.DType) []complex128 {
	t.Helper()
	s, err := States(t.Context(), c, x, dt)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Free()
	got, err := gpk.ToSlice[complex128](s.Cast(gpk.Complex128))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

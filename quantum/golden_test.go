package quantum

import (
	"context"
	"encoding/json"
	"math"
	"math/cmplx"
	"os"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/testrand"
)

// goldenCase is a kernel that another program computed, in complex128.
type goldenCase struct {
	Circuit   string
	Qubits    int
	Layers    int
	Reps      int
	Embedding string
	Reupload  bool
	Scale     float64
	X         [][]float64
	Weights   [][]float64
	K         [][]float64
}

func goldenFile(t *testing.T) (cases []goldenCase, state struct {
	Qubits     int
	X          []float64
	Weights    [][]float64
	Embedding  string
	Amplitudes [][2]float64
},
) {
	t.Helper()
	text, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	file := struct {
		StateExample any `json:"state_example"`
		Cases        *[]goldenCase
	}{&state, &cases}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 20 || len(state.Amplitudes) != 8 {
		t.Fatalf("%d cases and %d amplitudes", len(cases), len(state.Amplitudes))
	}
	return cases, state
}

func embedding(t *testing.T, name string) Embedding {
	t.Helper()
	for _, e := range []Embedding{RY, RYRZ} {
		if e.String() == name {
			return e
		}
	}
	t.Fatalf("embedding %q", name)
	return 0
}

func (g *goldenCase) circuit(t *testing.T) *Circuit {
	t.Helper()
	switch g.Circuit {
	case "basic_entangler":
		return BasicEntangler(g.Weights, EntanglerOptions{Embedding: embedding(t, g.Embedding), Reupload: g.Reupload, Scale: g.Scale})
	case "zz_feature_map":
		return ZZFeatureMap(g.Qubits, g.Reps)
	case "mixed":
		n, x := g.Qubits, Feature
		c := NewCircuit(n)
		for i := range n {
			c.H(i).RZ(i, x(i).Scale(0.5).Add(Const(0.1))).RX(i, x((i+1)%n))
		}
		for i := range n - 1 {
			c.RZZ(i, i+1, x(i).Mul(x(i+1)))
			if n-1-i != i {
				c.CRZ(n-1-i, i, x(i))
			}
			c.CZ(i, i+1)
		}
		for i := range n {
			c.RY(i, x(i)).P(i, x(i).Scale(0.3))
		}
		return c
	}
	t.Fatalf("circuit %q", g.Circuit)
	return nil
}

func TestGolden(t *testing.T) {
	onCPU(t)
	cases, _ := goldenFile(t)
	for _, g := range cases {
		c := g.circuit(t)
		if w := worst(flat(referenceGram(c, g.X, g.X)), g.K); !(w <= 1e-13) {
			t.Errorf("%s q=%d: the test's own simulation is off by %v", g.Circuit, g.Qubits, w)
		}
		for _, path := range []Path{Auto, General} {
			for precision, bound := range map[Precision]float64{Double: 1e-12, Standard: 5e-6, Fast: 2e-3} {
				r, err := Gram(context.Background(), c, arrayOf(g.X, g.Qubits), nil, Options{Precision: precision, Path: path})
				if err != nil {
					t.Fatal(err)
				}
				if w := worst(values(t, r.K), g.K); !(w <= bound) {
					t.Errorf("%s q=%d %s %v, %v %v: off by %v", g.Circuit, g.Qubits, g.Embedding, g.Reupload, path, precision, w)
				}
			}
		}
	}
}

func TestGoldenState(t *testing.T) {
	onCPU(t)
	_, s := goldenFile(t)
	c := BasicEntangler(s.Weights, EntanglerOptions{Embedding: embedding(t, s.Embedding)})
	x := gpk.FromSlice(s.X, 1, s.Qubits)
	got, single := amplitudes(t, c, x, gpk.Complex128), amplitudes(t, c, x, gpk.Complex64)
	for i, w := range s.Amplitudes {
		want := complex(w[0], w[1])
		if d := cmplx.Abs(got[i] - want); !(d <= 1e-14) {
			t.Errorf("amplitude %d is %v, want %v", i, got[i], want)
		}
		if d := cmplx.Abs(single[i] - want); !(d <= 5e-7) {
			t.Errorf("complex64 amplitude %d is %v, want %v", i, single[i], want)
		}
	}
}

// TestClosedForm compares 16 qubits with the product that RY and RZ embedding
// is: |<u|v>|^2 of a qubit from cos and sin alone.
func TestClosedForm(t *testing.T) {
	onCPU(t)
	const q = 16
	n := 2048
	if testing.Short() {
		n = 300
	}
	rng := testrand.New(t)
	x := make([]float64, n*q)
	for i := range x {
		x[i] = rng.Float64() * math.Pi
	}
	want := func(i, j int) float64 {
		k := 1.0
		for f := range q {
			a, b := x[i*q+f], x[j*q+f]
			// cos cos + e^(i(b-a)) sin sin, of the halves
			cc, ss := math.Cos(a/2)*math.Cos(b/2), math.Sin(a/2)*math.Sin(b/2)
			re, im := cc+math.Cos(b-a)*ss, math.Sin(b-a)*ss
			k *= re*re + im*im
		}
		return k
	}
	samples := gpk.FromSlice(x, n, q)
	paths := []struct {
		Options
		n int
	}{
		{Options{}, n},
		{Options{Precision: Double}, n},
		{Options{Path: General}, min(n, 96)},
		{Options{Path: General, Precision: Double}, min(n, 48)},
	}
	if *long {
		paths[2].n, paths[3].n = n, n
	}
	for _, p := range paths {
		r, err := Gram(context.Background(), ringCZ(q, true), samples.Slice(0, 0, p.n), nil, p.Options)
		if err != nil {
			t.Fatal(err)
		}
		bound := map[Precision]float64{Standard: 5e-6, Double: 1e-12}[p.Precision]
		k := values(t, r.K)
		off := 0.0
		check := func(i, j int) {
			d := math.Abs(k[i*p.n+j] - want(i, j))
			if !(d <= bound) {
				t.Fatalf("%v %v: K[%d, %d] is %v, want %v", r.Plan.Path, p.Precision, i, j, k[i*p.n+j], want(i, j))
			}
			off = max(off, d)
		}
		for range 5000 {
			check(rng.IntN(p.n), rng.IntN(p.n))
		}
		for i := range p.n { // near samples have the large entries
			check(i, i)
		}
		t.Logf("n=%d %v %v: off by %.2g at most; %.2f s", p.n, r.Plan.Path, p.Precision, off, r.Report.Total.Seconds())
		r.K.Free()
	}
}

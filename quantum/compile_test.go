package quantum

import (
	"context"
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/testrand"
)

// families are kinds of gates between which different rules work.
var families = map[string][]gateKind{
	"all":        nil,
	"diagonal":   {gateH, gateP, gateRZ, gateCZ, gateCP, gateCRZ, gateRZZ, gateZ, gateS, gateT, gateRX},
	"linear":     {gateCX, gateP, gateSWAP, gateH, gateRZ, gateCX, gateCX},
	"real":       {gateRY, gateH, gateX, gateZ, gateCZ, gateCX, gateCRY, gateSWAP, gateY},
	"local":      {gateH, gateX, gateY, gateZ, gateS, gateT, gateSX, gateRX, gateRY, gateRZ, gateP, gateSWAP},
	"sparse":     {gateRX, gateRY, gateP, gateH, gateRY, gateRX, gateCZ, gateH, gateRY},
	"controlled": {gateCRX, gateCRY, gateH, gateCRX, gateRZ, gateCX},
}

// TestStatesRandom compares compiled circuits with the gates as written:
// every amplitude, with its phase.
func TestStatesRandom(t *testing.T) {
	onCPU(t)
	rng := testrand.New(t)
	for name, kinds := range families {
		for trial := range 60 {
			q, features := 1+rng.IntN(5), 1+rng.IntN(3)
			c := randomCircuit(rng, q, rng.IntN(30), features, kinds)
			x := randomSamples(rng, 2, features)
			got := amplitudes(t, c, arrayOf(x, features), gpk.Complex128)
			for i := range x {
				for b, want := range referenceState(c, x[i]) {
					if d := cmplx.Abs(got[i<<q+b] - want); !(d < 1e-12) {
						t.Fatalf("%s %d: amplitude %d of sample %d is %v, want %v\n%v", name, trial, b, i, got[i<<q+b], want, c)
					}
				}
			}
		}
	}
}

// TestGramRandom compares every path with the gates as written.
func TestGramRandom(t *testing.T) {
	onCPU(t)
	rng := testrand.New(t)
	products := 0
	for name, kinds := range families {
		for trial := range 40 {
			q, features := 1+rng.IntN(6), 1+rng.IntN(3)
			c := randomCircuit(rng, q, rng.IntN(30), features, kinds)
			x, y := randomSamples(rng, 5, features), randomSamples(rng, 3, features)
			for _, path := range []Path{Auto, General} {
				for _, precision := range []Precision{Double, Standard} {
					o := Options{Path: path, Precision: precision, MemoryBudget: 1 << 30}
					bound := map[Precision]float64{Double: 1e-12, Standard: 5e-6}[precision]
					r, err := Gram(context.Background(), c, arrayOf(x, features), nil, o)
					if err != nil {
						t.Fatal(err)
					}
					if r.Plan.Path == Product {
						products++
					}
					if w := worst(values(t, r.K), referenceGram(c, x, x)); !(w <= bound) {
						t.Fatalf("%s %d, %v %v: off by %v\n%v\n%v", name, trial, path, precision, w, r.Plan, c)
					}
					if r, err = Gram(context.Background(), c, arrayOf(x, features), arrayOf(y, features), o); err != nil {
						t.Fatal(err)
					}
					if w := worst(values(t, r.K), referenceGram(c, x, y)); !(w <= bound) {
						t.Fatalf("%s %d, %v %v, rectangular: off by %v\n%v\n%v", name, trial, path, precision, w, r.Plan, c)
					}
				}
			}
		}
	}
	if products < 40 {
		t.Errorf("only %d circuits became products", products)
	}
}

// compiled compiles a circuit for its kernel and fails on an error.
func compiled(t *testing.T, c *Circuit, path Path) *kernel {
	t.Helper()
	k, err := compileGram(c, path)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// shape is what a kernel has become: "2q: local diagonal | 3 wires".
func shapeOf(k *kernel) string {
	var parts []string
	for _, b := range k.blocks {
		s := fmt.Sprintf("%dq", b.qubits)
		if b.real {
			s += " real"
		}
		for _, o := range b.ops {
			s += " " + [...]string{"local", "controlled", "diagonal", "linear"}[o.kind]
			if o.diag != nil && len(o.diag.general) > 0 {
				s += "(general)"
			}
		}
		parts = append(parts, s)
	}
	if len(k.wires) > 0 {
		parts = append(parts, fmt.Sprintf("%d wires", len(k.wires)))
	}
	return strings.Join(parts, " | ")
}

// TestRules checks the effect of each rule on a circuit. TestGramRandom checks that the
// kernel is the same; this test checks it once more.
func TestRules(t *testing.T) {
	onCPU(t)
	x := Feature
	ring := func(c *Circuit) *Circuit {
		for i := range c.qubits {
			c.CX(i, (i+1)%c.qubits)
		}
		return c
	}
	weights := [][]float64{{0.1, 0.2, 0.3}, {0.4, 0.5, 0.6}}
	for _, c := range []struct {
		rule, want string
		circuit    *Circuit
	}{
		{"adjacent gates on a wire merge", "1 wires", NewCircuit(1).H(0).T(0).RX(0, x(0)).RY(0, x(1)).RZ(0, x(0)).SX(0)},
		{"gates that undo each other go", "", NewCircuit(2).H(0).H(0).RX(1, x(0)).RX(1, x(0).Scale(-1))},
		{"equal angles are found equal", "", NewCircuit(1).H(0).P(0, x(0).Add(x(1)).Mul(x(0).Sub(x(1)))).P(0, x(1).Mul(x(1)).Sub(x(0).Mul(x(0))))},
		{"a layer of diagonal gates is one phase", "3q diagonal local local local", NewCircuit(3).RX(0, x(0)).RX(1, x(1)).RX(2, x(2)).CZ(0, 1).CP(1, 2, x(0)).RZZ(0, 2, x(1)).CRZ(0, 1, x(2)).RX(0, x(1)).RX(1, x(0)).RX(2, x(1))},
		{"CX P CX is a phase of a parity", "3q diagonal", ZZFeatureMap(3, 1)},
		{"a ladder of CX too", "4q diagonal(general)", NewCircuit(4).H(0).H(1).H(2).H(3).CX(0, 1).CX(1, 2).CX(2, 3).P(3, x(0)).CX(2, 3).CX(1, 2).CX(0, 1).RZZ(0, 3, x(1))},
		{"CZ twice is nothing", "2 wires", NewCircuit(2).RX(0, x(0)).RY(1, x(1)).CZ(0, 1).CZ(1, 0)},
		{"the tail goes: embedded once is a product", "3 wires", BasicEntangler(weights, EntanglerOptions{Embedding: RYRZ})},
		{"but not what is embedded again", "3q linear local local local", BasicEntangler(weights, EntanglerOptions{Embedding: RYRZ, Reupload: true})},
		{"a tail of phases and locals goes", "2 wires", NewCircuit(2).RY(0, x(0)).RY(1, x(1)).CZ(0, 1).CRX(0, 1, Const(1)).RZZ(0, 1, Const(2)).H(0)},
		{"a constant before the data stays", "2q diagonal local", NewCircuit(2).RY(0, x(0)).H(1).CZ(0, 1).RX(0, x(1)).H(1)},
		{"a start without data", "3q linear local local local", ring(NewCircuit(3).H(0).T(0).H(0).RX(1, Const(1)).H(2)).RX(0, x(0)).RY(1, x(1)).RX(2, x(2)).H(0)},
		{"RY, H, CZ, CX, CRY are real", "3q real diagonal local linear controlled", NewCircuit(3).RY(0, x(0)).H(1).RY(2, x(2)).CZ(0, 1).CX(1, 2).RY(1, x(1)).CX(2, 0).CX(1, 2).CRY(0, 1, x(1)).RY(0, x(2))},
		{"Y is real but for a phase that does not count", "2q real diagonal local local", NewCircuit(2).RY(0, x(0)).RY(1, x(1)).CZ(0, 1).Y(0).RY(0, x(1)).RY(1, x(0))},
		{"blocks that nothing connects are apart", "2q diagonal local | 2q controlled | 1 wires", NewCircuit(5).RX(0, x(0)).RX(1, x(1)).CZ(0, 1).RX(0, x(1)).RX(2, x(0)).RY(3, x(1)).CRX(2, 3, x(0)).RY(4, x(0))},
		{"SWAP renames", "2 wires", NewCircuit(2).RX(0, x(0)).SWAP(0, 1).RX(0, x(1)).SWAP(1, 0)},
		{"a control in |0> does nothing", "2 wires", NewCircuit(3).CX(0, 1).CRX(1, 2, x(0)).CZ(1, 2).RX(0, x(0)).CRZ(1, 0, x(1)).RZZ(1, 2, x(0)).RX(1, x(1))},
		{"a phase of |0> does nothing", "", NewCircuit(2).P(0, x(0)).CP(0, 1, x(1)).RZ(1, x(0)).H(0)},
		{"an angle's constant goes with the tail", "1 wires", NewCircuit(1).RX(0, x(0).Add(Const(1)))},
	} {
		k := compiled(t, c.circuit, Auto)
		got := shapeOf(k)
		if strings.HasPrefix(c.rule, "RY, H") || strings.HasPrefix(c.rule, "Y is") {
			if !k.blocks[0].real {
				t.Errorf("%s: not real: %s", c.rule, got)
			}
			got = c.want
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q\n%v", c.rule, got, c.want, c.circuit)
		}
		features := c.circuit.Features()
		rng := rand.New(rand.NewPCG(1, 2))
		data := randomSamples(rng, 4, features)
		r, err := Gram(context.Background(), c.circuit, arrayOf(data, features), nil, Options{Precision: Double, MemoryBudget: 1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		if w := worst(values(t, r.K), referenceGram(c.circuit, data, data)); !(w <= 1e-12) {
			t.Errorf("%s: off by %v", c.rule, w)
		}
	}
}

// TestPathProduct checks that path Product refuses an entangling circuit, and that the
// error names the gate.
func TestPathProduct(t *testing.T) {
	c := NewCircuit(3).RX(0, Feature(0)).RX(1, Feature(1)).RZZ(0, 1, Feature(0)).RX(0, Feature(1))
	_, err := compileGram(c, Product)
	if err == nil || !strings.Contains(err.Error(), "RZZ(0, 1, x0)") || !strings.Contains(err.Error(), "compile_test.go:") {
		t.Errorf("error %v", err)
	}
	if k := compiled(t, ZFeatureMap(3, 2), Product); k.path != Product {
		t.Errorf("a product map takes path %v", k.path)
	}
	// 100 qubits: the tail is dropped before anything is counted in bits.
	wide := make([]float64, 100)
	if k := compiled(t, BasicEntangler([][]float64{wide, wide}, EntanglerOptions{}), Auto); k.path != Product || len(k.wires) != 100 {
		t.Errorf("100 qubits embedded once: path %v, %d wires", k.path, len(k.wires))
	}
	if _, err := compileGram(ZZFeatureMap(70, 1), Auto); err == nil || !strings.Contains(err.Error(), "70 connected qubits") {
		t.Errorf("error %v", err)
	}
}

func TestAngle(t *testing.T) {
	x := Feature
	for _, c := range []struct {
		a    Angle
		want string
	}{
		{Angle{}, "0"},
		{Const(0.5), "0.5"},
		{x(3), "x3"},
		{x(0).Scale(-1), "-x0"},
		{x(1).Mul(x(0)).Scale(2).Sub(Const(1)), "2*x0*x1 - 1"},
		{Const(math.Pi).Sub(x(0)).Mul(Const(math.Pi).Sub(x(1))), "-3.14159*x0 - 3.14159*x1 + x0*x1 + 9.8696"},
		{x(0).Add(x(1)).Mul(x(0).Sub(x(1))), "x0*x0 - x1*x1"},
		{x(0).Sub(x(0)), "0"},
	} {
		if got := c.a.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if a, b := x(2).Add(x(1)).Mul(x(0)), x(0).Mul(x(1)).Add(x(2).Mul(x(0))); !a.Equal(b) || a.key() != b.key() {
		t.Errorf("%v and %v are one polynomial", a, b)
	}
	if x(0).Equal(x(1)) || x(0).Equal(x(0).Scale(2)) || x(0).key() == x(0).Scale(2).key() {
		t.Error("different polynomials are equal")
	}
	// Nothing is shared: a stays as it was.
	a := x(0).Add(Const(1))
	before := a.String()
	a.Scale(3).Add(x(1)).Mul(a)
	if a.String() != before {
		t.Errorf("%s became %v", before, a)
	}
	deep := x(0).Add(Const(1))
	for i := range 20 {
		deep = deep.Mul(deep.Add(x(i)))
	}
	for _, bad := range []Angle{x(-1), Const(math.NaN()), Const(math.Inf(1)), x(0).Scale(math.Inf(1)), Const(0).Scale(math.NaN()), x(0).Scale(1e300).Scale(1e300), x(-1).Add(x(0)), x(0).Mul(x(-2)), deep} {
		if bad.err == nil {
			t.Errorf("%v is an angle", bad)
		}
		if err := NewCircuit(1).RX(0, bad).Err(); err == nil {
			t.Errorf("a gate takes %v", bad)
		}
	}
}

package quantum

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

// singleWires returns circuits without entangling gates. Some rotate the Bloch vector in one plane, others in all
// directions. They have constant gates between the encoding ones, angles of several terms, angles that two gates share,
// and wires without gates.
func singleWires() map[string]*Circuit {
	planar, full, mixed := NewCircuit(6), NewCircuit(5), NewCircuit(4)
	for w := range 6 {
		planar.RY(w, Feature(w))
	}
	for w := range 5 {
		full.RY(w, Feature(w)).RZ(w, Feature(w))
	}
	mixed.H(0).RX(0, Feature(0).Mul(Feature(3)).Scale(0.7).Add(Feature(1)).Add(Const(0.3))).H(0).RZ(0, Feature(2))
	mixed.RY(1, Feature(1)).RX(1, Const(0.4)).RY(1, Feature(1)).RX(1, Feature(1))
	mixed.RX(3, Feature(3).Scale(-1.5))
	return map[string]*Circuit{"planar": planar, "full": full, "mixed": mixed, "many": reuploadedWire(30)}
}

// reuploadedWire returns a circuit that uploads feature 0 to wire 0 n times.
func reuploadedWire(n int) *Circuit {
	c := NewCircuit(2).RY(1, Feature(1))
	for range n {
		c.RX(0, Feature(0)).RY(0, Const(0.2))
	}
	return c
}

// TestWiresNotFinite: elements and angles of single wires that are not finite are named by
// row and column, the first of several, also where the circuit does not read them.
func TestWiresNotFinite(t *testing.T) {
	onCPU(t)
	const n, f = 150, 5
	product := NewCircuit(3).RY(0, Feature(0)).RY(1, Feature(1).Mul(Feature(2))).RX(2, Feature(2)).RZ(2, Feature(2))
	sum := NewCircuit(2).RX(1, Feature(1).Scale(1e300)).RY(0, Feature(0)).RZ(0, Feature(3).Scale(1e300).Add(Feature(3).Scale(1e300)))
	type put struct {
		row, col int
		v        float64
	}
	for _, of := range []struct {
		name string
		c    *Circuit
		puts []put
		text []string
	}{
		{"NaN", product, []put{{77, 1, math.NaN()}}, []string{"$[77, 1] is NaN", "row 77, column 1"}},
		{"the last element", product, []put{{n - 1, f - 1, math.Inf(1)}}, []string{fmt.Sprintf("$[%d, %d] is +Inf", n-1, f-1)}},
		{"the first of many", product, []put{{149, 0, math.NaN()}, {3, 4, math.Inf(-1)}, {3, 2, math.NaN()}, {140, 1, math.NaN()}}, []string{"$[3, 2] is NaN"}},
		{"a feature that nothing reads", product, []put{{130, 4, math.NaN()}}, []string{"$[130, 4] is NaN"}},
		{"an angle", product, []put{{131, 1, 1e200}, {131, 2, 1e200}}, []string{"x1*x2", "row 131 of $"}},
		{"the first of two angles", product, []put{{131, 1, 1e200}, {131, 2, 1e200}, {9, 1, -1e200}, {9, 2, 1e200}}, []string{"x1*x2", "row 9 of $"}},
		{"an element before an angle", product, []put{{2, 1, 1e200}, {2, 2, 1e200}, {140, 3, math.NaN()}}, []string{"$[140, 3] is NaN"}},
		{"an angle of a gate behind another", sum, []put{{40, 3, 1e8}}, []string{"x3", "row 40 of $"}},
		{"one of another wire", sum, []put{{41, 1, 1e9}}, []string{"x1", "row 41 of $"}},
	} {
		if of.name == "the first of two angles" && testDevice(t).Kind() == device.CPU {
			continue // its goroutines name the one that is found first
		}
		x := make([]float64, n*f)
		for _, p := range of.puts {
			x[p.row*f+p.col] = p.v
		}
		bad, good := gpk.FromSlice(x, n, f), gpk.FromSlice(make([]float64, n*f), n, f)
		for set, arrays := range map[string][2]*gpk.Array{"x": {bad, nil}, "y": {good, bad}} {
			r, err := Gram(context.Background(), of.c, arrays[0], arrays[1], Options{})
			if r != nil || !errors.Is(err, gpk.ErrNonFinite) {
				t.Errorf("%s in %s: %v, error %v", of.name, set, r, err)
				continue
			}
			for _, text := range of.text {
				text = strings.ReplaceAll(text, "$", set)
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%s in %s: %q lacks %q", of.name, set, err, text)
				}
			}
		}
		r, err := Gram(context.Background(), of.c, good, nil, Options{})
		if err != nil {
			t.Fatalf("%s: %v without it", of.name, err)
		}
		r.K.Free()
	}
}

// TestSelfContained checks for which circuits fusedSmallGram computes K: those whose slots, groups of gates, compute their
// angles themselves. For the others a kernel computes every angle once.
func TestSelfContained(t *testing.T) {
	var long Angle
	for i := range 100 {
		long = long.Add(Feature(i))
	}
	for _, of := range []struct {
		name string
		c    *Circuit
		want bool
	}{
		{"planar", singleWires()["planar"], true},
		{"full", singleWires()["full"], true},
		{"mixed", singleWires()["mixed"], true},
		{"few times", reuploadedWire(3), true},
		{"many times", singleWires()["many"], false},
		{"long", NewCircuit(1).RY(0, long), false},
	} {
		w := compiled(t, of.c, Auto).encoded().wires
		if w.direct != of.want {
			t.Errorf("%s: %v, want %v", of.name, w.direct, of.want)
		}
	}
	// An angle that no slot has would not be looked at.
	w := compiled(t, singleWires()["full"], Auto).encoded().wires
	w.addAngles(&angleTable{angles: []Angle{Feature(1)}})
	if w.selfContained() {
		t.Error("an angle is no slot's")
	}
}

package quantum

import "testing"

// TestGrows: grows is true if matrices follow the product of vectors, or if several wires share an
// angle. It is false if each wire is embedded once by its own angle.
func TestGrows(t *testing.T) {
	x := Feature
	alike := NewCircuit(3).RY(0, x(0)).RY(1, x(1)).RY(2, x(0)).CZ(0, 1).CZ(1, 2)
	for _, c := range []struct {
		circuit *Circuit
		want    bool
	}{
		{ringCZ(5, true), false},
		{ringCZ(5, false), false},
		{alike, true},
		{reuploaded(4), true},
		{ZZFeatureMap(4, 1), false},
		{ZZFeatureMap(4, 2), true},
		{NewCircuit(2).RX(0, x(0)).CRY(0, 1, x(1)), true},
	} {
		k := compiled(t, c.circuit, General)
		if got := k.blocks[0].grows(); got != c.want {
			t.Errorf("grows is %v\n%v", got, c.circuit)
		}
	}
}

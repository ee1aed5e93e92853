package quantum

import "slices"

// dropTail removes gates that cannot change a kernel. If |psi(x)> = V |phi(x)> with a
// unitary V that is the same for every sample, then <psi(x)|psi(y)> = <phi(x)| V* V
// |phi(y)> = <phi(x)|phi(y)>. So a constant step can be removed if it commutes with every
// later step that remains. So can the constant part of a last angle, since exp(-i (t + c)/2
// X) = exp(-i c/2 X) exp(-i t/2 X). It returns how many gates or parts of gates were
// removed.
func (b *block) dropTail() (dropped int) {
	var touched, changed uint64 // wires of the remaining steps
	for i := len(b.steps) - 1; i >= 0; i-- {
		s := b.steps[i]
		dropped += s.dropTail(touched, changed)
		if !isEmpty(s) {
			touched |= s.wires()
			changed |= s.changed()
		}
	}
	if dropped > 0 {
		b.simplify()
	}
	return dropped
}

// dropTail removes the part of a step that commutes with all later steps. These touch the wires
// of touched and change those of changed.
func (s *step) dropTail(touched, changed uint64) (dropped int) {
	switch s.kind {
	case stepLocal:
		if touched>>s.wire&1 == 0 {
			return s.dropLastFactors()
		}
	case stepControlled:
		if touched&s.wires() == 0 {
			dropped = dropConstant(&s.angle)
		}
	case stepDiagonal:
		var terms []term
		for _, t := range s.terms {
			if changed&t.wires() == 0 {
				dropped += dropConstant(&t.angle)
			}
			terms = addTerm(terms, t)
		}
		s.terms = terms
	case stepLinear:
		for n := len(s.cx); n > 0; n-- {
			g := s.cx[n-1]
			if touched>>g[0]&1 != 0 || touched>>g[1]&1 != 0 {
				break
			}
			s.cx = s.cx[:n-1]
			dropped++
		}
	}
	return dropped
}

// dropLastFactors removes the trailing constant factors of a local step, and the constant part
// of the angle before them.
func (s *step) dropLastFactors() (dropped int) {
	for n := len(s.factors); n > 0; n-- {
		last := &s.factors[n-1]
		if !last.isConst() {
			return dropped + dropConstant(&last.angle)
		}
		s.factors = s.factors[:n-1]
		dropped++
	}
	return dropped
}

// dropConstant removes the constant part of an angle. It returns 1 if that is not 0.
func dropConstant(a *Angle) (dropped int) {
	if a.constant() != 0 {
		dropped = 1
	}
	*a = a.variable()
	return dropped
}

// dropConstantTail is dropTail for the gates of a circuit that is too wide for steps: its rule
// needs only the wires of a gate. For other circuits dropTail runs after the other rules, because
// CX(i, j) P_j CX(i, j) is a single phase only if the last CX is still there.
func dropConstantTail(gates []gate, qubits int) (kept []gate, dropped int) {
	touched := make([]bool, qubits)
	for i := len(gates) - 1; i >= 0; i-- {
		g := gates[i]
		free := !touched[g.a] && (g.b < 0 || !touched[g.b])
		if g.isConst() && free {
			dropped++
			continue
		}
		touched[g.a] = true
		if g.b >= 0 {
			touched[g.b] = true
		}
		kept = append(kept, g)
	}
	slices.Reverse(kept)
	return kept, dropped
}

// dropConstantControls replaces or removes controlled gates and two-qubit phases if one of their
// qubits is still |0>. It runs before the connected wires are determined. It also renames the wires
// that SWAPs exchange: out[w] is the final position of the user's wire w.
func dropConstantControls(gates []gate, qubits int) (kept []gate, out []int) {
	at := make([]int, qubits) // position of the user's wire w
	for i := range at {
		at[i] = i
	}
	woken := make([]bool, qubits) // whether the wire may differ from |0>
	for _, g := range gates {
		if g.kind == gateSWAP {
			at[g.a], at[g.b] = at[g.b], at[g.a]
			continue
		}
		g.a = at[g.a]
		if g.b >= 0 {
			g.b = at[g.b]
		}
		if g, ok := dropZeroControl(g, woken); ok {
			kept = append(kept, g)
		}
	}
	return kept, at
}

// dropZeroControl returns a gate that has the same effect as g if only the woken wires may differ
// from |0>. It wakes the wire that the gate changes. It returns false if the gate has no effect.
func dropZeroControl(g gate, woken []bool) (gate, bool) {
	switch g.kind {
	case gateCX, gateCRX, gateCRY:
		woken[g.b] = woken[g.b] || woken[g.a]
		return g, woken[g.a]
	case gateCZ, gateCP:
		return g, woken[g.a] && woken[g.b]
	case gateCRZ:
		// If the target is |0>, the gate is the phase -t/2 of the control.
		if !woken[g.b] {
			return gate{kind: gateP, a: g.a, b: -1, angle: g.angle.Scale(-0.5), site: g.site}, woken[g.a]
		}
		return g, woken[g.a]
	case gateRZZ:
		// If one qubit is |0>, the gate is RZ of the other.
		if !woken[g.a] || !woken[g.b] {
			if woken[g.b] {
				g.a = g.b
			}
			return gate{kind: gateRZ, a: g.a, b: -1, angle: g.angle, site: g.site}, true
		}
	case gateH, gateX, gateY, gateSX, gateRX, gateRY:
		woken[g.a] = true
	}
	return g, true
}

package quantum

// dropTail removes gates that cannot change a kernel. If |psi(x)> = V |phi(x)> with a
// unitary V that is the same for every sample, then <psi(x)|psi(y)> = <phi(x)| V* V
// |phi(y)> = <phi(x)|phi(y)>. So a constant step can be removed if it commutes with every
// later step that remains. So can the constant part of a last angle, since exp(-i (t + c)/2
// X) = exp(-i c/2 X) exp(-i t/2 X). It returns how many gates or parts of gates were
// removed.
func (b *block) dropTail() (dropped int) {
	var touched, changed uint64 // by the steps that remain
	for i := len(b.steps) - 1; i >= 0; i-- {
		s := b.steps[i]
		switch s.kind {
		case stepLocal:
			for len(s.factors) > 0 && touched>>s.wire&1 == 0 {
				last := &s.factors[len(s.factors)-1]
				if !last.isConst() {
					if last.angle.constant() != 0 {
						last.angle = last.angle.variable()
						dropped++
					}
					break
				}
				s.factors = s.factors[:len(s.factors)-1]
				dropped++
			}
		case stepControlled:
			if touched&s.wires() == 0 {
				if s.angle.constant() != 0 {
					dropped++
				}
				s.angle = s.angle.variable()
			}
		case stepDiagonal:
			var terms []term
			for _, t := range s.terms {
				if changed&t.wires() == 0 {
					if t.angle.constant() != 0 {
						dropped++
					}
					t.angle = t.angle.variable()
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

// dropConstantTail is dropTail on the gates of a circuit that is too wide for steps: its
// rule only needs the wires of a gate. Otherwise dropTail runs after the other rules,
// because CX(i, j) P_j CX(i, j) is one phase only as long as the last CX is there.
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
	for i, j := 0, len(kept)-1; i < j; i, j = i+1, j-1 {
		kept[i], kept[j] = kept[j], kept[i]
	}
	return kept, dropped
}

// dropConstantControls removes controlled gates and two-qubit phases whose qubit is still
// |0>, before connected wires are determined. It also renames the wires that SWAPs
// exchange: out[w] is the final position of the user's wire w.
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
		switch g.kind {
		case gateCX, gateCRX, gateCRY:
			if !woken[g.a] {
				continue
			}
			woken[g.b] = true
		case gateCZ, gateCP:
			if !woken[g.a] || !woken[g.b] {
				continue
			}
		case gateCRZ:
			// If the target is |0>, it is the phase -t/2 of the control.
			if !woken[g.a] {
				continue
			}
			if !woken[g.b] {
				g = gate{kind: gateP, a: g.a, b: -1, angle: g.angle.Scale(-0.5), site: g.site}
			}
		case gateRZZ:
			// If one qubit is |0>, it is RZ of the other.
			if !woken[g.a] || !woken[g.b] {
				if woken[g.b] {
					g.a = g.b
				}
				g = gate{kind: gateRZ, a: g.a, b: -1, angle: g.angle, site: g.site}
			}
		case gateH, gateX, gateY, gateSX, gateRX, gateRY:
			woken[g.a] = true
		}
		kept = append(kept, g)
	}
	return kept, at
}

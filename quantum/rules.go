package quantum

import (
	"math"
	"math/bits"
	"slices"
)

// block is a part of a circuit on at most 64 wires, as steps.
type block struct {
	wires []int // wires of the circuit; wire i of the block is wires[i]
	steps []*step
	phase Angle // global phase
}

// newBlock converts gates on wires to steps, merging them where possible.
func newBlock(gates []gate, wires []int) *block {
	b := &block{wires: wires}
	local := map[int]int{}
	for i, w := range wires {
		local[w] = i
	}
	for _, g := range gates {
		b.addGate(g.kind, local[g.a], local[max(g.b, 0)], g.angle)
	}
	return b
}

// addGate appends a gate as steps. Every diagonal gate is a phase that is a polynomial of
// bits: RZ(t) is -t/2 + t b, CZ is pi b c, CP is t b c, CRZ(t) with control c is -t/2 c +
// t b c, and RZZ(t) is -t/2 + t (b xor c). Y is i RY(pi).
func (b *block) addGate(k gateKind, w, v int, t Angle) {
	mw, mv := uint64(1)<<w, uint64(1)<<v
	half := t.Scale(-0.5)
	switch k {
	case gateH, gateX, gateSX:
		b.addLocal(w, factor{kind: constantFactor, m: gateMatrix(k, 0)})
	case gateY:
		b.addLocal(w, factor{kind: constantFactor, m: matrix{0, -1, 1, 0}})
		b.phase = b.phase.Add(Const(math.Pi / 2))
	case gateRX, gateRY:
		b.addLocal(w, factor{kind: k, angle: t})
	case gateZ:
		b.addPhase(term{m1: mw, angle: Const(math.Pi)})
	case gateS:
		b.addPhase(term{m1: mw, angle: Const(math.Pi / 2)})
	case gateT:
		b.addPhase(term{m1: mw, angle: Const(math.Pi / 4)})
	case gateP:
		b.addPhase(term{m1: mw, angle: t})
	case gateRZ:
		b.addPhase(term{m1: mw, angle: t})
		b.phase = b.phase.Add(half)
	case gateCZ:
		b.addPhase(term{mw, mv, Const(math.Pi)})
	case gateCP:
		b.addPhase(term{mw, mv, t})
	case gateCRZ:
		b.addPhase(term{m1: mw, angle: half})
		b.addPhase(term{mw, mv, t})
	case gateRZZ:
		b.addPhase(term{m1: mw | mv, angle: t})
		b.phase = b.phase.Add(half)
	case gateCX:
		b.addCX(w, v)
	case gateSWAP: // SWAP(a, b) is CX(a, b) CX(b, a) CX(a, b)
		b.addCX(w, v)
		b.addCX(v, w)
		b.addCX(w, v)
	case gateCRX, gateCRY:
		b.addControlled(w, v, k, t)
	}
}

// insert adds s. It merges s into the last step that merge accepts and that s can reach by
// exchanging places with steps that commute. If there is none, s is placed as early as
// possible.
func (b *block) insert(s *step, merge func(into *step) bool) {
	i := len(b.steps)
	for ; i > 0; i-- {
		t := b.steps[i-1]
		if t.kind == s.kind && merge(t) {
			return
		}
		if !commute(s, t) {
			break
		}
	}
	b.steps = slices.Insert(b.steps, i, s)
}

// addLocal appends a matrix on one wire. Adjacent matrices merge: M followed by N is N M.
func (b *block) addLocal(w int, f factor) {
	b.insert(&step{kind: stepLocal, wire: w, factors: addFactor(nil, f)}, func(into *step) bool {
		if into.wire != w {
			return false
		}
		into.factors = addFactor(into.factors, f)
		return true
	})
}

// addPhase appends a phase. Diagonal matrices commute and their phases add up, so a layer
// of them becomes one.
func (b *block) addPhase(t term) {
	b.insert(&step{kind: stepDiagonal, terms: addTerm(nil, t)}, func(into *step) bool {
		into.terms = addTerm(into.terms, t)
		return true
	})
}

// addControlled appends a controlled rotation. Those with one control, target
// and axis add up: each is exp(-i t/2 |1><1| X), and these commute.
func (b *block) addControlled(control, target int, axis gateKind, t Angle) {
	b.insert(&step{kind: stepControlled, control: control, wire: target, axis: axis, angle: t}, func(into *step) bool {
		if into.control != control || into.wire != target || into.axis != axis {
			return false
		}
		into.angle = into.angle.Add(t)
		return true
	})
}

// addCX appends a CX. CX maps basis states to basis states, so it can be moved across a
// diagonal step D, which then reads the bits after the CX: CX D = D' CX with D'(b) = D(CX
// b), as CX is its own inverse. A mask that contains the target has its control toggled. A
// CX is moved only to reach another linear step, where the two become one, and often
// cancel: CX(i, j) P_j CX(i, j), as in ZZFeatureMap, is just the phase of b_i xor b_j.
func (b *block) addCX(control, target int) {
	s := &step{kind: stepLinear, cx: [][2]int{{control, target}}}
	place := -1 // the position of s if it does not reach a linear step
	var pass []*step
	for i := len(b.steps); i > 0; i-- {
		t := b.steps[i-1]
		if t.kind == stepLinear {
			t.cx = append(t.cx, s.cx[0])
			for _, d := range pass {
				d.through(control, target)
			}
			return
		}
		if commute(s, t) {
			continue
		}
		if place < 0 {
			place = i
		}
		if t.kind != stepDiagonal {
			break
		}
		pass = append(pass, t)
	}
	b.steps = slices.Insert(b.steps, max(place, 0), s)
}

// through changes a diagonal step so that it reads the bits before a CX.
func (s *step) through(control, target int) {
	moved := func(m uint64) uint64 {
		if m>>target&1 == 1 {
			m ^= 1 << control
		}
		return m
	}
	var terms []term
	for _, t := range s.terms {
		terms = addTerm(terms, term{moved(t.m1), moved(t.m2), t.angle})
	}
	s.terms = terms
}

// simplify applies the rules until nothing changes.
func (b *block) simplify() {
	for range 16 { // each round removes something, or is the last
		before := b.cost()
		b.dropZeroWires()
		b.absorb()
		old := b.steps
		b.steps = nil
		for _, s := range old {
			b.reinsert(s)
		}
		b.steps = slices.DeleteFunc(b.steps, isEmpty)
		b.gather()
		if b.cost() == before {
			return
		}
	}
}

// gather moves diagonal and linear steps forward to the next step of their kind, if they
// commute with the steps between. insert places each step as early as possible, which
// leaves a layer in pieces if its wires are ready at different times.
func (b *block) gather() {
	kept := b.steps[:0] // never beyond the step being examined
	for i, s := range b.steps {
		if !b.mergeOnward(i) {
			kept = append(kept, s)
		}
	}
	clear(b.steps[len(kept):])
	b.steps = kept
}

// mergeOnward merges diagonal or linear step i into the next of its kind, and reports
// whether it could.
func (b *block) mergeOnward(i int) bool {
	s := b.steps[i]
	if s.kind != stepDiagonal && s.kind != stepLinear {
		return false
	}
	for _, t := range b.steps[i+1:] {
		if t.kind == s.kind {
			if s.kind == stepLinear {
				t.cx = slices.Concat(s.cx, t.cx)
			} else {
				for _, u := range s.terms {
					t.terms = addTerm(t.terms, u)
				}
			}
			return true
		}
		if !commute(s, t) {
			break
		}
	}
	return false
}

// cost is a measure that the rules reduce.
func (b *block) cost() int {
	n := 0
	for _, s := range b.steps {
		n += 1 + len(s.factors) + 2*len(s.terms) + len(s.cx)
	}
	return n
}

// isEmpty reports whether a step has no effect.
func isEmpty(s *step) bool {
	switch s.kind {
	case stepLocal:
		return len(s.factors) == 0
	case stepControlled:
		return s.angle.isZero()
	case stepDiagonal:
		return len(s.terms) == 0
	}
	return s.isIdentity()
}

// reinsert adds a step of an older list, so that it can merge with steps that were changed
// or moved since.
func (b *block) reinsert(s *step) {
	switch s.kind {
	case stepLocal:
		for _, f := range s.factors {
			b.addLocal(s.wire, f)
		}
	case stepControlled:
		b.addControlled(s.control, s.wire, s.axis, s.angle)
	case stepDiagonal:
		for _, t := range s.terms {
			b.addPhase(t)
		}
	case stepLinear:
		if !s.isIdentity() {
			for _, g := range s.cx {
				b.addCX(g[0], g[1])
			}
		}
	}
}

// absorb moves one-wire phases into adjacent matrices: the phase t b of a wire is the
// matrix P(t), and commutes with steps that only read that wire.
func (b *block) absorb() {
	for i, s := range b.steps {
		if s.kind != stepDiagonal {
			continue
		}
		s.terms = slices.DeleteFunc(s.terms, func(t term) bool {
			if t.m2 != 0 || bits.OnesCount64(t.m1) != 1 {
				return false
			}
			w, p := bits.TrailingZeros64(t.m1), factor{kind: gateP, angle: t.angle}
			for j := i - 1; j >= 0; j-- {
				if b.steps[j].changed()&t.m1 == 0 {
					continue
				}
				if b.steps[j].kind == stepLocal {
					b.steps[j].factors = addFactor(b.steps[j].factors, p)
					return true
				}
				break
			}
			for _, next := range b.steps[i+1:] {
				if next.changed()&t.m1 == 0 {
					continue
				}
				if next.kind != stepLocal {
					return false
				}
				factors := addFactor(nil, p)
				for _, f := range next.factors {
					factors = addFactor(factors, f)
				}
				next.wire, next.factors = w, factors
				return true
			}
			return false
		})
	}
}

// dropZeroWires applies the fact that every wire starts in |0>. As long as a wire is |0>,
// its bit is 0 in every basis state with a nonzero amplitude. So the bit can be removed
// from parities, a phase with an empty parity is 0, and gates that the wire controls have
// no effect.
func (b *block) dropZeroWires() {
	zero := ^uint64(0)
	for _, s := range b.steps {
		switch s.kind {
		case stepLocal:
			if zero>>s.wire&1 == 1 {
				for len(s.factors) > 0 && s.factors[0].kind == gateP { // P |0> = |0>
					s.factors = s.factors[1:]
				}
			}
			if len(s.factors) > 0 {
				zero &^= 1 << s.wire
			}
		case stepControlled:
			if zero>>s.control&1 == 1 {
				s.angle = Angle{}
			}
			if !s.angle.isZero() {
				zero &^= 1 << s.wire
			}
		case stepDiagonal:
			var terms []term
			for _, t := range s.terms {
				if m1, m2 := t.m1&^zero, t.m2&^zero; m1 != 0 && (m2 != 0 || t.m2 == 0) {
					terms = addTerm(terms, term{m1, m2, t.angle})
				}
			}
			s.terms = terms
		case stepLinear:
			s.cx = slices.DeleteFunc(s.cx, func(g [2]int) bool {
				if zero>>g[0]&1 == 1 {
					return true
				}
				zero &^= 1 << g[1]
				return false
			})
		}
	}
}

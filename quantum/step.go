package quantum

import (
	"math"
	"math/bits"
	"slices"
)

// stepKind is the kind of a step of a compiled circuit.
type stepKind uint8

const (
	stepLocal      stepKind = iota // a 2 x 2 matrix on one wire
	stepControlled                 // RX or RY on a wire, controlled by another
	stepDiagonal                   // a phase for every basis state
	stepLinear                     // basis state b becomes A b over GF(2): a sequence of CX gates
)

// step is one operation on the wires of a block, 64 at most. Wire w is bit w of the masks.
type step struct {
	kind    stepKind
	wire    int      // wire of stepLocal; target of stepControlled
	factors []factor // factors of stepLocal; the first acts first

	control int // control of stepControlled
	axis    gateKind
	angle   Angle

	terms []term   // terms of stepDiagonal
	cx    [][2]int // stepLinear: control and target of each CX, in order
}

// factor is a matrix on one wire: a rotation (gateRX, gateRY, gateP) by an angle,
// or, with kind gateH, the constant m.
type factor struct {
	kind  gateKind
	angle Angle
	m     matrix
}

const constantFactor = gateH

func (f factor) isConst() bool { return f.kind == constantFactor }

// term is the phase angle times parity(m1 & b) times parity(m2 & b) for the basis state b.
// If m2 is 0, there is no second parity.
type term struct {
	m1, m2 uint64
	angle  Angle
}

func (t term) wires() uint64 { return t.m1 | t.m2 }

// wires returns the wires that a step acts on.
func (s *step) wires() uint64 {
	var w uint64
	switch s.kind {
	case stepLocal:
		w = 1 << s.wire
	case stepControlled:
		w = 1<<s.wire | 1<<s.control
	case stepDiagonal:
		for _, t := range s.terms {
			w |= t.wires()
		}
	case stepLinear:
		for _, g := range s.cx {
			w |= 1<<g[0] | 1<<g[1]
		}
	}
	return w
}

// changed returns the wires whose bits a step may change. A phase that reads none of them
// commutes with the step.
func (s *step) changed() uint64 {
	var w uint64
	switch s.kind {
	case stepLocal, stepControlled:
		w = 1 << s.wire
	case stepLinear:
		for _, g := range s.cx {
			w |= 1 << g[1]
		}
	}
	return w
}

// commute reports whether the steps commute. Each is a sum over the basis states of wires
// that it only reads. If neither changes a wire that the other reads or changes, every
// product of such parts commutes.
func commute(s, t *step) bool {
	return s.changed()&t.wires() == 0 && t.changed()&s.wires() == 0
}

// isConst reports whether the step is the same for every sample.
func (s *step) isConst() bool {
	switch s.kind {
	case stepLocal:
		return !slices.ContainsFunc(s.factors, func(f factor) bool { return !f.isConst() })
	case stepControlled:
		return s.angle.isConst()
	case stepDiagonal:
		return !slices.ContainsFunc(s.terms, func(t term) bool { return !t.angle.isConst() })
	}
	return true
}

// isReal reports whether the step has a real matrix for every sample.
func (s *step) isReal() bool {
	switch s.kind {
	case stepLocal:
		for _, f := range s.factors {
			if f.isConst() && !f.m.isReal() || !f.isConst() && f.kind != gateRY {
				return false
			}
		}
	case stepControlled:
		return s.axis == gateCRY
	case stepDiagonal:
		for _, t := range s.terms {
			if !isSign(t.angle) {
				return false
			}
		}
	}
	return true
}

// isSign reports whether e^(i angle) is 1 or -1 for every sample.
func isSign(a Angle) bool { return a.isConst() && math.Mod(a.constant(), math.Pi) == 0 }

// rows returns the matrix of a linear step on n wires: bit w of the result is the parity of
// rows[w] and the bits before the step.
func (s *step) rows(n int) []uint64 {
	rows := make([]uint64, n)
	for i := range rows {
		rows[i] = 1 << i
	}
	for _, g := range s.cx {
		rows[g[1]] ^= rows[g[0]]
	}
	return rows
}

// isIdentity reports whether the step's CX gates together are the identity.
func (s *step) isIdentity() bool {
	for i, r := range s.rows(64) {
		if r != 1<<i {
			return false
		}
	}
	return true
}

// addTerm adds a phase to the terms of a diagonal step, in their normal form: one term per
// pair of masks, constants modulo a full turn, no zeros.
func addTerm(terms []term, t term) []term {
	t = t.ordered()
	if t.m1 == 0 && t.m2 != 0 { // the parity of no bits is 0
		return terms
	}
	at := slices.IndexFunc(terms, func(u term) bool { return u.m1 == t.m1 && u.m2 == t.m2 })
	if at >= 0 {
		t.angle = t.angle.Add(terms[at].angle)
	}
	if t.angle.isConst() {
		t.angle = Const(math.Mod(t.angle.constant(), 2*math.Pi))
	}
	// e^(i pi parity(m)) is the product of its bits' signs.
	split := t.m2 == 0 && bits.OnesCount64(t.m1) > 1 && isSign(t.angle) && !t.angle.isZero()
	switch {
	case at >= 0 && (split || t.angle.isZero()):
		terms = slices.Delete(terms, at, at+1)
	case at >= 0:
		terms[at] = t
	case !split && !t.angle.isZero():
		terms = append(terms, t)
	}
	for m := t.m1; split && m != 0; m &= m - 1 {
		terms = addTerm(terms, term{m1: m & -m, angle: Const(math.Pi)})
	}
	return terms
}

// ordered returns the term with its masks in order, and with two equal masks as one.
func (t term) ordered() term {
	if t.m2 != 0 && t.m1 > t.m2 {
		t.m1, t.m2 = t.m2, t.m1
	}
	if t.m1 == t.m2 {
		t.m2 = 0
	}
	return t
}

// addFactor adds a matrix after the factors of a local step: constants are multiplied,
// angles about one axis are added, identities are removed.
func addFactor(factors []factor, f factor) []factor {
	if !f.isConst() && f.angle.isConst() {
		f = factor{kind: constantFactor, m: gateMatrix(f.kind, f.angle.constant())}
	}
	n := len(factors)
	if n > 0 && factors[n-1].kind == f.kind {
		last := factors[n-1]
		factors = factors[: n-1 : n-1]
		if f.isConst() {
			return addFactor(factors, factor{kind: constantFactor, m: f.m.times(last.m)})
		}
		return addFactor(factors, factor{kind: f.kind, angle: last.angle.Add(f.angle)})
	}
	if f.isConst() && f.m.isIdentity() {
		return factors
	}
	return append(factors[:n:n], f)
}

// clone returns a copy that shares no data that a rule changes.
func (s *step) clone() *step {
	c := *s
	c.factors, c.terms, c.cx = slices.Clone(s.factors), slices.Clone(s.terms), slices.Clone(s.cx)
	return &c
}

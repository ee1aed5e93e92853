package quantum

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/gpk-go/gpk"
)

// program is a block ready to run: a start state, then operations on amplitudes. Positions
// count the bits of an amplitude's index from the least significant, 0: wire 0 of the block
// is position qubits-1.
type program struct {
	qubits int
	real   bool // every amplitude is real for every sample
	angles angleTable

	start []localOp // by position; their product applied to |0> is the state before ops

	ops   []op
	phase int // index of the angle of a global phase, or -1

	// turns lists the angles whose sines and cosines are needed: those of the parts, and
	// phases that differ between samples. phases has the index in turns for each angle, or
	// -1.
	turns  []turned
	phases []int
}

// turned is an angle of the program's table, or half of it.
type turned struct {
	angle int
	half  bool
}

// localOp is a product of matrices on one position; the first part acts first.
type localOp struct {
	position int
	parts    []part
}

type part struct {
	kind  gateKind // constantFactor, gateRX, gateRY or gateP
	angle int      // index in the program's table
	turn  int      // index in the program's turns
	m     matrix
}

// op is an operation on amplitudes.
type op struct {
	kind    stepKind
	local   localOp // for stepLocal; for stepControlled the target's
	control int
	diag    *diagonal
	rows    []uint64 // for stepLinear: bit i of the new index is the parity of rows[i] and the old index
}

// diagonal multiplies the amplitude of b by e^(i phi(b)) with phi(b) = sum of linear[p] b_p
// + sum over p' < p of pairs[p][p'] b_p b_p' + the general terms. Entries are indices of
// angles in the program's table, or -1.
type diagonal struct {
	linear   []int
	pairs    [][]int // pairs[p] has p entries, or none if all are -1
	general  []generalTerm
	constant bool
}

type generalTerm struct {
	m1, m2 uint64
	angle  int
}

// matrix multiplies the parts, given the sines and cosines of their angles.
func (l *localOp) matrix(sin, cos []float64) matrix {
	m := identity
	for i, p := range l.parts {
		f := p.m
		if p.kind != constantFactor {
			f = turnMatrix(p.kind, sin[p.turn], cos[p.turn])
		}
		if i == 0 {
			m = f
		} else {
			m = f.times(m)
		}
	}
	return m
}

// vector applies the parts to |0>.
func (l *localOp) vector(sin, cos []float64) (a, b complex128) {
	a = 1
	for i := range l.parts {
		p := &l.parts[i]
		if p.kind == constantFactor {
			a, b = p.m[0]*a+p.m[1]*b, p.m[2]*a+p.m[3]*b
			continue
		}
		sin, cos := sin[p.turn], cos[p.turn]
		switch p.kind {
		case gateRX:
			a, b = complex(cos*real(a)+sin*imag(b), cos*imag(a)-sin*real(b)), complex(cos*real(b)+sin*imag(a), cos*imag(b)-sin*real(a))
		case gateRY:
			a, b = complex(cos*real(a)-sin*real(b), cos*imag(a)-sin*imag(b)), complex(sin*real(a)+cos*real(b), sin*imag(a)+cos*imag(b))
		case gateP:
			b = complex(cos*real(b)-sin*imag(b), cos*imag(b)+sin*real(b))
		}
	}
	return a, b
}

// findTurns lists the angles whose sines and cosines are needed. Constant phases are not
// included: they are computed exactly for quarter turns.
func (p *program) findTurns() {
	number := map[turned]int{}
	add := func(t turned) int {
		n, ok := number[t]
		if !ok {
			n = len(p.turns)
			number[t] = n
			p.turns = append(p.turns, t)
		}
		return n
	}
	parts := func(l *localOp) {
		for i := range l.parts {
			if q := &l.parts[i]; q.kind != constantFactor {
				q.turn = add(turned{q.angle, q.kind != gateP})
			}
		}
	}
	for i := range p.start {
		parts(&p.start[i])
	}
	p.phases = slices.Repeat([]int{-1}, len(p.angles.angles))
	phase := func(angle int) {
		if angle >= 0 && !p.angles.angles[angle].isConst() {
			p.phases[angle] = add(turned{angle, false})
		}
	}
	for i := range p.ops {
		parts(&p.ops[i].local)
		if d := p.ops[i].diag; d != nil {
			for at, angle := range d.linear {
				phase(angle)
				for _, angle := range d.pairs[at] {
					phase(angle)
				}
			}
			for _, t := range d.general {
				phase(t.angle)
			}
		}
	}
}

// evaluateAngles computes the angles or half angles of turns, and their sines and cosines.
func (p *program) evaluateAngles(angles, half, sin, cos []float64) {
	for i, t := range p.turns {
		if half[i] = angles[t.angle]; t.half {
			half[i] /= 2
		}
	}
	sincos(sin, cos, half)
}

// maxStateQubits is the maximum number of qubits of a simulated block: 2^40 amplitudes
// exceed any memory, and their indices fit every integer type used.
const maxStateQubits = 40

// lower turns a simplified block into a program.
func (b *block) lower() *program {
	k := len(b.wires)
	p := &program{qubits: k, real: true, start: make([]localOp, k), phase: -1}
	if !b.phase.isZero() {
		p.phase = p.angles.add(b.phase)
	}
	for i := range p.start {
		p.start[i].position = i
	}
	var touched uint64
	for _, s := range b.steps {
		p.real = p.real && s.isReal()
		if s.kind == stepLocal && touched>>s.wire&1 == 0 {
			p.start[k-1-s.wire] = p.local(s)
		} else {
			p.ops = append(p.ops, p.op(s))
		}
		touched |= s.wires()
	}
	p.findTurns()
	return p
}

func (p *program) local(s *step) localOp {
	l := localOp{position: p.qubits - 1 - s.wire}
	for _, f := range s.factors {
		q := part{kind: f.kind, m: f.m}
		if !f.isConst() {
			q.angle = p.angles.add(f.angle)
		}
		l.parts = append(l.parts, q)
	}
	return l
}

// mask converts a mask of wires to one of positions.
func (p *program) mask(m uint64) uint64 { return bits.Reverse64(m) >> (64 - p.qubits) }

func (p *program) op(s *step) op {
	o := op{kind: s.kind}
	switch s.kind {
	case stepLocal:
		o.local = p.local(s)
	case stepControlled:
		k := gateRX
		if s.axis == gateCRY {
			k = gateRY
		}
		o.control = p.qubits - 1 - s.control
		o.local = localOp{position: p.qubits - 1 - s.wire, parts: []part{{kind: k, angle: p.angles.add(s.angle)}}}
	case stepDiagonal:
		o.diag = p.diagonal(s)
	case stepLinear:
		rows := s.rows(p.qubits)
		o.rows = make([]uint64, p.qubits)
		for w, r := range rows {
			o.rows[p.qubits-1-w] = p.mask(r)
		}
	}
	return o
}

// diagonal sorts the terms of a step by their form: a bit, two bits, or parities. t (a xor
// b) is t a + t b - 2t a b.
func (p *program) diagonal(s *step) *diagonal {
	k := p.qubits
	linear, pairs := make([]Angle, k), map[[2]int]Angle{}
	add := func(hi, lo int, a Angle) {
		if hi < lo {
			hi, lo = lo, hi
		}
		pairs[[2]int{hi, lo}] = pairs[[2]int{hi, lo}].Add(a)
	}
	d := &diagonal{linear: make([]int, k), pairs: make([][]int, k), constant: s.isConst()}
	for _, t := range s.terms {
		m1, m2 := p.mask(t.m1), p.mask(t.m2)
		i, j := bits.TrailingZeros64(m1), 63-bits.LeadingZeros64(m1)
		switch n := bits.OnesCount64(m1); {
		case t.m2 == 0 && n == 1:
			linear[i] = linear[i].Add(t.angle)
		case t.m2 == 0 && n == 2:
			linear[i], linear[j] = linear[i].Add(t.angle), linear[j].Add(t.angle)
			add(i, j, t.angle.Scale(-2))
		case n == 1 && bits.OnesCount64(m2) == 1:
			add(i, bits.TrailingZeros64(m2), t.angle)
		default:
			d.general = append(d.general, generalTerm{m1, m2, p.angles.add(t.angle)})
		}
	}
	for i, a := range linear {
		d.linear[i] = -1
		if !a.isZero() {
			d.linear[i] = p.angles.add(a)
		}
	}
	order := func(a, b [2]int) int { return slices.Compare(a[:], b[:]) }
	for _, at := range slices.SortedFunc(maps.Keys(pairs), order) { // the order makes the program deterministic
		a := pairs[at]
		if a.isZero() {
			continue
		}
		if d.pairs[at[0]] == nil {
			d.pairs[at[0]] = slices.Repeat([]int{-1}, at[0])
		}
		d.pairs[at[0]][at[1]] = p.angles.add(a)
	}
	return d
}

// describe returns the error of angle i of a row of samples, which is not finite.
func (t angleTable) describe(i int, samples string, row int) error {
	return fmt.Errorf("%w: the angle %v overflows for row %d of %s; scale the features", gpk.ErrNonFinite, t.angles[i], row, samples)
}

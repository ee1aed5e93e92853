package quantum

import (
	"math/bits"
	"slices"
)

// move is an operation on states and its effect on positions: it changes those in x, and is
// diagonal on those in z.
type move struct {
	x, z uint64
	op   *op
	diag *diagonal // then op is not used
	term generalTerm
	slot int      // slot of a matrix
	rows []uint64 // rows of a linear map
	to   int      // the target's position
	ctl  uint64   // control positions
}

type encoder struct {
	*circuitCode
	p           *program
	longVectors bool // the start uses long vectors
}

// moves converts the program's operations to moves.
func (e *encoder) moves() (ms []*move) {
	for i := range e.p.ops {
		o := &e.p.ops[i]
		switch o.kind {
		case stepLocal, stepControlled:
			t := o.local.position
			m := &move{op: o, to: t, x: 1 << t, slot: e.addSlot(slotMatrix, 8, e.parts(o.local.parts, 0)...)}
			if o.kind == stepControlled {
				m.ctl = 1 << o.control
				m.z = m.ctl
			}
			ms = append(ms, m)
		case stepDiagonal:
			ms = append(ms, e.diagonal(o.diag)...)
		case stepLinear:
			ms = append(ms, e.linear(o.rows)...)
		}
	}
	return ms
}

// diagonal returns the moves of a diagonal.
func (e *encoder) diagonal(d *diagonal) (ms []*move) {
	n := &diagonal{linear: d.linear, pairs: d.pairs, constant: d.constant && e.p.qubits <= maxFixedQubits}
	m := &move{diag: n}
	for p, a := range d.linear {
		if a >= 0 {
			m.z |= 1 << p
		}
		for q, a := range d.pairs[p] {
			if a >= 0 {
				m.z |= 1<<p | 1<<q
			}
		}
	}
	for _, t := range d.general {
		if n.constant {
			n.general = append(n.general, t)
			m.z |= t.m1 | t.m2
		} else {
			ms = append(ms, &move{term: t, z: t.m1 | t.m2})
		}
	}
	if m.z != 0 {
		ms = append(ms, m)
	}
	return ms
}

// linear returns the moves of a linear map: one if a block has the whole state, otherwise
// one for each addition of one row to another, found by elimination.
func (e *encoder) linear(rows []uint64) (ms []*move) {
	k, a := e.p.qubits, slices.Clone(rows)
	if k <= localBits {
		m := &move{rows: a}
		for i, r := range a {
			if r != 1<<i {
				m.x |= 1 << i
				m.z |= r
			}
		}
		return append(ms, m)
	}
	// a is E_1 E_2 … E_n, each its own inverse, with E_n … E_1 a the identity: elimination
	// finds the factors in this order.
	add := func(to, from int) {
		a[to] ^= a[from]
		r := make([]uint64, k)
		for i := range r {
			r[i] = 1 << i
		}
		r[to] |= 1 << from
		ms = append(ms, &move{rows: r, x: 1 << to, z: 1 << from})
	}
	for i := range k {
		if a[i]>>i&1 == 0 {
			for j := i + 1; j < k; j++ {
				if a[j]>>i&1 == 1 {
					add(i, j)
					break
				}
			}
		}
		for j := range k {
			if j != i && a[j]>>i&1 == 1 {
				add(j, i)
			}
		}
	}
	slices.Reverse(ms) // reversed to the order in which they act
	return ms
}

func (m *move) commutes(o *move) bool { return m.x&(o.x|o.z) == 0 && o.x&(m.x|m.z) == 0 }

// schedule divides moves into lists that change at most size positions each, including
// those of always. A move is placed before others if it commutes with them.
func schedule(ms []*move, always uint64, size int) (lists [][]*move) {
	for len(ms) > 0 {
		active := always
		var list, rest []*move
		for _, m := range ms {
			free := !slices.ContainsFunc(rest, func(o *move) bool { return !m.commutes(o) })
			if free && bits.OnesCount64(active|m.x) <= size {
				active |= m.x
				list = append(list, m)
			} else {
				rest = append(rest, m)
			}
		}
		lists, ms = append(lists, list), rest
	}
	return lists
}

// positions lists the positions that a pass changes, padded to `local` of them, then the
// others, each in ascending order.
func positions(ms []*move, always uint64, qubits, local int) []int32 {
	active := always
	for _, m := range ms {
		active |= m.x
	}
	for p := 0; bits.OnesCount64(active) < local; p++ {
		active |= 1 << p
	}
	var in, out []int32
	for p := range qubits {
		if active>>p&1 == 1 {
			in = append(in, int32(p))
		} else {
			out = append(out, int32(p))
		}
	}
	return append(in, out...)
}

// vectors returns the slots of the 2-vectors of the start, by position.
func (e *encoder) vectors() []int32 {
	words := make([]int32, e.p.qubits)
	for p := range e.p.start {
		code := e.parts(e.p.start[p].parts, 0)
		if p == 0 && e.p.phase >= 0 { // the global phase is included in one vector
			code[0]++
			code = append(code, partTurn, int32(e.p.phase), 0)
		}
		kind, values := slotVector, 4
		if e.longVectors {
			kind, values = slotLongVector, 5
		}
		words[p] = int32(e.addSlot(kind, values, code...))
	}
	return words
}

// diagonalTable adds a table with the phases of a constant diagonal.
func (e *encoder) diagonalTable(d *diagonal) int {
	t := tableCode{offset: e.width}
	e.width += e.numbers()
	local := min(e.p.qubits, localBits)
	w := &passWriter{encoder: e, pass: passCode{at: positions(nil, 0, e.p.qubits, local), local: local}}
	w.begin(fromOnes)
	w.diagonalPhases(d)
	w.end(toState)
	w.pass.words = append(w.pass.words, stageEnd)
	t.passes = []passCode{w.pass}
	e.tables = append(e.tables, t)
	return t.offset
}

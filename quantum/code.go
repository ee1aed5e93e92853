package quantum

import (
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
)

// A program is passed to a GPU as data: code for its angles, for slots (the values that
// each sample's gates need), and for passes over states. The kernels that run the code, and
// its opcodes, are in cutlass/src/quantum.cuh and quantum.cu.

// Kinds of slots and of their parts.
const (
	slotVector = iota
	slotMatrix
	slotPhase
	slotBloch
	slotLongVector // a vector with its excess length due to float32 rounding

	partConst = iota - 5
	partRX
	partRY
	partP
	partTurn
)

// Stages, sources and destinations of a chunk, and kinds of phases.
const (
	stageEnd = iota
	stageChunk
	stageGates

	fromProduct = iota - 3
	fromConstant
	fromState
	fromShared
	fromOnes
	fromLongProduct // from long vectors

	toShared = iota - 9
	toPermuted
	toState
	toTurned // rotated in pairs, see turn_pair in quantum.cu

	phaseTable = iota - 13
	phaseSum
	phaseParity
)

// Size limits of the kernels.
const (
	localBits    = 13 // positions of a state per block
	coalesced    = 5  // at least this many of them are the lowest, whose amplitudes are contiguous
	chunkBits    = 4
	groupBits    = 3
	turnedQubits = 7       // least number of qubits with rotation: below it, the error of equal amplitudes is small
	blockAmps    = 1 << 12 // amplitudes of a block with several states
	blockThreads = 256
)

// passCode is one pass over states.
type passCode struct {
	words []int32
	local int
	at    []int32 // the positions of the local bits, then of the others
}

// tableCode is a table that passes read: given values, or the phases of a constant
// diagonal, which the device computes by a separate program.
type tableCode struct {
	offset int // offset in numbers
	values []complex128
	passes []passCode
}

// circuitCode is the code of a program, or of single wires.
type circuitCode struct {
	qubits  int
	real    bool
	angles  []int32 // offsets of the angles' codes, then the codes
	nAngles int
	coefs   []float64
	slots   []int32
	nSlots  int
	stride  int       // numbers per sample of the slots
	fixed   []float64 // constant matrices
	tables  []tableCode
	width   int // numbers of all tables
	passes  []passCode
	samples int  // whole states per block
	grows   bool // the error in the length of states accumulates
	direct  bool // slots compute their angles themselves

	slotCode  [][]int32
	angleCode [][]int32
	phases    map[int]int // slot of an angle's phase
	all       []Angle
}

// addAngles adds the angles of a table and returns the index of the first.
func (c *circuitCode) addAngles(t *angleTable) int {
	first := len(c.angleCode)
	c.all = append(c.all, t.angles...)
	for _, a := range t.angles {
		words := []int32{int32(len(a.terms))}
		for _, m := range a.terms {
			words = append(words, int32(len(c.coefs)), int32(len(m.features)))
			c.coefs = append(c.coefs, m.coef)
			for _, f := range m.features {
				words = append(words, int32(f))
			}
		}
		c.angleCode = append(c.angleCode, words)
	}
	return first
}

// addSlot adds a slot with the given number of values and returns their offset.
func (c *circuitCode) addSlot(kind, values int, words ...int32) int {
	at := c.stride
	c.slotCode = append(c.slotCode, append([]int32{int32(kind), int32(at)}, words...))
	c.stride += values
	return at
}

// parts returns the code of the matrices to multiply; first is the index of the table's
// angle 0.
func (c *circuitCode) parts(parts []part, first int) []int32 {
	words := []int32{int32(len(parts))}
	for _, p := range parts {
		kind, angle, fixed := partConst, int32(-1), 0
		switch p.kind {
		case constantFactor:
			fixed = len(c.fixed) / 8
			for _, v := range p.m {
				c.fixed = append(c.fixed, real(v), imag(v))
			}
		case gateRX:
			kind = partRX
		case gateRY:
			kind = partRY
		case gateP:
			kind = partP
		}
		if p.kind != constantFactor {
			angle = int32(first + p.angle)
		}
		words = append(words, int32(kind), angle, int32(fixed))
	}
	return words
}

// phaseSlot returns the slot of e^(i angle).
func (c *circuitCode) phaseSlot(angle int) int {
	if at, ok := c.phases[angle]; ok {
		return at
	}
	at := c.addSlot(slotPhase, 2, 1, int32(angle))
	c.phases[angle] = at
	return at
}

// close assembles the code of angles and slots.
func (c *circuitCode) close() {
	join := func(parts [][]int32) []int32 {
		words := make([]int32, len(parts))
		for i, p := range parts {
			words[i] = int32(len(words))
			words = append(words, p...)
		}
		return words
	}
	c.angles, c.nAngles = join(c.angleCode), len(c.angleCode)
	c.slots, c.nSlots = join(c.slotCode), len(c.slotCode)
	c.stride = max(c.stride, 1)
}

// Limits for slots that compute their angles themselves, see selfContained.
const (
	maxTimes = 4   // the work in slots, as a multiple of computing every angle once
	maxWords = 256 // words of the angles of one slot, which one thread computes
)

// selfContained reports whether slots may compute their angles themselves: every angle
// belongs to a slot, no slot has too many terms of angles, and the repeated work for angles
// of several slots is small.
func (c *circuitCode) selfContained() bool {
	used := make([]bool, len(c.angleCode))
	once, all := 0, 0
	for _, slot := range c.slotCode {
		words := 0
		use := func(angle int32) {
			if angle >= 0 {
				used[angle] = true
				words += len(c.angleCode[angle])
			}
		}
		kind, parts, rest := slot[0], int(slot[2]), slot[3:]
		if kind == slotPhase {
			use(rest[0])
		} else {
			for i := range parts {
				use(rest[3*i+1])
			}
		}
		if words > maxWords {
			return false
		}
		all += words
	}
	for i, words := range c.angleCode {
		if !used[i] { // its overflow would not be detected
			return false
		}
		once += len(words)
	}
	return all <= maxTimes*once
}

// gramCodes are the codes of a kernel. They are cached, because a matrix of few qubits
// takes less time than encoding.
type gramCodes struct {
	once         sync.Once
	blocks       []*circuitCode
	wires        *circuitCode // nil if there are none
	planar, full int          // number of wires with two and with three coordinates
	dot          bool
	packed       atomic.Pointer[packed] // cache of the last upload
}

// encoded returns the codes of k.
func (k *kernel) encoded() *gramCodes {
	c := k.codes
	c.once.Do(func() {
		for _, p := range k.blocks {
			to := make([]int, p.qubits)
			for i := range to {
				to[i] = i
			}
			c.blocks = append(c.blocks, encode(p, to, true))
		}
		if len(k.wires) > 0 {
			c.dot = len(k.wires) <= maxDot
			c.wires, c.planar, c.full = encodeWires(k.wires, c.dot)
		}
	})
	return c
}

// encode writes the code of a program. to[p] is the bit of a state's index that corresponds
// to position p of the program. If kernel is set, only inner products of the states matter,
// and their amplitudes are rotated in pairs: see dither. In float32 such states are divided
// by their lengths, or built from vectors with a correction of their length.
func encode(p *program, to []int, kernel bool) *circuitCode {
	c := &circuitCode{qubits: p.qubits, real: p.real, phases: map[int]int{}}
	c.grows = p.grows()
	c.addAngles(&p.angles)
	kernel = kernel && p.qubits >= turnedQubits
	e := &encoder{circuitCode: c, p: p, to: to, long: kernel && !c.grows}
	ops := e.moves()
	local := min(p.qubits, localBits)
	var low uint64
	if p.qubits > localBits {
		low = 1<<coalesced - 1
	}
	taken := schedule(ops, low, local)
	if len(taken) == 0 {
		taken = [][]*move{nil}
	}
	for i, ops := range taken {
		to := toState
		if kernel && i == len(taken)-1 {
			to = toTurned
		}
		c.passes = append(c.passes, e.pass(ops, positions(ops, low, p.qubits, local), i == 0, to))
	}
	c.samples = 1
	if p.qubits < localBits {
		c.samples = max(blockAmps>>p.qubits, 1)
		if p.qubits < chunkBits { // a thread holds a whole state
			c.samples = blockThreads
		}
	}
	c.close()
	return c
}

// encodeWires writes the code of the points of single wires, line by line: two coordinates
// of each planar wire, then three of each full one.
func encodeWires(wires []*program, dot bool) (c *circuitCode, planar, full int) {
	c = &circuitCode{phases: map[int]int{}}
	type wire struct {
		p    *program
		axes []int
	}
	var two, three []wire
	for _, p := range wires {
		switch axes := movingAxes(p, dot); len(axes) {
		case 0:
		case 3:
			three = append(three, wire{p, axes})
		case 1:
			two = append(two, wire{p, append(axes, (axes[0]+1)%3)})
		default:
			two = append(two, wire{p, axes})
		}
	}
	for _, w := range append(slices.Clone(two), three...) {
		at := [3]int32{-1, -1, -1}
		for i, axis := range w.axes {
			at[axis] = int32(i)
		}
		words := c.parts(w.p.start[0].parts, c.addAngles(&w.p.angles))
		form := int32(0)
		if dot {
			form = 1
		}
		c.addSlot(slotBloch, len(w.axes), append(words, form, at[0], at[1], at[2])...)
	}
	c.close()
	c.direct = c.selfContained()
	return c, len(two), len(three)
}

// movingAxes returns the Bloch coordinates of a wire that depend on its angles. A
// coordinate that is equal for a few pseudo-random angles is equal for all, because it is a
// polynomial of their sines and cosines. The form 1/2 + r.s also needs constant
// coordinates, unless they are 0.
func movingAxes(p *program, dot bool) (axes []int) {
	low, high := [3]float64{1, 1, 1}, [3]float64{-1, -1, -1}
	angles := make([]float64, len(p.angles.angles))
	half, sin, cos := make([]float64, len(p.turns)), make([]float64, len(p.turns)), make([]float64, len(p.turns))
	x := 0.5
	for range 16 {
		for i, a := range p.angles.angles {
			if angles[i] = a.constant(); !a.isConst() {
				x = math.Mod(x+math.Phi, 1)
				angles[i] = 2 * math.Pi * math.Mod(x*x*97, 1)
			}
		}
		p.turn(angles, half, sin, cos)
		a, b := p.start[0].vector(sin, cos)
		for i, v := range blochVector(a, b) {
			low[i], high[i] = min(low[i], v), max(high[i], v)
		}
	}
	for i := range 3 {
		if high[i]-low[i] > sameCoordinate {
			axes = append(axes, i)
		}
	}
	for i := range 3 {
		if dot && len(axes) > 0 && !slices.Contains(axes, i) && math.Abs(high[i]) > sameCoordinate {
			return []int{0, 1, 2}
		}
	}
	return axes
}

// move is an operation on states and its effect on positions: it changes those in x, and is
// diagonal on those in z.
type move struct {
	x, z uint64
	op   *op
	diag *diagonal // in the states' positions; then op is not used
	term generalTerm
	slot int      // slot of a matrix
	rows []uint64 // rows of a linear map
	to   int      // the target's position
	ctl  uint64   // control positions
}

type encoder struct {
	*circuitCode
	p    *program
	to   []int
	long bool // the start uses long vectors
}

func (e *encoder) mask(m uint64) (n uint64) {
	for ; m != 0; m &= m - 1 {
		n |= 1 << e.to[bits.TrailingZeros64(m)]
	}
	return n
}

// moves converts the program's operations to moves.
func (e *encoder) moves() (ms []*move) {
	for i := range e.p.ops {
		o := &e.p.ops[i]
		switch o.kind {
		case stepLocal, stepControlled:
			t := e.to[o.local.position]
			m := &move{op: o, to: t, x: 1 << t, slot: e.addSlot(slotMatrix, 8, e.parts(o.local.parts, 0)...)}
			if o.kind == stepControlled {
				m.ctl = 1 << e.to[o.control]
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

// diagonal returns the moves of a diagonal, in positions of the states.
func (e *encoder) diagonal(d *diagonal) (ms []*move) {
	k := e.p.qubits
	n := &diagonal{linear: slices.Repeat([]int{-1}, k), pairs: make([][]int, k), constant: d.constant && k <= maxFixedQubits}
	m := &move{diag: n}
	for p, a := range d.linear {
		n.linear[e.to[p]] = a
		if a >= 0 {
			m.z |= 1 << e.to[p]
		}
	}
	for p, row := range d.pairs {
		for q, a := range row {
			if a < 0 {
				continue
			}
			hi, lo := max(e.to[p], e.to[q]), min(e.to[p], e.to[q])
			if n.pairs[hi] == nil {
				n.pairs[hi] = slices.Repeat([]int{-1}, hi)
			}
			n.pairs[hi][lo] = a
			m.z |= 1<<hi | 1<<lo
		}
	}
	if n.constant {
		for _, t := range d.general {
			n.general = append(n.general, generalTerm{e.mask(t.m1), e.mask(t.m2), t.angle})
			m.z |= e.mask(t.m1 | t.m2)
		}
	} else {
		for _, t := range d.general {
			t := generalTerm{e.mask(t.m1), e.mask(t.m2), t.angle}
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
	k := e.p.qubits
	a := make([]uint64, k)
	for i, r := range rows {
		a[e.to[i]] = e.mask(r)
	}
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

// passWriter writes the stages of a pass.
type passWriter struct {
	*encoder
	pass passCode
	open bool // a chunk stage still accepts phases and has no destination yet
	head int  // offset of the open stage
}

func (w *passWriter) local() []int32 { return w.pass.at[:w.pass.local] }

// begin opens a chunk stage.
func (w *passWriter) begin(from int, words ...int32) {
	w.open, w.head = true, len(w.pass.words)
	w.pass.words = append(w.pass.words, stageChunk, int32(from), 0, 0)
	w.pass.words = append(w.pass.words, words...)
}

// end closes the open chunk stage with its destination.
func (w *passWriter) end(to int, words ...int32) {
	w.pass.words[w.head+2] = int32(to)
	w.pass.words = append(w.pass.words, words...)
	w.open = false
}

// phase adds phases to the open chunk stage, or to a new one.
func (w *passWriter) phase(kind int, words ...int32) {
	if !w.open {
		w.begin(fromShared)
	}
	w.pass.words[w.head+3]++
	w.pass.words = append(w.pass.words, int32(kind), int32(len(words)+2))
	w.pass.words = append(w.pass.words, words...)
}

// sum adds the phases of a diagonal and of an angle that applies to all amplitudes, or -1.
func (w *passWriter) sum(d *diagonal, base int) {
	q := w.p.qubits
	words := []int32{int32(base)}
	paired := slices.ContainsFunc(d.pairs, func(r []int) bool { return r != nil })
	for _, a := range d.linear {
		words = append(words, int32(a))
	}
	flag := int32(0)
	if paired {
		flag = 1
	}
	words = append(words, flag)
	if paired {
		for hi := range q {
			for lo := range hi {
				a := -1
				if d.pairs[hi] != nil {
					a = d.pairs[hi][lo]
				}
				words = append(words, int32(a))
			}
		}
		chunk := w.local()[max(w.pass.local-chunkBits, 0):]
		for r := range chunkBits {
			for k := range r {
				slot := -1
				if r < len(chunk) {
					if hi, lo := chunk[r], chunk[k]; d.pairs[hi] != nil && d.pairs[hi][lo] >= 0 {
						slot = w.phaseSlot(d.pairs[hi][lo])
					}
				}
				words = append(words, int32(slot))
			}
		}
	}
	w.phase(phaseSum, words...)
}

func (w *passWriter) parity(t generalTerm) {
	w.phase(phaseParity, int32(uint32(t.m1)), int32(uint32(t.m1>>32)), int32(uint32(t.m2)), int32(uint32(t.m2>>32)), int32(w.phaseSlot(t.angle)))
}

// diagonalPhases adds all phases of a diagonal.
func (w *passWriter) diagonalPhases(d *diagonal) {
	w.sum(d, -1)
	for _, t := range d.general {
		w.parity(t)
	}
}

// permute ends the open chunk stage, or a new one, with a linear map.
func (w *passWriter) permute(rows []uint64) {
	if !w.open {
		w.begin(fromShared)
	}
	place := map[int32]int{}
	for l, p := range w.local() {
		place[p] = l
	}
	words := make([]int32, w.p.qubits)
	for l, p := range w.pass.at {
		var image uint32
		for i, r := range rows {
			if r>>p&1 == 0 {
				continue
			}
			if to, ok := place[int32(i)]; ok {
				image |= 1 << to
			}
		}
		words[l] = int32(image)
	}
	w.end(toPermuted, words...)
}

// gates writes the stages of matrices.
func (w *passWriter) gates(ms []*move) {
	if w.open {
		w.end(toShared)
	}
	place := map[int32]int{}
	for l, p := range w.local() {
		place[p] = l
	}
	for _, list := range schedule(ms, 0, groupBits) {
		var active uint64
		for _, m := range list {
			active |= m.x
		}
		var group []int32
		index := map[int]int{}
		for l, p := range w.local() {
			if active>>p&1 == 1 {
				index[int(p)] = len(group)
				group = append(group, int32(l))
			}
		}
		words := []int32{stageGates, int32(len(group)), int32(len(list))}
		words = append(words, group...)
		for len(words) < 3+groupBits {
			words = append(words, 0)
		}
		for _, m := range list {
			var inner uint32
			outer := m.ctl
			for c := m.ctl; c != 0; c &= c - 1 {
				p := bits.TrailingZeros64(c)
				if l, ok := place[int32(p)]; ok {
					inner |= 1 << l
					outer &^= 1 << p
				}
			}
			words = append(words, int32(index[m.to]), int32(m.slot), int32(inner), int32(uint32(outer)), int32(uint32(outer>>32)))
		}
		w.pass.words = append(w.pass.words, words...)
	}
}

// pass writes the code of one pass; `to` is the destination of its last stage.
func (e *encoder) pass(ms []*move, at []int32, first bool, to int) passCode {
	w := &passWriter{encoder: e, pass: passCode{at: at, local: min(e.p.qubits, localBits)}}
	switch {
	case !first:
		w.begin(fromState)
	case e.p.constant != nil:
		w.begin(fromConstant, int32(e.constantTable()))
		if e.p.phase >= 0 {
			w.sum(&diagonal{linear: slices.Repeat([]int{-1}, e.p.qubits)}, e.p.phase)
		}
	case e.long:
		w.begin(fromLongProduct, e.vectors()...)
	default:
		w.begin(fromProduct, e.vectors()...)
	}
	var gates []*move
	flush := func() {
		if len(gates) > 0 {
			w.gates(gates)
			gates = nil
		}
	}
	for i := 0; i < len(ms); i++ {
		m := ms[i]
		if m.op != nil {
			gates = append(gates, m)
			continue
		}
		flush()
		switch {
		case m.rows != nil:
			rows := m.rows
			for i+1 < len(ms) && ms[i+1].rows != nil {
				i++
				rows = compose(ms[i].rows, rows)
			}
			w.permute(rows)
		case m.diag == nil:
			w.parity(m.term)
		case m.diag.constant:
			w.phase(phaseTable, int32(e.diagonalTable(m.diag)))
		default:
			w.diagonalPhases(m.diag)
		}
	}
	flush()
	if !w.open {
		w.begin(fromShared)
	}
	w.end(to)
	w.pass.words = append(w.pass.words, stageEnd)
	return w.pass
}

// compose returns the rows of the product a b.
func compose(a, b []uint64) []uint64 {
	c := make([]uint64, len(a))
	for i, r := range a {
		for ; r != 0; r &= r - 1 {
			c[i] ^= b[bits.TrailingZeros64(r)]
		}
	}
	return c
}

// vectors returns the slots of the start's 2-vectors, by position of the states.
func (e *encoder) vectors() []int32 {
	words := make([]int32, e.p.qubits)
	for p := range e.p.start {
		code := e.parts(e.p.start[p].parts, 0)
		if p == 0 && e.p.phase >= 0 { // the global phase is included in one vector
			code[0]++
			code = append(code, partTurn, int32(e.p.phase), 0)
		}
		kind, values := slotVector, 4
		if e.long {
			kind, values = slotLongVector, 5
		}
		words[e.to[p]] = int32(e.addSlot(kind, values, code...))
	}
	return words
}

// room reserves the memory of a table.
func (e *encoder) room() int {
	at := e.width
	if e.p.real {
		e.width += 1 << e.p.qubits
	} else {
		e.width += 2 << e.p.qubits
	}
	return at
}

func (e *encoder) constantTable() int {
	t := tableCode{offset: e.room(), values: make([]complex128, len(e.p.constant))}
	for b, v := range e.p.constant {
		t.values[e.mask(uint64(b))] = v
	}
	e.tables = append(e.tables, t)
	return t.offset
}

// diagonalTable adds a table with the phases of a constant diagonal.
func (e *encoder) diagonalTable(d *diagonal) int {
	t := tableCode{offset: e.room()}
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

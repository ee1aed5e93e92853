package quantum

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// A program is passed to a GPU as data: code for its angles, for slots (the values that
// each sample's gates need), and for passes over states. The kernels that run the code, and
// its opcodes, are in kernels/circuit.cuh and kernels/amplitudes.cuh.

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
	_           // a table of amplitudes
	fromState
	fromShared
	fromOnes
	fromLongProduct // from long vectors

	toShared = iota - 9
	toPermuted
	toState
	toRotated // rotated in pairs, see rotate_pair in kernels/amplitudes.cuh

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

// tableCode is a table that passes read: the phases of a constant diagonal, which the device
// computes by a separate program.
type tableCode struct {
	offset int // offset in numbers
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
	direct  bool // the slots can compute their angles themselves, as fusedSmallGram requires

	slotCode  [][]int32
	angleCode [][]int32
	phases    map[int]int // slot of an angle's phase
	all       []Angle
}

// numbers returns the number of real numbers in a state.
func (c *circuitCode) numbers() int {
	if c.real {
		return 1 << c.qubits
	}
	return 2 << c.qubits
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

// selfContained reports whether the slots can compute their angles themselves, as fusedSmallGram requires: every angle
// belongs to a slot, no slot has too many terms of angles, and the repeated work for angles
// of several slots is small.
func (c *circuitCode) selfContained() bool {
	used := make([]bool, len(c.angleCode))
	once, all := 0, 0
	for _, slot := range c.slotCode {
		words := 0
		for i := range int(slot[2]) {
			if angle := slot[3+3*i+1]; angle >= 0 {
				used[angle] = true
				words += len(c.angleCode[angle])
			}
		}
		if words > maxWords {
			return false
		}
		all += words
	}
	for i, words := range c.angleCode {
		if !used[i] { // an overflow of the angle would not be detected
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
	c := &k.codes
	c.once.Do(func() {
		for _, p := range k.blocks {
			c.blocks = append(c.blocks, encode(p, true))
		}
		if len(k.wires) > 0 {
			c.dot = len(k.wires) <= maxDot
			c.wires, c.planar, c.full = encodeWires(k.wires, c.dot)
		}
	})
	return c
}

// encode writes the code of a program. If kernel is set, only inner products of the states
// matter, and their amplitudes are rotated in pairs: see dither. In float32 such states are divided
// by their lengths, or built from vectors with a correction of their length.
func encode(p *program, kernel bool) *circuitCode {
	c := &circuitCode{qubits: p.qubits, real: p.real, phases: map[int]int{}}
	c.grows = p.grows()
	c.addAngles(&p.angles)
	kernel = kernel && p.qubits >= turnedQubits
	e := &encoder{circuitCode: c, p: p, longVectors: kernel && !c.grows}
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
			to = toRotated
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
	moving, planar := movingWires(wires, dot)
	for _, w := range moving {
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
	return c, planar, len(moving) - planar
}

// movingWires returns the wires whose points differ between samples: those with two coordinates,
// then those with three.
func movingWires(wires []*program, dot bool) (moving []movingWire, planar int) {
	var full []movingWire
	for _, p := range wires {
		switch axes := movingAxes(p, dot); len(axes) {
		case 0: // the same for all samples: the factor is 1
		case 1: // with a coordinate that is nearly constant
			moving = append(moving, movingWire{p: p, axes: append(axes, (axes[0]+1)%3)})
		case 2:
			moving = append(moving, movingWire{p: p, axes: axes})
		case 3:
			full = append(full, movingWire{p: p, axes: axes})
		}
	}
	return append(moving, full...), len(moving)
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
		p.evaluateAngles(angles, half, sin, cos)
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

package cpu

import (
	"slices"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// tileCode is a chain compiled for registers: a tile of tileBytes of results stays in
// registers through all steps, except for results that a later step reads too. It
// supports chains in one type, float32 or float64, whose steps are all in tileOps, and
// gives the bits of the single operations. A comparison is supported if only casts to that
// type read it. The tile then holds its results as 1 and 0, and the casts do nothing.
type tileCode struct {
	steps []tileCodeStep
	kept  int // results that a later step reads from memory
}

// tileCodeStep is a tileStep without addresses.
type tileCodeStep struct {
	op   tileOp
	from expr.Ref // the operand, if the operation has one; toResult
}

// toResult is the destination of the last store.
var toResult = expr.Ref{Kind: expr.ToStep, N: expr.MaxSteps}

// tileStep is one instruction of runTiles.
type tileStep struct {
	op   uintptr
	p    unsafe.Pointer // the operand's first tile
	mask uintptr        // mask of the offset from tile to tile: all ones, or 0 if one tile serves all
}

// tileOp is an operation on the tile in registers, x, and an operand in memory, y.
type tileOp uint8

const (
	tileLoad    tileOp = iota // y
	tileStore                 // x to memory
	tileStream                // x to memory by non-temporal stores; 32-byte aligned
	tileAdd                   // x + y; the operations below likewise
	tileSub                   //
	tileSubFrom               // y - x
	tileMul                   //
	tileDiv                   //
	tileDivInto               // y / x
	tileMax                   //
	tileMin                   //
	tileEq                    // x == y as 1 or 0
	tileNe                    //
	tileLt                    //
	tileLe                    //
	tileGt                    //
	tileGe                    //
	tileNeg                   // from here on unary operations on x
	tileAbs                   //
	tileSquare                //
	tileSqrt                  //
	tileFloor                 //
	tileCeil                  //
	tileRound                 //
	tileReLU                  //
	tileEnd
)

const (
	tileBytes = 256 // the size of eight registers
	tileSteps = 48  // maximum number of steps of a program; runTiles has a call site for each
)

// tileOps maps operations to operations on tiles. In reversed the operands are exchanged. 0
// means that tiles do not support the operation.
var tileOps = [expr.Clamp + 1]struct{ op, reversed tileOp }{
	expr.Add:     {tileAdd, tileAdd},
	expr.Sub:     {tileSub, tileSubFrom},
	expr.Mul:     {tileMul, tileMul},
	expr.Div:     {tileDiv, tileDivInto},
	expr.Maximum: {tileMax, tileMax},
	expr.Minimum: {tileMin, tileMin},
	expr.Clamp:   {op: tileMax}, // followed by tileMin
	expr.Eq:      {tileEq, tileEq},
	expr.Ne:      {tileNe, tileNe},
	expr.Lt:      {tileLt, tileGt},
	expr.Le:      {tileLe, tileGe},
	expr.Gt:      {tileGt, tileLt},
	expr.Ge:      {tileGe, tileLe},
	expr.Neg:     {op: tileNeg},
	expr.Abs:     {op: tileAbs},
	expr.Square:  {op: tileSquare},
	expr.Sqrt:    {op: tileSqrt},
	expr.Floor:   {op: tileFloor},
	expr.Ceil:    {op: tileCeil},
	expr.Round:   {op: tileRound},
	expr.ReLU:    {op: tileReLU},
}

// newTileCode compiles a program. The code has no steps if tiles do not support it; they are in
// room if that is large enough.
func newTileCode(p *expr.Program, room []tileCodeStep) tileCode {
	t := p.Steps[len(p.Steps)-1].DType
	mixed := slices.ContainsFunc(p.Leaves, func(l expr.Leaf) bool { return l.DType != t })
	if !vectorAVX || mixed || t != dtype.Float32 && t != dtype.Float64 {
		return tileCode{}
	}
	from, kept, ok := tileOperands(p, t)
	if !ok {
		return tileCode{}
	}
	c := tileCode{steps: slices.Grow(room, 2*len(p.Steps)+2)}
	add := func(op tileOp, from expr.Ref) { c.steps = append(c.steps, tileCodeStep{op, from}) }
	var place [expr.MaxSteps]uint8
	operand := func(a expr.Ref) expr.Ref {
		if a.Kind == expr.ToStep {
			a.N = place[a.N]
		}
		return a
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		ops := tileOps[s.Op]
		if from[i] < 0 {
			add(tileLoad, operand(s.Args[0]))
		}
		switch {
		case s.Op == expr.None: // a cast of truths, which are numbers already
		case s.N == 1:
			add(ops.op, expr.Ref{})
		case from[i] == 1:
			add(ops.reversed, operand(s.Args[0]))
		default:
			add(ops.op, operand(s.Args[1]))
		}
		if s.N == 3 {
			add(tileMin, operand(s.Args[2]))
		}
		if kept[i] {
			place[i] = uint8(c.kept)
			add(tileStore, expr.Ref{Kind: expr.ToStep, N: place[i]})
			c.kept++
		}
	}
	add(tileStore, toResult)
	if len(c.steps) > tileSteps {
		return tileCode{}
	}
	return c
}

// tileOperands returns, for each step, the index of the operand that the previous step has left
// in registers, -1 for none, and whether a later step reads its result from memory. ok is false
// if tiles do not support a step on elements of type t.
func tileOperands(p *expr.Program, t dtype.DType) (from [expr.MaxSteps]int, kept [expr.MaxSteps]bool, ok bool) {
	for i := range p.Steps {
		s := &p.Steps[i]
		ends := s.Op == expr.None && s.DType == t && s.Args[0].Kind == expr.ToStep // a cast of truths, if it is supported
		if !ends && (s.Op < 0 || int(s.Op) >= len(tileOps) || tileOps[s.Op].op == 0) || s.DType != t && s.DType != dtype.Bool {
			return from, kept, false
		}
		before := expr.Ref{Kind: expr.ToStep, N: uint8(i - 1)}
		from[i] = -1
		for j, a := range s.Args[:s.N] {
			switch {
			case (p.TypeOf(a) != t) != ends: // a cast reads truths, and nothing else does
				return from, kept, false
			case a.Kind != expr.ToStep:
			case from[i] < 0 && a == before && (j == 0 || s.N == 2):
				from[i] = j
			default:
				kept[a.N] = true
			}
		}
	}
	return from, kept, true
}

// takes reports whether the operation reads an operand from memory.
func (o tileOp) takes() bool { return o < tileNeg }

// index returns the operation's index in the assembly's table, which lists all types.
func (o tileOp) index(t dtype.DType) uintptr {
	if o >= tileAdd && t == dtype.Float64 {
		o += tileEnd - tileAdd
	}
	return uintptr(o)
}

// tileWork is the scratch memory of a goroutine that runs tiles.
type tileWork struct {
	scalars [expr.MaxScalars]tile
	leaves  [expr.MaxLeaves]tile
	kept    [expr.MaxSteps]tile
	steps   []tileStep
}

// tile is a tile in memory.
type tile [tileBytes / 8]uint64

// repeat fills the tile with the element at p.
func (t *tile) repeat(p unsafe.Pointer, size int) {
	v := uint64(0)
	if size == 4 {
		v = uint64(*(*uint32)(p))
		v |= v << 32
	} else {
		v = *(*uint64)(p)
	}
	for i := range t {
		t[i] = v
	}
}

// run computes n elements, a multiple of a tile, from leaves to the address to.
func (c *tileCode) run(w *tileWork, p *expr.Program, leaves *[expr.MaxLeaves]argument, scalars [][2]uint64, to unsafe.Pointer, n int, nonTemporal bool) {
	c.bind(w, p, leaves, scalars, to, nonTemporal)
	runTiles(unsafe.SliceData(w.steps), len(w.steps), n*p.Steps[len(p.Steps)-1].DType.Size())
	clear(w.steps) // drop the references to the operands
}

// bind combines the code with the addresses of its operands, in w's steps.
func (c *tileCode) bind(w *tileWork, p *expr.Program, leaves *[expr.MaxLeaves]argument, scalars [][2]uint64, to unsafe.Pointer, nonTemporal bool) {
	t := p.Steps[len(p.Steps)-1].DType
	size := t.Size()
	for i, v := range scalars {
		w.scalars[i].repeat(unsafe.Pointer(&v), size)
	}
	for i := range p.Leaves {
		if leaves[i].one {
			w.leaves[i].repeat(leaves[i].p, size)
		}
	}
	w.steps = w.steps[:0]
	for _, s := range c.steps {
		op, step := s.op, tileStep{}
		switch {
		case s.from == toResult:
			step.p, step.mask = to, ^uintptr(0)
			if nonTemporal && uintptr(to)%32 == 0 {
				op = tileStream
			}
		case !op.takes():
		case s.from.Kind == expr.ToScalar:
			step.p = unsafe.Pointer(&w.scalars[s.from.N])
		case s.from.Kind == expr.ToStep:
			step.p = unsafe.Pointer(&w.kept[s.from.N])
		case leaves[s.from.N].one:
			step.p = unsafe.Pointer(&w.leaves[s.from.N])
		default:
			step.p, step.mask = leaves[s.from.N].p, ^uintptr(0)
		}
		step.op = op.index(t)
		w.steps = append(w.steps, step)
	}
}

// tileClamp returns the kernel of Clamp. Tiles compute full tiles, and rest the other elements.
func tileClamp(t dtype.DType, rest func(dst, x, y, z unsafe.Pointer, n int)) func(dst, x, y, z unsafe.Pointer, n int) {
	if !vectorAVX {
		return rest
	}
	size := t.Size()
	return func(dst, x, y, z unsafe.Pointer, n int) {
		m := n * size &^ (tileBytes - 1)
		if m > 0 {
			steps := [...]tileStep{
				{uintptr(tileLoad), x, ^uintptr(0)}, {tileMax.index(t), y, ^uintptr(0)}, {tileMin.index(t), z, ^uintptr(0)}, {uintptr(tileStore), dst, ^uintptr(0)},
			}
			runTiles(&steps[0], len(steps), m)
			n -= m / size
		}
		if n > 0 {
			rest(unsafe.Add(dst, m), unsafe.Add(x, m), unsafe.Add(y, m), unsafe.Add(z, m), n)
		}
	}
}

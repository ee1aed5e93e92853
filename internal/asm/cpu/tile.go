package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tile writes the programs on tiles (tileCode in Go), whose operations are functions of one table.
func tile(c *build.Context) {
	ones := map[bool]operand.Mem{
		false: asm.Constant(c, "tileOnes32", 8, asm.Bits32(1)),
		true:  asm.Constant(c, "tileOnes64", 4, asm.Bits64(1)),
	}
	table := operand.NewDataAddr(operand.NewStaticSymbol("tileTable"), 0)
	runTiles(c, table)
	operations := tileMoves(c)
	for _, f := range asm.Floats {
		operations = append(operations, tileOperations(c, f, ones[f.Double])...)
	}
	for _, o := range operations {
		c.Function(o.name + "<>")
		c.Attributes(attr.NOSPLIT | attr.NOFRAME)
		o.write()
		c.Instruction(&ir.Instruction{Opcode: "RET", Inputs: tileOperands(), IsTerminal: true}) // the tile is the result
	}
	c.StaticGlobal(table.Symbol.Name)
	c.DataAttributes(attr.NOPTR)
	for _, o := range operations {
		c.AppendDatum(functionAddress{name: o.name})
	}
}

// functionAddress is the address of a function of this file as data.
type functionAddress struct {
	operand.U64
	name string
}

// Asm returns the address in the syntax of assembly.
func (f functionAddress) Asm() string { return "$·" + f.name + "<>(SB)" }

// tileOperand is the address of an operation's memory operand for the current tile.
var tileOperand = reg.RDI

// runTiles writes the loop over tiles and steps. Each step of a program has a separate call instruction, which calls
// the same operation in every tile. That makes the branches predictable.
func runTiles(c *build.Context, table operand.Mem) {
	const steps = 48 // tileSteps in Go
	asm.Function(c, "runTiles")
	p := asm.Load(c, "steps", "n", "bytes")
	first, end, bytes := p[0], p[1], p[2]
	c.LEAQ(asm.At(end, 0).Idx(end, 2), end)
	c.LEAQ(asm.At(first, 0).Idx(end, 8), end)
	operations, offset, step := c.GP64(), c.GP64(), c.GP64() // offset is that of the tile in every dense operand
	c.LEAQ(table, operations)
	c.XORQ(offset, offset)
	c.Label("tile")
	c.MOVQ(first, step)
	for range steps {
		operation := c.GP64()
		c.MOVQ(asm.At(step, 16), tileOperand)
		c.MOVQ(asm.At(step, 0), operation)
		c.ANDQ(offset, tileOperand)
		c.ADDQ(asm.At(step, 8), tileOperand)
		c.MOVQ(asm.At(operations, 0).Idx(operation, 8), operation)
		c.Instruction(&ir.Instruction{ // avo's CALL takes no register
			Opcode: "CALL", Operands: []operand.Op{operation}, Inputs: []operand.Op{operation, tileOperand},
		})
		c.ADDQ(asm.Number(24), step)
		c.CMPQ(step, end)
		c.JEQ(operand.LabelRef("tiled"))
	}
	c.Label("tiled")
	c.ADDQ(operand.U32(256), offset)
	c.CMPQ(offset, bytes)
	c.JLT(operand.LabelRef("tile"))
	asm.Return(c)
}

// tileOperands are the registers of the tile.
func tileOperands() []operand.Op {
	var operands []operand.Op
	for _, x := range asm.Vectors(32, 0, 8) {
		operands = append(operands, x)
	}
	return operands
}

// tileOperation is an operation on a tile, which is in registers Y0 to Y7. It may use the other vector registers.
type tileOperation struct {
	name  string
	write func()
}

// tileMoves are the operations without a type.
func tileMoves(c *build.Context) []tileOperation {
	store := func(move func(from, to operand.Op)) func() {
		return func() {
			for i, x := range asm.Vectors(32, 0, 8) {
				move(x, asm.At(tileOperand, 32*i))
			}
		}
	}
	return []tileOperation{
		{"tileLoad", func() { loadTile(c, 0) }},
		{"tileStore", store(func(from, to operand.Op) { c.VMOVUPS(from, to) })},
		{"tileStream", store(c.VMOVNTPS)},
	}
}

// loadTile loads a tile to the registers from the first one on.
func loadTile(c *build.Context, first int) []reg.VecPhysical {
	y := asm.Vectors(32, first, first+8)
	for i, y := range y {
		c.VMOVUPS(asm.At(tileOperand, 32*i), y)
	}
	return y
}

// tileOperations are the operations on a type, in the order of tileOp. ones is a register of the number 1.
func tileOperations(c *build.Context, f asm.Float, ones operand.Mem) []tileOperation {
	operations := append(append(tileBinary(c, f), tileCompare(c, f, ones)...), tileUnary(c, f)...)
	for i := range operations {
		operations[i].name += f.Name
	}
	return operations
}

// tileBinary are the operations on the tile and an operand in memory.
func tileBinary(c *build.Context, f asm.Float) []tileOperation {
	x := asm.Vectors(32, 0, 8)
	direct := func(op asm.Instruction) func() {
		return func() {
			for i, x := range x {
				op(c, asm.At(tileOperand, 32*i), x, x)
			}
		}
	}
	reversed := func(op asm.Instruction) func() {
		return func() {
			for i, y := range loadTile(c, 8) {
				op(c, x[i], y, x[i])
			}
		}
	}
	extreme := func(of extreme) func() {
		return func() {
			for i, x := range x {
				y := c.YMM()
				c.VMOVUPS(asm.At(tileOperand, 32*i), y)
				of(c, x, y, x)
			}
		}
	}
	return []tileOperation{
		{"tileAdd", direct(f.Add)},
		{"tileSub", direct(f.Sub)},
		{"tileSubFrom", reversed(f.Sub)},
		{"tileMul", direct(f.Mul)},
		{"tileDiv", direct(f.Div)},
		{"tileDivInto", reversed(f.Div)},
		{"tileMax", extreme(largerOf(f))},
		{"tileMin", extreme(smallerOf(f))},
	}
}

// tileCompare are the comparisons of the tile with an operand in memory. The results are numbers, 1 or 0.
func tileCompare(c *build.Context, f asm.Float, ones operand.Mem) []tileOperation {
	compare := func(predicate uint64) func() {
		return func() {
			one := c.YMM()
			c.VMOVUPS(ones, one)
			for i, x := range asm.Vectors(32, 0, 8) {
				f.Compare(c, operand.Imm(predicate), asm.At(tileOperand, 32*i), x, x)
				c.VANDPS(one, x, x)
			}
		}
	}
	return []tileOperation{
		{"tileEq", compare(equal)},
		{"tileNe", compare(unequal)},
		{"tileLt", compare(less)},
		{"tileLe", compare(lessEqual)},
		{"tileGt", compare(greater)},
		{"tileGe", compare(greaterEqual)},
	}
}

// tileUnary are the operations on the tile alone.
func tileUnary(c *build.Context, f asm.Float) []tileOperation {
	each := func(op func(x reg.Register)) {
		for _, x := range asm.Vectors(32, 0, 8) {
			op(x)
		}
	}
	withSigns := func(op asm.Instruction) func() { // op combines the sign bits with an element
		return func() {
			signs := c.YMM()
			c.VPCMPEQD(signs, signs, signs)
			if f.Double {
				c.VPSLLQ(asm.Number(63), signs, signs)
			} else {
				c.VPSLLD(asm.Number(31), signs, signs)
			}
			each(func(x reg.Register) { op(c, x, signs, x) })
		}
	}
	round := func(mode int) func() {
		return func() { each(func(x reg.Register) { f.Round(c, asm.Number(mode), x, x) }) }
	}
	return []tileOperation{
		{"tileNeg", withSigns((*build.Context).VXORPS)},
		{"tileAbs", withSigns((*build.Context).VANDNPS)},
		{"tileSquare", func() { each(func(x reg.Register) { f.Mul(c, x, x, x) }) }},
		{"tileSqrt", func() { each(func(x reg.Register) { f.Sqrt(c, x, x) }) }},
		{"tileFloor", round(9)},
		{"tileCeil", round(10)},
		{"tileRound", round(8)},
		{"tileReLU", func() {
			zero := c.YMM()
			c.VXORPS(zero, zero, zero)
			each(func(x reg.Register) { reLU(c, f, zero, x) })
		}},
	}
}

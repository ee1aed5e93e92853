package cpu

import (
	"math/bits"
	"slices"
	"strconv"

	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// integers writes element-wise operations on integers, for any number of elements: up to 64 at a time, then 8, then 1. Elements of 4
// and 8 bytes have comparisons elsewhere.
func integers(c *build.Context) {
	for _, size := range []int{1, 2, 4, 8} {
		w := integerLoops{c, strconv.Itoa(8 * size), size}
		if size >= 4 {
			w.name = "Int" + w.name // add32 would be the function of float32
		}
		instructions := w.instructions()
		w.forms("add", false, 0, lanewise(instructions.add))
		w.forms("sub", true, 0, lanewise(instructions.sub))
		if size == 8 {
			w.wide()
			continue
		}
		w.forms("mul", false, 0, instructions.mul)
		if size < 4 {
			w.forms("equal", false, truthOf, lanewise(instructions.equal))
			w.forms("unequal", false, falsehoodOf, lanewise(instructions.equal))
		}
		for _, signed := range []bool{true, false} {
			w.ordered(instructions, signed)
		}
		w.name = "Int" + strconv.Itoa(8*size)
		w.write("abs", 0, none, []string{"x"}, func(d reg.Register, v ...reg.Register) { instructions.abs(v[0], d) })
	}
}

// integerInstructions are the instructions for elements of one size. Instructions with a sign come unsigned first.
type integerInstructions struct {
	add, sub, equal, abs func(operands ...operand.Op)
	mul                  integerOperation
	largest, smallest    [2]func(operands ...operand.Op)
}

func (w integerLoops) instructions() integerInstructions {
	type pair = [2]func(operands ...operand.Op)
	switch w.size {
	case 1:
		return integerInstructions{
			w.VPADDB, w.VPSUBB, w.VPCMPEQB, w.VPABSB, w.productsOfBytes,
			pair{w.VPMAXUB, w.VPMAXSB},
			pair{w.VPMINUB, w.VPMINSB},
		}
	case 2:
		return integerInstructions{
			w.VPADDW, w.VPSUBW, w.VPCMPEQW, w.VPABSW, lanewise(w.VPMULLW),
			pair{w.VPMAXUW, w.VPMAXSW},
			pair{w.VPMINUW, w.VPMINSW},
		}
	case 4:
		return integerInstructions{
			w.VPADDD, w.VPSUBD, w.VPCMPEQD, w.VPABSD, lanewise(w.VPMULLD),
			pair{w.VPMAXUD, w.VPMAXSD},
			pair{w.VPMINUD, w.VPMINSD},
		}
	}
	return integerInstructions{add: w.VPADDQ, sub: w.VPSUBQ}
}

// choose sets d to a where y > x, elsewhere to b. x may be in memory, and then is read once.
func (w integerLoops) choose(x, y, a, b, d operand.Op) {
	if m, inMemory := x.(operand.Mem); inMemory {
		loaded := w.YMM()
		w.VMOVDQU(m, loaded)
		if a == x {
			a = loaded
		} else {
			b = loaded
		}
		x = loaded
	}
	mask := w.like(d.(reg.Register))
	w.VPCMPGTQ(x, y, mask)
	w.VBLENDVPD(mask, a, b, d)
}

// ordered writes the operations that depend on the order of elements.
func (w integerLoops) ordered(instructions integerInstructions, signed bool) {
	larger, smaller, equal := instructions.largest[0], instructions.smallest[0], instructions.equal
	w.name = "Uint" + strconv.Itoa(8*w.size)
	if signed {
		larger, smaller = instructions.largest[1], instructions.smallest[1]
		w.name = "Int" + strconv.Itoa(8*w.size)
	}
	w.forms("maximum", false, 0, lanewise(larger))
	w.forms("minimum", false, 0, lanewise(smaller))
	if w.size < 4 {
		// x < y where max(x, y) is not x, and x <= y where min(x, y) is x.
		w.forms("less", true, falsehoodOf, func(d reg.Register, v ...reg.Register) {
			larger(v[1], v[0], d)
			equal(v[0], d, d)
		})
		w.forms("lessEqual", true, truthOf, func(d reg.Register, v ...reg.Register) {
			smaller(v[1], v[0], d)
			equal(v[0], d, d)
		})
	}
	w.write("clamp", 0, none, []string{"x", "y", "z"}, func(d reg.Register, v ...reg.Register) {
		larger(v[1], v[0], d)
		smaller(v[2], d, d)
	})
	w.reduction("largest", larger)
	w.reduction("smallest", smaller)
}

// integerLoops writes loops over elements of one size, of 16 bytes too.
type integerLoops struct {
	*build.Context
	name string // the end of the functions' names
	size int    // bytes of an element
}

// integerOperation writes d = an operation on the vectors v, which it does not change. The vectors have 16 or 32 bytes.
type integerOperation func(d reg.Register, v ...reg.Register)

// lanewise returns the operation v[0] op v[1] of one instruction.
func lanewise(op func(operands ...operand.Op)) integerOperation {
	return func(d reg.Register, v ...reg.Register) { op(v[1], v[0], d) }
}

// productsOfBytes multiplies the bytes at even and at odd places separately, as integers of two bytes.
func (w integerLoops) productsOfBytes(d reg.Register, v ...reg.Register) {
	odd, x, low := w.like(d), w.like(d), w.like(d)
	w.VPSRLW(operand.Imm(8), v[0], x)
	w.VPSRLW(operand.Imm(8), v[1], odd)
	w.VPMULLW(x, odd, odd)
	w.VPSLLW(operand.Imm(8), odd, odd)
	w.VPMULLW(v[1], v[0], d)
	w.VPCMPEQW(low, low, low)
	w.VPSRLW(operand.Imm(8), low, low)
	w.VPAND(low, d, d)
	w.VPOR(odd, d, d)
}

// like returns a register of d's size.
func (w integerLoops) like(d reg.Register) reg.Register {
	if d.Size() == 16 {
		return w.XMM()
	}
	return w.YMM()
}

// Kinds of results: elements, or bytes of 1 and 0 from a mask of all bits of an element and from its complement.
const (
	truthOf     = 1
	falsehoodOf = 2
)

// none says that no operand is a number.
const none = -1

// forms writes a binary operation on two vectors (VV), on a vector and a number (VS) and, if sv is set, on a number and a
// vector (SV).
func (w integerLoops) forms(name string, sv bool, results int, op integerOperation) {
	operands := []string{"x", "y"}
	w.write(name+"VV", results, none, operands, op)
	w.write(name+"VS", results, 1, operands, op)
	if sv {
		w.write(name+"SV", results, 0, operands, op)
	}
}

// write writes one function. The operand at the index number is one element.
func (w integerLoops) write(name string, results, number int, operands []string, op integerOperation) {
	asm.Function(w.Context, name+w.name)
	p := asm.Load(w.Context, append([]string{"dst", "n"}, operands...)...)
	dst, n, in := p[0], p[1], p[2:]
	repeated, one, i := w.YMM(), w.YMM(), w.GP64()
	if number != none {
		w.broadcast(asm.At(in[number], 0), repeated)
	}
	if results != 0 {
		w.VPCMPEQB(one, one, one)
		w.VPABSB(one, one)
	}
	unit := min(w.size, 8) // bytes that i counts
	// compute writes the operation on the vectors at a distance of bytes from element i.
	compute := func(lanes, bytes int) reg.Register {
		var v []reg.Register
		for j, p := range in {
			if j == number {
				v = append(v, w.part(repeated, lanes))
				continue
			}
			to := w.part(w.YMM(), lanes)
			w.load(lanes, asm.At(p, bytes).Idx(i, uint8(unit)), to)
			v = append(v, to)
		}
		d := w.part(w.YMM(), lanes)
		op(d, v...)
		return d
	}
	w.XORQ(i, i)
	for _, lanes := range slices.Compact([]int{min(64, 128/w.size), 8, 1}) {
		next, check := "next"+strconv.Itoa(lanes), "check"+strconv.Itoa(lanes)
		w.JMP(operand.LabelRef(check))
		w.Label(next)
		for bytes := 0; bytes < lanes*w.size; bytes += 32 {
			d, size, at := compute(lanes, bytes), unit, bytes
			if results != 0 {
				if size == 2 {
					second := d
					if lanes == 64 {
						bytes += 32
						second = compute(lanes, bytes)
					}
					w.VPACKSSWB(second, d, d)
					if lanes == 64 {
						w.VPERMQ(operand.Imm(0xd8), d, d)
					}
					size, at = 1, at/2
				}
				if results == truthOf {
					w.VPAND(w.part(one, lanes), d, d)
				} else {
					w.VPANDN(w.part(one, lanes), d, d)
				}
			}
			w.store(lanes*w.size/unit, size, d, asm.At(dst, at).Idx(i, uint8(size)))
		}
		w.ADDQ(asm.Number(lanes*w.size/unit), i)
		w.SUBQ(asm.Number(lanes), n)
		w.Label(check)
		w.CMPQ(n, asm.Number(lanes))
		w.JGE(operand.LabelRef(next))
	}
	asm.Return(w.Context)
}

// reduction writes a function that returns the extreme of n elements, of at least 32 bytes: four vectors at a time, then one. The
// last vector ends with the last element and may overlap the one before.
func (w integerLoops) reduction(name string, of func(operands ...operand.Op)) {
	asm.Function(w.Context, name+w.name)
	p := asm.Load(w.Context, "x", "n")
	x, n := p[0], p[1]
	if w.size > 1 {
		asm.Bytes(w.Context, bits.TrailingZeros(uint(w.size)), n)
	}
	best := [4]reg.VecVirtual{w.YMM(), w.YMM(), w.YMM(), w.YMM()}
	for _, b := range best {
		w.VMOVDQU(asm.At(x, 0), b)
	}
	for _, vectors := range []int{4, 1} {
		next, check := "next"+strconv.Itoa(vectors), "check"+strconv.Itoa(vectors)
		w.JMP(operand.LabelRef(check))
		w.Label(next)
		for i, b := range best[:vectors] {
			of(asm.At(x, 32*i), b, b)
		}
		w.ADDQ(asm.Number(32*vectors), x)
		w.SUBQ(asm.Number(32*vectors), n)
		w.Label(check)
		w.CMPQ(n, asm.Number(32*vectors))
		w.JGE(operand.LabelRef(next))
	}
	of(asm.At(x, -32).Idx(n, 1), best[0], best[0])
	of(best[1], best[0], best[0])
	of(best[3], best[2], best[2])
	of(best[2], best[0], best[0])
	one, other := best[0].AsX(), w.XMM()
	w.VEXTRACTI128(operand.Imm(1), best[0], other)
	of(other, one, one)
	for bytes := 8; bytes >= w.size; bytes /= 2 { // zeros that are shifted in do not reach the first element
		w.VPSRLDQ(asm.Number(bytes), one, other)
		of(other, one, one)
	}
	w.store(1, w.size, one, asm.Result(w.Context))
	asm.Return(w.Context)
}

// part returns the register that holds the given number of elements: v, or its lower 16 bytes if they take less than 32 bytes.
func (w integerLoops) part(v reg.VecVirtual, lanes int) reg.Register {
	if lanes*w.size >= 32 {
		return v
	}
	return v.AsX()
}

func (w integerLoops) broadcast(from operand.Mem, to reg.Register) {
	switch w.size {
	case 1:
		w.VPBROADCASTB(from, to)
	case 2:
		w.VPBROADCASTW(from, to)
	case 4:
		w.VPBROADCASTD(from, to)
	case 8:
		w.VPBROADCASTQ(from, to)
	default:
		if to.Size() == 32 {
			w.VBROADCASTI128(from, to)
		} else {
			w.VMOVDQU(from, to)
		}
	}
}

// load loads the given number of elements, which take at most 32 bytes. A single one is broadcast.
func (w integerLoops) load(lanes int, from operand.Mem, to reg.Register) {
	switch {
	case lanes == 1:
		w.broadcast(from, to)
	case lanes*w.size == 8:
		w.VMOVQ(from, to)
	default:
		w.VMOVDQU(from, to)
	}
}

// store stores the given number of elements of the given size, which take at most 32 bytes.
func (w integerLoops) store(lanes, size int, from reg.Register, to operand.Mem) {
	switch {
	case lanes == 1 && size == 1:
		w.VPEXTRB(operand.Imm(0), from, to)
	case lanes == 1 && size == 2:
		w.VPEXTRW(operand.Imm(0), from, to)
	case lanes == 1 && size == 4:
		w.VMOVSS(from, to)
	case lanes*size == 8:
		w.VMOVQ(from, to)
	default:
		w.VMOVDQU(from, to)
	}
}

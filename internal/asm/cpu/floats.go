package cpu

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vector is an X, Y or Z register.
type vector = reg.VecVirtual

// floats writes operations on vectors of float64, or of float32 if single. A vector is a Y register, or, if wide, a Z register.
// An operation returns its result in a new register, unless it says otherwise. An operand of type operand.Op may be a register,
// memory that holds a vector, or a constant.
type floats struct {
	c         *build.Context
	wide      bool
	single    bool
	table     reg.Register // the address of the constants; each fills 32 bytes
	constants constants
}

// constants maps names to the positions of constants in a table.
type constants map[string]int

// constantsOf returns the positions of constants from a list of their names, which are separated by spaces and in the
// table's order. The name in name*n stands for n constants, which ki returns by their index.
func constantsOf(names string) constants {
	places, next := constants{}, 0
	for _, name := range strings.Fields(names) {
		name, count, several := strings.Cut(name, "*")
		places[name] = next
		next++
		if several {
			n, err := strconv.Atoi(count)
			if err != nil {
				panic(err)
			}
			next += n - 1
		}
	}
	return places
}

// constant is an operand: one number for all elements of a vector.
type constant struct{ operand.Mem }

// k returns the constant with a name.
func (v floats) k(name string) constant { return v.ki(name, 0) }

// ki returns constant i of those with a name.
func (v floats) ki(name string, i int) constant {
	place, ok := v.constants[name]
	if !ok {
		panic(fmt.Sprintf("no constant %q", name))
	}
	return constant{asm.At(v.table, 32*(place+i))}
}

func (v floats) lanes() int {
	n := 4
	if v.wide {
		n *= 2
	}
	if v.single {
		n *= 2
	}
	return n
}

// bytes returns the size of a vector.
func (v floats) bytes() int {
	if v.wide {
		return 64
	}
	return 32
}

func (v floats) register() vector {
	if v.wide {
		return v.c.ZMM()
	}
	return v.c.YMM()
}

// instruction holds the method of build.Context that writes an instruction, and the method for the form with a
// broadcast operand.
type instruction struct{ plain, broadcast func(operands ...operand.Op) }

// write writes an instruction. If vectors are Z registers, a constant is broadcast from its first copy in the table.
func (v floats) write(i instruction, operands ...operand.Op) {
	method := i.plain
	for j, o := range operands {
		if k, ok := o.(constant); ok {
			operands[j] = k.Mem
			if v.wide {
				method = i.broadcast
			}
		}
	}
	method(operands...)
}

// mapping is a function of the elements of x, with its name.
type mapping[V any] struct {
	name string
	of   func(v V, x vector) vector
}

// apply writes d = a op b.
func (v floats) apply(i instruction, a, b operand.Op) vector {
	d := v.register()
	v.write(i, b, a, d)
	return d
}

// ofType returns the instruction for the type of v's elements.
func (v floats) ofType(double, single instruction) instruction {
	if v.single {
		return single
	}
	return double
}

// narrow returns an instruction with three operands that exists only for Y registers.
func narrow(method func(b, a, d operand.Op)) func(operands ...operand.Op) {
	return func(operands ...operand.Op) { method(operands[0], operands[1], operands[2]) }
}

func (v floats) add(a, b operand.Op) vector {
	return v.apply(v.ofType(instruction{v.c.VADDPD, v.c.VADDPD_BCST}, instruction{v.c.VADDPS, v.c.VADDPS_BCST}), a, b)
}

func (v floats) sub(a, b operand.Op) vector {
	return v.apply(v.ofType(instruction{v.c.VSUBPD, v.c.VSUBPD_BCST}, instruction{v.c.VSUBPS, v.c.VSUBPS_BCST}), a, b)
}

func (v floats) mul(a, b operand.Op) vector {
	return v.apply(v.ofType(instruction{v.c.VMULPD, v.c.VMULPD_BCST}, instruction{v.c.VMULPS, v.c.VMULPS_BCST}), a, b)
}

func (v floats) div(a, b operand.Op) vector {
	return v.apply(v.ofType(instruction{v.c.VDIVPD, v.c.VDIVPD_BCST}, instruction{v.c.VDIVPS, v.c.VDIVPS_BCST}), a, b)
}

func (v floats) sqrt(x vector) vector {
	d := v.register()
	if v.single {
		v.c.VSQRTPS(x, d)
	} else {
		v.c.VSQRTPD(x, d)
	}
	return d
}

// min returns b if one of a and b is NaN or both are zeros.
func (v floats) min(a, b operand.Op) vector {
	return v.apply(v.ofType(instruction{v.c.VMINPD, v.c.VMINPD_BCST}, instruction{v.c.VMINPS, v.c.VMINPS_BCST}), a, b)
}

// max returns b if one of a and b is NaN or both are zeros.
func (v floats) max(a, b operand.Op) vector {
	return v.apply(v.ofType(instruction{v.c.VMAXPD, v.c.VMAXPD_BCST}, instruction{v.c.VMAXPS, v.c.VMAXPS_BCST}), a, b)
}

// addInt adds the bits of a and b as integers.
func (v floats) addInt(a, b operand.Op) vector {
	return v.apply(v.ofType(instruction{v.c.VPADDQ, v.c.VPADDQ_BCST}, instruction{v.c.VPADDD, v.c.VPADDD_BCST}), a, b)
}

// subInt subtracts b from a. Both are integers.
func (v floats) subInt(a, b operand.Op) vector {
	return v.apply(v.ofType(instruction{v.c.VPSUBQ, v.c.VPSUBQ_BCST}, instruction{v.c.VPSUBD, v.c.VPSUBD_BCST}), a, b)
}

func (v floats) and(a, b operand.Op) vector {
	if v.wide {
		return v.apply(v.ofType(instruction{v.c.VPANDQ, v.c.VPANDQ_BCST}, instruction{v.c.VPANDD, v.c.VPANDD_BCST}), a, b)
	}
	return v.apply(instruction{plain: narrow(v.c.VPAND)}, a, b)
}

func (v floats) or(a, b operand.Op) vector {
	if v.wide {
		return v.apply(v.ofType(instruction{v.c.VPORQ, v.c.VPORQ_BCST}, instruction{v.c.VPORD, v.c.VPORD_BCST}), a, b)
	}
	return v.apply(instruction{plain: narrow(v.c.VPOR)}, a, b)
}

func (v floats) xor(a, b operand.Op) vector {
	if v.wide {
		return v.apply(v.ofType(instruction{v.c.VPXORQ, v.c.VPXORQ_BCST}, instruction{v.c.VPXORD, v.c.VPXORD_BCST}), a, b)
	}
	return v.apply(instruction{plain: narrow(v.c.VPXOR)}, a, b)
}

func (v floats) shiftLeft(x vector, bits uint64) vector {
	d := v.register()
	if v.single {
		v.c.VPSLLD(operand.Imm(bits), x, d)
	} else {
		v.c.VPSLLQ(operand.Imm(bits), x, d)
	}
	return d
}

func (v floats) shiftRight(x vector, bits uint64) vector {
	d := v.register()
	if v.single {
		v.c.VPSRLD(operand.Imm(bits), x, d)
	} else {
		v.c.VPSRLQ(operand.Imm(bits), x, d)
	}
	return d
}

// load returns a vector of memory, or a constant.
func (v floats) load(x operand.Op) vector {
	d := v.register()
	v.write(v.ofType(instruction{v.c.VMOVUPD, v.c.VBROADCASTSD}, instruction{v.c.VMOVUPS, v.c.VBROADCASTSS}), x, d)
	return d
}

func (v floats) copy(x vector) vector {
	d := v.register()
	v.c.VMOVAPD(x, d)
	return d
}

func (v floats) zero() vector {
	d := v.register()
	if v.wide {
		v.c.VPXORQ(d, d, d)
	} else {
		v.c.VPXOR(d, d, d)
	}
	return d
}

// loadFloats returns float32 of memory as float64.
func (v floats) loadFloats(x operand.Mem) vector {
	d := v.register()
	v.c.VCVTPS2PD(x, d)
	return d
}

// storeFloats rounds x to float32 in other registers, and stores the result.
func (v floats) storeFloats(x vector, to operand.Mem) { v.c.VMOVUPS(v.toFloats(x), to) }

// toFloats rounds x to float32 in the lower half of its register.
func (v floats) toFloats(x vector) reg.Register {
	if v.wide {
		v.c.VCVTPD2PS(x, x.AsY())
		return x.AsY()
	}
	v.c.VCVTPD2PSY(x, x.AsX())
	return x.AsX()
}

// broadcast returns a parameter of type float64 in all elements.
func (v floats) broadcast(parameter string) vector {
	d := v.register()
	v.c.VBROADCASTSD(asm.Parameter(v.c, parameter), d)
	return d
}

package cpu

import (
	"strconv"

	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// integerCasts writes conversions between integers of different sizes, 32 elements at a time.
func integerCasts(c *build.Context) {
	w := integerCast{Context: c, groups: packedGroups(c, "castOrder")}
	for from := 1; from <= 8; from *= 2 {
		for to := 1; to <= 8; to *= 2 {
			for _, signed := range []bool{true, false} {
				name := castName(from, to, signed)
				switch {
				case from < to:
					w.widen("widen"+name, w.extension(from, to, signed), from, to)
				case from > to:
					w.narrow("narrow"+name, from, to, signed)
				}
			}
		}
	}
}

// castName returns the name of the conversion between integers of from and to bytes.
func castName(from, to int, signed bool) string {
	name := "Uint"
	if signed {
		name = "Int"
	}
	return name + strconv.Itoa(8*from) + "To" + strconv.Itoa(8*to)
}

type integerCast struct {
	*build.Context
	groups operand.Mem
}

// extension returns the instruction that extends integers with their sign or with zeros.
func (w integerCast) extension(from, to int, signed bool) func(operands ...operand.Op) {
	if signed {
		return map[[2]int]func(operands ...operand.Op){
			{1, 2}: w.VPMOVSXBW, {1, 4}: w.VPMOVSXBD, {1, 8}: w.VPMOVSXBQ,
			{2, 4}: w.VPMOVSXWD, {2, 8}: w.VPMOVSXWQ, {4, 8}: w.VPMOVSXDQ,
		}[[2]int{from, to}]
	}
	return map[[2]int]func(operands ...operand.Op){
		{1, 2}: w.VPMOVZXBW, {1, 4}: w.VPMOVZXBD, {1, 8}: w.VPMOVZXBQ,
		{2, 4}: w.VPMOVZXWD, {2, 8}: w.VPMOVZXWQ, {4, 8}: w.VPMOVZXDQ,
	}[[2]int{from, to}]
}

// widen writes dst[i] = src[i] for a larger type.
func (w integerCast) widen(name string, extend func(operands ...operand.Op), from, to int) {
	asm.Function(w.Context, name)
	p := asm.Load(w.Context, "dst", "src", "n")
	asm.For(w.Context, p[2], 32, func(i reg.Register) {
		lanes := 32 / to
		for first := 0; first < 32; first += lanes {
			v := w.YMM()
			extend(asm.At(p[1], first*from).Idx(i, uint8(from)), v)
			w.VMOVDQU(v, asm.At(p[0], first*to).Idx(i, uint8(to)))
		}
	})
	asm.Return(w.Context)
}

// narrow writes dst[i] = min(max(src[i], *lo), *hi) for a smaller type, which holds the bounds. Unsigned elements have no lower bound.
func (w integerCast) narrow(name string, from, to int, signed bool) {
	asm.Function(w.Context, name)
	p := asm.Load(w.Context, "dst", "src", "lo", "hi", "n")
	dst, src := p[0], p[1]
	k := narrowing{integerCast: w, size: from, signed: signed, lo: w.YMM(), hi: w.YMM(), low: w.YMM(), order: w.YMM()}
	loops := integerLoops{w.Context, "", from}
	loops.broadcast(asm.At(p[2], 0), k.lo)
	loops.broadcast(asm.At(p[3], 0), k.hi)
	w.VPCMPEQD(k.low, k.low, k.low) // the bits of an element of the result, in the type that is packed
	if to == 2 {
		w.VPSRLD(operand.Imm(16), k.low, k.low)
	} else if from == 2 {
		w.VPSRLW(operand.Imm(8), k.low, k.low)
	} else {
		w.VPSRLD(operand.Imm(24), k.low, k.low)
	}
	w.VMOVDQU(w.groups, k.order)
	asm.For(w.Context, p[4], 32, func(i reg.Register) {
		at := func(first int) operand.Mem { return asm.At(src, first*from).Idx(i, uint8(from)) }
		to32 := func(first int, v reg.Register) { w.VMOVDQU(v, asm.At(dst, first*to).Idx(i, uint8(to))) }
		switch {
		case from == 2: // to 1
			low, high := k.masked(k.clamp(at(0))), k.masked(k.clamp(at(16)))
			w.VPACKUSWB(high, low, low)
			w.VPERMQ(operand.Imm(0xd8), low, low)
			to32(0, low)
		case to == 4:
			for first := 0; first < 32; first += 8 {
				to32(first, k.eight(at(first), at(first+4)))
			}
		case to == 2:
			for first := 0; first < 32; first += 16 {
				v := k.sixteen(at, first)
				w.VPERMQ(operand.Imm(0xd8), v, v)
				to32(first, v)
			}
		default:
			low, high := k.sixteen(at, 0), k.sixteen(at, 16)
			w.VPACKUSWB(high, low, low)
			w.VPERMD(low, k.order, low)
			to32(0, low)
		}
	})
	asm.Return(w.Context)
}

// narrowing has the constants of narrow.
type narrowing struct {
	integerCast
	size               int // bytes of an element
	signed             bool
	lo, hi, low, order reg.VecVirtual
}

// masked clears all bits of v but those of the result.
func (k narrowing) masked(v reg.VecVirtual) reg.VecVirtual {
	k.VPAND(k.low, v, v)
	return v
}

// sixteen returns elements as packed integers of 2 bytes: of each half of the vector, the first 4 are from its half of the first 8.
func (k narrowing) sixteen(at func(first int) operand.Mem, first int) reg.VecVirtual {
	low, high := k.masked(k.eight(at(first), at(first+4))), k.masked(k.eight(at(first+8), at(first+12)))
	k.VPACKUSDW(high, low, low)
	return low
}

// eight returns 8 elements, clamped, as integers of 4 bytes. Elements of 8 bytes continue at rest.
func (k narrowing) eight(first, rest operand.Mem) reg.VecVirtual {
	v := k.clamp(first)
	if k.size == 8 {
		k.VSHUFPS(operand.Imm(0x88), k.clamp(rest), v, v)
		k.VPERMQ(operand.Imm(0xd8), v, v)
	}
	return v
}

// clamp loads a vector and clamps it.
func (k narrowing) clamp(from operand.Mem) reg.VecVirtual {
	v := k.YMM()
	k.VMOVDQU(from, v)
	if k.size == 8 {
		mask := k.YMM()
		k.VPCMPGTQ(k.hi, v, mask)
		if !k.signed {
			k.VPOR(v, mask, mask) // VBLENDVPD reads the highest bit
		}
		k.VBLENDVPD(mask, k.hi, v, v)
		if k.signed {
			mask = k.YMM()
			k.VPCMPGTQ(v, k.lo, mask)
			k.VBLENDVPD(mask, k.lo, v, v)
		}
		return v
	}
	instructions := integerLoops{k.Context, "", k.size}.instructions()
	if k.signed {
		instructions.largest[1](k.lo, v, v)
		instructions.smallest[1](k.hi, v, v)
	} else {
		instructions.smallest[0](k.hi, v, v)
	}
	return v
}

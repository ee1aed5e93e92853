package cpu

import (
	"fmt"
	"math"

	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// philox writes the generator Philox-4x32-10 and the distributions that are computed from its words.
func philox(c *build.Context) {
	philoxAVX2(c)
	philoxAVX512(c)
	uniformAVX2(c)
	uniform64AVX2(c)
	normalAVX2(c)
}

// blocks are four or eight blocks of Philox: word i of each block in register i, in the low half of 64 bits. The upper half is
// ignored.
type blocks [4]vector

// Offsets in philoxKeys.
const (
	philoxFirst   = 640
	philoxStep    = 704
	philoxFactors = 736
)

func philoxAVX2(c *build.Context) {
	asm.Function(c, "philoxAVX2")
	p := asm.Load(c, "words", "groups", "keys")
	words, groups, keys := p[0], p[1], p[2]
	at := func(offset int) operand.Mem { return asm.At(keys, offset) }
	counters := broadcastWord(c, "counter") // counters of the next four blocks
	c.VPADDD(at(philoxFirst), counters, counters)
	high := broadcastWord(c, "high")
	factors := [2]vector{c.YMM(), c.YMM()}
	c.VPBROADCASTD(at(philoxFactors), factors[0])
	c.VPBROADCASTD(at(philoxFactors+4), factors[1])
	asm.Countdown(c, groups, 1, func() {
		first, second, zero := c.YMM(), c.YMM(), c.YMM()
		c.VMOVDQA(counters, first)
		c.VPXOR(zero, zero, zero)
		c.VPADDD(at(philoxStep), first, second)
		c.VPADDD(at(philoxStep), second, counters)
		a, b := blocks{first, high, zero, zero}, blocks{second, high, zero, zero}
		for round := range 10 {
			a = philoxRound(c, a, factors, at(64*round))
		}
		for round := range 10 {
			b = philoxRound(c, b, factors, at(64*round))
		}
		storeBlocks(c, a, asm.At(words, 0))
		storeBlocks(c, b, asm.At(words, 64))
		c.ADDQ(asm.Number(128), words)
	})
	asm.Return(c)
}

// philoxAVX512 is philoxAVX2 for groups of sixteen blocks.
func philoxAVX512(c *build.Context) {
	var interleave [2]operand.Mem // indices that interleave the lower, and the upper, halves of two vectors, in units of 64 bits
	for half := range uint64(2) {
		var order []operand.Constant
		for i := 4 * half; i < 4*half+4; i++ {
			order = append(order, operand.U64(i), operand.U64(i+8))
		}
		interleave[half] = asm.Constant(c, fmt.Sprint("interleave", half), 1, order...)
	}
	asm.Function(c, "philoxAVX512")
	p := asm.Load(c, "words", "groups", "keys")
	words, groups, keys := p[0], p[1], p[2]
	at := func(offset int) operand.Mem { return asm.At(keys, offset) }
	counters, high, factors := c.ZMM(), c.ZMM(), [2]vector{c.ZMM(), c.ZMM()}
	word := c.GP32()
	c.MOVL(asm.Parameter(c, "counter"), word)
	c.VPBROADCASTD(word, counters)
	c.MOVL(asm.Parameter(c, "high"), word)
	c.VPBROADCASTD(word, high)
	c.VPADDD(at(philoxFirst), counters, counters)
	c.VPBROADCASTD(at(philoxFactors), factors[0])
	c.VPBROADCASTD(at(philoxFactors+4), factors[1])
	orders := [2]vector{c.ZMM(), c.ZMM()}
	for i, order := range orders {
		c.VMOVDQU64(interleave[i], order)
	}
	bits, upper := c.GP32(), c.K()
	c.MOVL(operand.U32(0xaaaa), bits)
	c.KMOVW(bits, upper)
	asm.Countdown(c, groups, 1, func() {
		first, second, zero := c.ZMM(), c.ZMM(), c.ZMM()
		c.VMOVDQA64(counters, first)
		c.VPXORQ(zero, zero, zero)
		c.VPADDQ_BCST(at(philoxStep), first, second)
		c.VPADDQ_BCST(at(philoxStep), second, counters)
		sets := [2]blocks{{first, high, zero, zero}, {second, high, zero, zero}}
		for i, b := range sets {
			for round := range 10 {
				b = philoxRound512(c, b, factors, at(64*round))
			}
			c.VMOVSLDUP(b[1], upper, b[0])
			c.VMOVSLDUP(b[3], upper, b[2])
			lower := c.ZMM()
			c.VMOVDQA64(b[0], lower)
			c.VPERMT2Q(b[2], orders[0], lower)
			c.VPERMT2Q(b[2], orders[1], b[0])
			c.VMOVDQU64(lower, asm.At(words, 128*i))
			c.VMOVDQU64(b[0], asm.At(words, 128*i+64))
		}
		c.ADDQ(asm.Number(256), words)
	})
	asm.Return(c)
}

// philoxRound512 is philoxRound for eight blocks. One of the upper halves is moved by a shuffle, because the processor
// shifts and shuffles in different units.
func philoxRound512(c *build.Context, b blocks, factors [2]vector, keys operand.Mem) blocks {
	product1, product0, word0, word2 := c.ZMM(), c.ZMM(), c.ZMM(), c.ZMM()
	c.VPMULUDQ(factors[1], b[2], product1)
	c.VPMULUDQ(factors[0], b[0], product0)
	c.VPSRLQ(operand.Imm(32), product1, word0)
	c.VPSHUFD(operand.Imm(0xf5), product0, word2)
	const xor = 0x96 // truth table of the xor of three operands
	c.VPTERNLOGQ_BCST(operand.U8(xor), keys, b[1], word0)
	c.VPTERNLOGQ_BCST(operand.U8(xor), keys.Offset(32), b[3], word2)
	return blocks{word0, product1, word2, product0}
}

// broadcastWord returns a parameter of type uint32 in all elements.
func broadcastWord(c *build.Context, parameter string) vector {
	word, x, y := c.GP32(), c.XMM(), c.YMM()
	c.MOVL(asm.Parameter(c, parameter), word)
	c.MOVQ(word.As64(), x)
	c.VPBROADCASTD(x, y)
	return y
}

// philoxRound returns the blocks after one round.
func philoxRound(c *build.Context, b blocks, factors [2]vector, keys operand.Mem) blocks {
	product1, product0, word0, word2 := c.YMM(), c.YMM(), c.YMM(), c.YMM()
	c.VPMULUDQ(factors[1], b[2], product1)
	c.VPMULUDQ(factors[0], b[0], product0)
	c.VPSRLQ(operand.Imm(32), product1, word0)
	c.VPXOR(b[1], word0, word0)
	c.VPXOR(keys, word0, word0)
	c.VPSRLQ(operand.Imm(32), product0, word2)
	c.VPXOR(b[3], word2, word2)
	c.VPXOR(keys.Offset(32), word2, word2)
	return blocks{word0, product1, word2, product0}
}

// storeBlocks stores four blocks, which it overwrites, to 64 bytes.
func storeBlocks(c *build.Context, b blocks, to operand.Mem) {
	c.VPSLLQ(operand.Imm(32), b[1], b[1])
	c.VPBLENDD(operand.Imm(0xaa), b[1], b[0], b[0])
	c.VPSLLQ(operand.Imm(32), b[3], b[3])
	c.VPBLENDD(operand.Imm(0xaa), b[3], b[2], b[2])
	even, odd := c.YMM(), c.YMM()
	c.VPUNPCKLQDQ(b[2], b[0], even)
	c.VPUNPCKHQDQ(b[2], b[0], odd)
	c.VPERM2I128(operand.Imm(0x20), odd, even, b[0])
	c.VPERM2I128(operand.Imm(0x31), odd, even, b[2])
	c.VMOVDQU(b[0], to)
	c.VMOVDQU(b[2], to.Offset(32))
}

// broadcastFloat returns a parameter of type float32 in all elements.
func broadcastFloat(c *build.Context, parameter string) vector {
	y := c.YMM()
	c.VBROADCASTSS(asm.Parameter(c, parameter), y)
	return y
}

// broadcastBits returns 32 bits in all elements.
func broadcastBits(c *build.Context, bits uint32) vector {
	word, x, y := c.GP32(), c.XMM(), c.YMM()
	c.MOVL(operand.U32(bits), word)
	c.MOVQ(word.As64(), x)
	c.VBROADCASTSS(x, y)
	return y
}

// eachWord writes the rest of a function that sets the n elements of x to f(words).
func eachWord(c *build.Context, f func(word vector) vector) {
	p := asm.Load(c, "x", "words", "n")
	x, words, n := p[0], p[1], p[2]
	asm.Countdown(c, n, 8, func() {
		word := c.YMM()
		c.VMOVDQU(asm.At(words, 0), word)
		c.VMOVUPS(f(word), asm.At(x, 0))
		c.ADDQ(operand.Imm(32), words)
		c.ADDQ(operand.Imm(32), x)
	})
	asm.Return(c)
}

func uniformAVX2(c *build.Context) {
	asm.Function(c, "uniformAVX2")
	lo, width, below := broadcastFloat(c, "lo"), broadcastFloat(c, "width"), broadcastFloat(c, "below")
	unit := broadcastBits(c, 0x33800000) // 2^-24
	eachWord(c, func(u vector) vector {
		c.VPSRLD(operand.Imm(8), u, u)
		c.VCVTDQ2PS(u, u)
		c.VMULPS(unit, u, u)
		c.VMULPS(width, u, u)
		c.VADDPS(lo, u, u)
		c.VMINPS(below, u, u)
		return u
	})
}

// uniform64AVX2 converts the upper 53 bits of 64 to float64 in two halves. Each half is stored in the low bits of the significand
// of a power of two: 2^52 for the lower half, 2^84 for the upper one. Subtracting both powers from the upper number is exact,
// and so is adding the lower number.
func uniform64AVX2(c *build.Context) {
	asm.Function(c, "uniform64AVX2")
	broadcast := func(m operand.Mem) vector {
		y := c.YMM()
		c.VBROADCASTSD(m, y)
		return y
	}
	constant := func(name string, v float64) vector {
		return broadcast(asm.Constant(c, name, 1, operand.U64(math.Float64bits(v))))
	}
	lo, width, below := broadcast(asm.Parameter(c, "lo")), broadcast(asm.Parameter(c, "width")), broadcast(asm.Parameter(c, "below"))
	lower, upper := constant("lowerPower", 0x1p52), constant("upperPower", 0x1p84)
	powers, unit := constant("bothPowers", 0x1p84+0x1p52), constant("unit64", 0x1p-53)
	p := asm.Load(c, "x", "words", "n")
	x, words, n := p[0], p[1], p[2]
	asm.Countdown(c, n, 4, func() {
		u, v := c.YMM(), c.YMM()
		c.VMOVDQU(asm.At(words, 0), u)
		c.VPSRLQ(operand.Imm(11), u, u)
		c.VPSRLQ(operand.Imm(32), u, v)
		c.VPOR(upper, v, v)
		c.VSUBPD(powers, v, v)
		c.VPBLENDD(operand.Imm(0xaa), lower, u, u)
		c.VADDPD(u, v, u)
		c.VMULPD(unit, u, u)
		c.VMULPD(width, u, u)
		c.VADDPD(lo, u, u)
		c.VMINPD(u, below, u) // NaN stays NaN
		c.VMOVUPD(u, asm.At(x, 0))
		c.ADDQ(operand.Imm(32), words)
		c.ADDQ(operand.Imm(32), x)
	})
	asm.Return(c)
}

// normalAVX2 evaluates the polynomials of normalTable, one for each interval of an odd number below 2^32.
func normalAVX2(c *build.Context) {
	asm.Function(c, "normalAVX2")
	mean, std := broadcastFloat(c, "mean"), broadcastFloat(c, "std")
	table := asm.Variable(c, "normalTable")
	one, half, lower := broadcastBits(c, 1), broadcastBits(c, 0x47800000), broadcastBits(c, 0xffff) // 2^16
	firstInterval, mantissa := broadcastBits(c, 127<<3), broadcastBits(c, 0xfffff)
	exponent, center, sign := broadcastBits(c, 0x3f800000), broadcastBits(c, 0x3fc00000), broadcastBits(c, 0x80000000) // 1, 1.5, -0
	x, coefficient := c.YMM(), c.YMM()                                                                                 // declared here, because a gather also reads its destination
	eachWord(c, func(word vector) vector {
		odd := oddNumber(c, word, one, half, lower)
		interval, t := c.YMM(), c.YMM()
		c.VPSRLD(operand.Imm(20), odd, interval)
		c.VPSUBD(firstInterval, interval, interval)
		c.VPSLLD(operand.Imm(2), interval, interval)
		c.VPAND(mantissa, odd, t)
		c.VPSLLD(operand.Imm(3), t, t)
		c.VPOR(exponent, t, t)
		c.VSUBPS(center, t, t)
		gather(c, table, interval, 3, x)
		for i := 2; i >= 0; i-- {
			c.VMULPS(t, x, x)
			gather(c, table, interval, i, coefficient)
			c.VADDPS(coefficient, x, x)
		}
		c.VPAND(sign, word, word)
		c.VPOR(word, x, x)
		c.VMULPS(std, x, x)
		c.VADDPS(mean, x, x)
		return x
	})
}

// oddNumber returns 2 word + 1 without word's highest bit, as float32: two exact halves, whose sum is the only rounding.
func oddNumber(c *build.Context, word, one, half, lower vector) vector {
	odd, upper, rest := c.YMM(), c.YMM(), c.YMM()
	c.VPADDD(word, word, odd)
	c.VPOR(one, odd, odd)
	c.VPSRLD(operand.Imm(16), odd, upper)
	c.VCVTDQ2PS(upper, upper)
	c.VMULPS(half, upper, upper)
	c.VPAND(lower, odd, rest)
	c.VCVTDQ2PS(rest, rest)
	c.VADDPS(rest, upper, odd)
	return odd
}

// gather writes x = coefficient i of each interval.
func gather(c *build.Context, table reg.Register, interval vector, i int, x vector) {
	all := c.YMM()
	c.VPCMPEQD(all, all, all)
	c.VGATHERDPS(all, asm.At(table, 4*i).Idx(interval, 4), x)
}

package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// elements are of a type that is loaded as float32, eight at a time.
type elements struct {
	log  int // the logarithm of an element's size
	load func(c *build.Context, from operand.Op, to reg.Register)
}

var (
	loadF32  = elements{2, func(c *build.Context, from operand.Op, to reg.Register) { c.VMOVUPS(from, to) }}
	loadF16  = elements{1, func(c *build.Context, from operand.Op, to reg.Register) { c.VCVTPH2PS(from, to) }}
	loadBF16 = elements{1, widenBFloat16}
	loadI8   = elements{0, func(c *build.Context, from operand.Op, to reg.Register) {
		c.VPMOVSXBD(from, to)
		c.VCVTDQ2PS(to, to)
	}}
	loadU8 = elements{0, func(c *build.Context, from operand.Op, to reg.Register) {
		c.VPMOVZXBD(from, to)
		c.VCVTDQ2PS(to, to)
	}}
)

// converters writes the functions that convert n elements, a multiple of 8, and blocks of rows of them.
func converters(c *build.Context) {
	for _, f := range []struct {
		name      string
		converter func(*build.Context) converter
	}{
		{"loadF16", loadF16.converter},
		{"storeF16", toF16},
		{"loadBF16", loadBF16.converter},
		{"loadI8", loadI8.converter},
		{"loadU8", loadU8.converter},
		{"addI32", addI32},
		{"storeBF16", toBF16},
	} {
		asm.Function(c, f.name)
		f.converter(c).elements(c)
	}
	asm.Function(c, "narrowF16")
	toF16(c).rows(c)
	asm.Function(c, "narrowBF16")
	toBF16(c).rows(c)
}

// converter returns the converter that loads the elements as float32.
func (e elements) converter(c *build.Context) converter {
	return converter{e.log, 2, func(from, to operand.Mem) {
		y := c.YMM()
		e.load(c, from, y)
		c.VMOVUPS(y, to)
	}}
}

// toF16 returns the converter that rounds float32 to float16.
func toF16(c *build.Context) converter {
	return converter{2, 1, func(from, to operand.Mem) {
		y := c.YMM()
		c.VMOVUPS(from, y)
		c.VCVTPS2PH(asm.Number(0), y, to)
	}}
}

// addI32 returns the converter that adds truncated float32 to int32.
func addI32(c *build.Context) converter {
	return converter{2, 2, func(from, to operand.Mem) {
		y := c.YMM()
		c.VCVTTPS2DQ(from, y)
		c.VPADDD(to, y, y)
		c.VMOVDQU(y, to)
	}}
}

// converter converts eight elements in memory. from and to are the logarithms of the elements' sizes.
type converter struct {
	from, to int
	eight    func(from, to operand.Mem)
}

// elements loads the parameters of the active function and converts n elements.
func (v converter) elements(c *build.Context) {
	p := asm.Load(c, "dst", "src", "n")
	dst, src, n := p[0], p[1], p[2]
	c.SHRQ(asm.Number(3), n)
	c.JZ(operand.LabelRef("done"))
	v.loop(c, dst, src, n)
	c.Label("done")
	asm.Return(c)
}

// loop converts 8 eighth elements.
func (v converter) loop(c *build.Context, dst, src, eighth reg.Register) {
	asm.Loop(c, "loop", eighth, func() {
		v.eight(asm.At(src, 0), asm.At(dst, 0))
		c.ADDQ(asm.Number(8<<v.from), src)
		c.ADDQ(asm.Number(8<<v.to), dst)
	})
}

// rows loads the parameters of the active function and converts rows of elements.
func (v converter) rows(c *build.Context) {
	p := asm.Load(c, "dst", "ldd", "src", "lds", "rows", "cols")
	dst, ldd, src, lds, rows, cols := p[0], p[1], p[2], p[3], p[4], p[5]
	c.SHLQ(asm.Number(v.to), ldd)
	c.SHLQ(asm.Number(v.from), lds)
	c.SHRQ(asm.Number(3), cols)
	asm.Loop(c, "row", rows, func() {
		to, from, left := c.GP64(), c.GP64(), c.GP64()
		c.MOVQ(dst, to)
		c.MOVQ(src, from)
		c.MOVQ(cols, left)
		v.loop(c, to, from, left)
		c.ADDQ(ldd, dst)
		c.ADDQ(lds, src)
	})
	asm.Return(c)
}

// toBF16 returns the converter that rounds float32 to bfloat16, for the active function.
func toBF16(c *build.Context) converter {
	r := newBFloat16Rounder(c)
	return converter{2, 1, func(from, to operand.Mem) {
		y := r.round(from)
		high := c.XMM()
		c.VEXTRACTI128(asm.Number(1), y, high)
		c.VPACKUSDW(high, y.AsX(), y.AsX())
		c.VMOVDQU(y.AsX(), to)
	}}
}

// split writes the function that separates real and imaginary parts.
func split(c *build.Context, f asm.Float) {
	asm.Function(c, map[int]string{4: "splitC64", 8: "splitC128"}[f.Size])
	p := asm.Load(c, "re", "im", "src", "n")
	re, im, src, n := p[0], p[1], p[2], p[3]
	c.SHRQ(asm.Number(5-f.Log), n)
	c.JZ(operand.LabelRef("done"))
	asm.Loop(c, "loop", n, func() {
		a, b, real, imag := c.YMM(), c.YMM(), c.YMM(), c.YMM()
		c.VMOVUPS(asm.At(src, 0), a)
		c.VMOVUPS(asm.At(src, 32), b)
		if f.Double {
			c.VUNPCKLPD(b, a, real)
			c.VUNPCKHPD(b, a, imag)
		} else {
			c.VSHUFPS(asm.Number(0x88), b, a, real)
			c.VSHUFPS(asm.Number(0xdd), b, a, imag)
		}
		c.VPERMPD(asm.Number(0xd8), real, real)
		c.VPERMPD(asm.Number(0xd8), imag, imag)
		c.VMOVUPS(real, asm.At(re, 0))
		c.VMOVUPS(imag, asm.At(im, 0))
		c.ADDQ(asm.Number(64), src)
		c.ADDQ(asm.Number(32), re)
		c.ADDQ(asm.Number(32), im)
	})
	c.Label("done")
	asm.Return(c)
}

// join writes the function that interleaves real and imaginary parts.
func join(c *build.Context, f asm.Float) {
	asm.Function(c, map[int]string{4: "joinC64", 8: "joinC128"}[f.Size])
	p := asm.Load(c, "dst", "re", "im", "n")
	dst, re, im, n := p[0], p[1], p[2], p[3]
	c.SHRQ(asm.Number(5-f.Log), n)
	c.JZ(operand.LabelRef("done"))
	asm.Loop(c, "loop", n, func() {
		real, imag, low, high := c.YMM(), c.YMM(), c.YMM(), c.YMM() // low and high are interleaved within each half of a register
		c.VMOVUPS(asm.At(re, 0), real)
		c.VMOVUPS(asm.At(im, 0), imag)
		f.UnpackLow(c, imag, real, low)
		f.UnpackHigh(c, imag, real, high)
		c.VPERM2F128(asm.Number(0x20), high, low, real)
		c.VPERM2F128(asm.Number(0x31), high, low, imag)
		c.VMOVUPS(real, asm.At(dst, 0))
		c.VMOVUPS(imag, asm.At(dst, 32))
		c.ADDQ(asm.Number(32), re)
		c.ADDQ(asm.Number(32), im)
		c.ADDQ(asm.Number(64), dst)
	})
	c.Label("done")
	asm.Return(c)
}

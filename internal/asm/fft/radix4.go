package fft

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// radix4 writes the butterflies of four, for as many complex numbers at a time as a register of 32 bytes has.
func radix4(c *build.Context) {
	for _, f := range complexes(c) {
		vector4(c, f)
		first4(c, f)
	}
}

// vector4 writes the function that computes rows of butterflies. The butterflies of a row have the same twiddle factors.
func vector4(c *build.Context, f complexFloat) {
	asm.Function(c, "vector4x"+f.Name)
	p := asm.Load(c, "y", "x", "w", "ys", "xs", "n", "count")
	y, x, w, ys, xs, n, count := p[0], p[1], p[2], p[3], p[4], p[5], p[6]
	asm.Bytes(c, f.Log+1, ys, xs)
	from, to := c.GP64(), c.GP64()
	in, out := asm.NewRows(c, from, xs), asm.NewRows(c, to, ys)
	odd := c.YMM()
	c.VMOVUPS(f.odd, odd)
	asm.Loop(c, "row", count, func() {
		var twiddle [4]factor // but for the first
		for i := 1; i < 4; i++ {
			twiddle[i] = factor{c.YMM(), c.YMM()}
			f.Broadcast(c, operand.Mem{Base: w, Disp: 2 * (i - 1) * f.Size}, twiddle[i].re)
			f.Broadcast(c, operand.Mem{Base: w, Disp: (2*i - 1) * f.Size}, twiddle[i].im)
		}
		left := c.GP64()
		c.MOVQ(x, from)
		c.MOVQ(y, to)
		c.MOVQ(n, left)
		asm.Down(c, "loop", left, 16/f.Size, func() {
			v := f.butterfly(c, in, odd)
			for i := 1; i < 4; i++ {
				f.times(c, v[i], twiddle[i])
			}
			for i := range v {
				c.VMOVUPS(v[i], out.At(i, 0))
			}
			c.ADDQ(operand.Imm(32), from)
			c.ADDQ(operand.Imm(32), to)
		})
		c.ADDQ(ys, x)
		c.LEAQ(operand.Mem{Base: y, Index: ys, Scale: 4}, y)
		c.ADDQ(operand.Imm(uint64(6*f.Size)), w)
	})
	asm.Return(c)
}

// first4 writes the butterflies of the first stage, whose twiddle factors differ and whose results are interleaved.
func first4(c *build.Context, f complexFloat) {
	asm.Function(c, "first4x"+f.Name)
	p := asm.Load(c, "y", "x", "w", "m", "n")
	y, x, w, m, n := p[0], p[1], p[2], p[3], p[4]
	asm.Bytes(c, f.Log+1, m)
	in := asm.NewRows(c, x, m)
	twiddle := in.From(w)
	odd := c.YMM()
	c.VMOVUPS(f.odd, odd)
	asm.Down(c, "loop", n, 16/f.Size, func() {
		v := f.butterfly(c, in, odd)
		for i := 1; i < 4; i++ {
			e := factor{c.YMM(), c.YMM()}
			c.VMOVUPS(twiddle.At(i-1, 0), e.im)
			f.permute(c, f.re, e.im, e.re)
			f.permute(c, f.im, e.im, e.im)
			f.times(c, v[i], e)
		}
		for i, r := range f.interleave(c, v) {
			c.VMOVUPS(r, operand.Mem{Base: y, Disp: 32 * i})
		}
		c.ADDQ(operand.Imm(32), x)
		c.ADDQ(operand.Imm(32), w)
		c.ADDQ(operand.Imm(128), y)
	})
	asm.Return(c)
}

// butterfly returns a+c+b+d, a-c-i(b-d), a+c-b-d and a-c+i(b-d) of the rows a, b, c and d. odd has the sign bits of
// the imaginary parts.
func (f complexFloat) butterfly(c *build.Context, x asm.Rows, odd reg.Register) [4]reg.VecVirtual {
	var in, out [4]reg.VecVirtual
	for i := range in {
		in[i], out[i] = c.YMM(), c.YMM()
		c.VMOVUPS(x.At(i, 0), in[i])
	}
	sum0, difference0, sum1, difference1 := c.YMM(), c.YMM(), c.YMM(), c.YMM()
	f.Add(c, in[2], in[0], sum0)
	f.Sub(c, in[2], in[0], difference0)
	f.Add(c, in[3], in[1], sum1)
	f.Sub(c, in[3], in[1], difference1)
	f.permute(c, f.swap, difference1, difference1)
	c.VXORPS(odd, difference1, difference1) // -i(b-d)
	f.Add(c, sum1, sum0, out[0])
	f.Sub(c, sum1, sum0, out[2])
	f.Add(c, difference1, difference0, out[1])
	f.Sub(c, difference1, difference0, out[3])
	return out
}

// interleave returns the numbers of four registers in the order v[0][0], v[1][0], v[2][0], v[3][0], v[0][1], ...
func (f complexFloat) interleave(c *build.Context, v [4]reg.VecVirtual) [4]reg.VecVirtual {
	if !f.Double { // pairs of numbers, such as v[0][0] v[1][0] v[0][2] v[1][2]
		var pairs [4]reg.VecVirtual
		for i := range pairs {
			pairs[i] = c.YMM()
		}
		c.VUNPCKLPD(v[1], v[0], pairs[0])
		c.VUNPCKHPD(v[1], v[0], pairs[2])
		c.VUNPCKLPD(v[3], v[2], pairs[1])
		c.VUNPCKHPD(v[3], v[2], pairs[3])
		v = pairs
	}
	var out [4]reg.VecVirtual
	for i := range out {
		out[i] = c.YMM()
	}
	for half, lanes := range []uint64{0x20, 0x31} {
		c.VPERM2F128(operand.Imm(lanes), v[1], v[0], out[2*half])
		c.VPERM2F128(operand.Imm(lanes), v[3], v[2], out[2*half+1])
	}
	return out
}

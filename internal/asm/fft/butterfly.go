package fft

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// butterfly describes the inputs and outputs of butterflies of p numbers. As many are computed at a time as complex
// numbers fit a register of 32 bytes.
type butterfly struct {
	complexFloat
	p       int
	table   reg.Register // cosines and sines, which package fft's table describes
	in      func(j int) operand.Mem
	twiddle func(t int) factor // for t from 1
	out     func(t int, v reg.VecVirtual)
}

// write writes the butterflies. Results are stored as soon as they are computed, so that 16 registers are enough for seven.
func (b butterfly) write(c *build.Context) {
	if b.p == 2 {
		b.writeTwo(c)
		return
	}
	half := b.p / 2
	x0, total := c.YMM(), c.YMM()
	c.VMOVUPS(b.in(0), x0)
	sums, differences := make([]vector, half+1), make([]vector, half+1)
	for j := 1; j <= half; j++ {
		x, difference, sum := c.YMM(), c.YMM(), c.YMM()
		c.VMOVUPS(b.in(j), x)
		c.VMOVUPS(b.in(b.p-j), difference)
		b.Add(c, difference, x, sum)
		b.Sub(c, difference, x, difference)
		b.permute(c, b.swap, difference, difference)
		sums[j], differences[j] = b.keep(c, sum), b.keep(c, difference)
	}
	b.Add(c, sums[1].load(c), x0, total)
	for j := 2; j <= half; j++ {
		b.Add(c, sums[j].load(c), total, total)
	}
	b.out(0, total)
	for t := 1; t <= half; t++ {
		even, odd, product := c.YMM(), c.YMM(), c.YMM()
		for j := 1; j <= half; j++ {
			k, add := t*j%b.p, b.Add
			if k > half {
				k, add = b.p-k, b.Sub
			}
			b.Mul(c, asm.At(b.table, 32*(k-1)), sums[j].load(c), product)
			if j == 1 {
				b.Add(c, product, x0, even)
				b.Mul(c, asm.At(b.table, 32*(half+k-1)), differences[j].load(c), odd)
				continue
			}
			b.Add(c, product, even, even)
			b.Mul(c, asm.At(b.table, 32*(half+k-1)), differences[j].load(c), product)
			add(c, product, odd, odd)
		}
		b.Sub(c, odd, even, product)
		b.Add(c, odd, even, even)
		b.times(c, even, b.twiddle(t))
		b.out(t, even)
		b.times(c, product, b.twiddle(b.p-t))
		b.out(b.p-t, product)
	}
}

// vector is a vector in a register, or if there are too few registers in the memory of the function's frame.
type vector struct {
	register reg.VecVirtual
	memory   operand.Mem
}

// keep returns a vector that is read later. Butterflies of more than seven numbers keep theirs in memory.
func (b butterfly) keep(c *build.Context, v reg.VecVirtual) vector {
	if b.p <= 7 {
		return vector{register: v}
	}
	memory := c.AllocLocal(32)
	c.VMOVUPS(v, memory)
	return vector{memory: memory}
}

// load returns a register with the vector.
func (v vector) load(c *build.Context) reg.VecVirtual {
	if v.register != nil {
		return v.register
	}
	r := c.YMM()
	c.VMOVUPS(v.memory, r)
	return r
}

func (b butterfly) writeTwo(c *build.Context) {
	x0, x1, sum := c.YMM(), c.YMM(), c.YMM()
	c.VMOVUPS(b.in(0), x0)
	c.VMOVUPS(b.in(1), x1)
	b.Add(c, x1, x0, sum)
	b.Sub(c, x1, x0, x0)
	b.out(0, sum)
	b.times(c, x0, b.twiddle(1))
	b.out(1, x0)
}

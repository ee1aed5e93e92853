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
	x0 := c.YMM()
	c.VMOVUPS(b.in(0), x0)
	sums, differences := make([]reg.VecVirtual, half+1), make([]reg.VecVirtual, half+1)
	for j := 1; j <= half; j++ {
		sums[j], differences[j] = c.YMM(), c.YMM()
		c.VMOVUPS(b.in(j), sums[j])
		c.VMOVUPS(b.in(b.p-j), differences[j])
		sum := c.YMM()
		b.Add(c, differences[j], sums[j], sum)
		b.Sub(c, differences[j], sums[j], differences[j])
		b.permute(c, b.swap, differences[j], differences[j])
		sums[j] = sum
	}
	total := c.YMM()
	b.Add(c, sums[1], x0, total)
	for j := 2; j <= half; j++ {
		b.Add(c, sums[j], total, total)
	}
	b.out(0, total)
	for t := 1; t <= half; t++ {
		even, odd, product := c.YMM(), c.YMM(), c.YMM()
		for j := 1; j <= half; j++ {
			k, add := t*j%b.p, b.Add
			if k > half {
				k, add = b.p-k, b.Sub
			}
			b.Mul(c, asm.At(b.table, 32*(k-1)), sums[j], product)
			if j == 1 {
				b.Add(c, product, x0, even)
				b.Mul(c, asm.At(b.table, 32*(half+k-1)), differences[j], odd)
				continue
			}
			b.Add(c, product, even, even)
			b.Mul(c, asm.At(b.table, 32*(half+k-1)), differences[j], product)
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

package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// integerSums writes the sums of n integers, a multiple of 16 and positive, as integers of 8 bytes.
func integerSums(c *build.Context) {
	for _, k := range []struct {
		name  string
		size  int                          // bytes of an element
		widen func(operands ...operand.Op) // four elements in memory
	}{
		{"Int8", 1, c.VPMOVSXBQ},
		{"Int16", 2, c.VPMOVSXWQ},
		{"Int32", 4, c.VPMOVSXDQ},
		{"Int64", 8, func(operands ...operand.Op) { c.VMOVDQU(operands[0], operands[1]) }},
		{"Uint8", 1, c.VPMOVZXBQ},
		{"Uint16", 2, c.VPMOVZXWQ},
		{"Uint32", 4, c.VPMOVZXDQ},
	} {
		asm.Function(c, "sum"+k.name)
		p := asm.Load(c, "x", "n")
		sums := [4]reg.VecVirtual{c.YMM(), c.YMM(), c.YMM(), c.YMM()}
		for _, s := range sums {
			c.VPXOR(s, s, s)
		}
		asm.Down(c, "next", p[1], 16, func() {
			for i, s := range sums {
				v := c.YMM()
				k.widen(asm.At(p[0], 4*i*k.size), v)
				c.VPADDQ(v, s, s)
			}
			c.ADDQ(asm.Number(16*k.size), p[0])
		})
		c.VPADDQ(sums[1], sums[0], sums[0])
		c.VPADDQ(sums[3], sums[2], sums[2])
		c.VPADDQ(sums[2], sums[0], sums[0])
		one, other := sums[0].AsX(), c.XMM()
		c.VEXTRACTI128(operand.Imm(1), sums[0], other)
		c.VPADDQ(other, one, one)
		c.VPSRLDQ(operand.Imm(8), one, other)
		c.VPADDQ(other, one, one)
		c.VMOVQ(one, asm.Result(c))
		asm.Return(c)
	}
}

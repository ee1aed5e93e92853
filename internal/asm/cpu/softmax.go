package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"
)

// softmax writes the scaling and the sum of rows.
func softmax(c *build.Context) {
	scale32(c)
	sum32(c)
}

func scale32(c *build.Context) {
	asm.Function(c, "scale32")
	p, v := asm.Load(c, "x", "n"), floats{c: c}
	x, n, scale := p[0], p[1], v.broadcast("scale")
	asm.For(c, n, 8, func(i reg.Register) {
		low := asm.At(x, 0).Idx(i, 4)
		high := low.Offset(16)
		a, b := v.loadFloats(low), v.loadFloats(high)
		a, b = v.mul(a, scale), v.mul(b, scale)
		v.storeFloats(a, low)
		v.storeFloats(b, high)
	})
	asm.Return(c)
}

func sum32(c *build.Context) {
	asm.Function(c, "sum32")
	rowSum(floats{c: c}, func(x vector) vector { return x })
}

// rowSum writes the body of a function that returns the sum of term(x[i]) over the n elements of x. Four partial sums are
// kept, one in each lane.
func rowSum(v floats, term func(x vector) vector) {
	p := asm.Load(v.c, "x", "n")
	x, n := p[0], p[1]
	sums := v.zero()
	asm.Up(v.c, "next", n, 4, func(i reg.Register) {
		v.c.VADDPD(term(v.loadFloats(asm.At(x, 0).Idx(i, 4))), sums, sums)
	})
	v.c.VMOVSD(asm.Sum64(v.c, sums), asm.Result(v.c))
	asm.Return(v.c)
}

package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// norm writes the loops of LayerNorm and RMSNorm, which compute in float64.
func norm(c *build.Context) {
	deviations(c, "deviation32", func(_ floats, d vector) vector { return d })
	deviations(c, "squares32", func(v floats, d vector) vector { return v.mul(d, d) })
	normalize32(c)
	gain32(c)
}

// deviations writes a function that returns the sum of terms of x - mean.
func deviations(c *build.Context, name string, term func(v floats, d vector) vector) {
	asm.Function(c, name)
	v := floats{c: c}
	mean := v.broadcast("mean")
	rowSum(v, func(x vector) vector { return term(v, v.sub(x, mean)) })
}

func normalize32(c *build.Context) {
	asm.Function(c, "normalize32")
	p, v := asm.Load(c, "dst", "x", "gamma", "beta", "n"), floats{c: c}
	mean, scale := v.broadcast("mean"), v.broadcast("scale")
	asm.Up(c, "next", p[4], 4, func(i reg.Register) {
		at := func(p reg.Register) operand.Mem { return asm.At(p, 0).Idx(i, 4) }
		x, gamma, beta := v.loadFloats(at(p[1])), v.loadFloats(at(p[2])), v.loadFloats(at(p[3]))
		y := v.mul(v.mul(v.sub(x, mean), scale), gamma)
		v.storeFloats(v.add(y, beta), at(p[0]))
	})
	asm.Return(c)
}

func gain32(c *build.Context) {
	asm.Function(c, "gain32")
	p, v := asm.Load(c, "dst", "x", "gamma", "n"), floats{c: c}
	scale := v.broadcast("scale")
	asm.Up(c, "next", p[3], 4, func(i reg.Register) {
		at := func(p reg.Register) operand.Mem { return asm.At(p, 0).Idx(i, 4) }
		x, gamma := v.loadFloats(at(p[1])), v.loadFloats(at(p[2]))
		v.storeFloats(v.mul(v.mul(x, scale), gamma), at(p[0]))
	})
	asm.Return(c)
}

package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rankFew writes the subtraction of several outer products from four rows. The elements of four rows and 64 bytes are kept in
// registers while all products are subtracted from them. Products and differences are rounded separately, as in the loops of
// Go.
func rankFew(c *build.Context) {
	for _, f := range asm.Floats {
		fourRows(c, f, "AVX2", 2, func() reg.VecVirtual { return c.YMM() })
		fourRows(c, f, "AVX512", 1, func() reg.VecVirtual { return c.ZMM() })
	}
}

// fourRows writes subtractFour with `vectors` registers for the 64 bytes of a row.
func fourRows(c *build.Context, f asm.Float, level string, vectors int, vector func() reg.VecVirtual) {
	const rows = 4
	asm.Function(c, "subtractFour"+f.Name+level)
	p := asm.Load(c, "a", "pitch", "cols", "l", "lpitch", "lstep", "x", "xpitch", "k")
	a, pitch, cols, l, lpitch, lstep, x, xpitch, k := p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8]
	factors, row, left := c.GP64(), c.GP64(), c.GP64()
	to, from := asm.NewRows(c, a, pitch), asm.NewRows(c, factors, lpitch)
	width := 64 / vectors
	asm.Down(c, "tile", cols, 64/f.Size, func() {
		var rest [rows][]reg.VecVirtual
		for i := range rest {
			for v := range vectors {
				r := vector()
				c.VMOVUPS(to.At(i, v*width), r)
				rest[i] = append(rest[i], r)
			}
		}
		c.MOVQ(l, factors)
		c.MOVQ(x, row)
		c.MOVQ(k, left)
		asm.Loop(c, "product", left, func() {
			var values []reg.VecVirtual
			for v := range vectors {
				r := vector()
				c.VMOVUPS(asm.At(row, v*width), r)
				values = append(values, r)
			}
			for i := range rest {
				factor := vector()
				f.Broadcast(c, from.At(i, 0), factor)
				for v := range vectors {
					product := vector()
					f.Mul(c, values[v], factor, product)
					f.Sub(c, product, rest[i][v], rest[i][v])
				}
			}
			c.ADDQ(lstep, factors)
			c.ADDQ(xpitch, row)
		})
		for i := range rest {
			for v := range vectors {
				c.VMOVUPS(rest[i][v], to.At(i, v*width))
			}
		}
		c.ADDQ(operand.Imm(64), a)
		c.ADDQ(operand.Imm(64), x)
	})
	asm.Return(c)
}

package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// floatConversions writes conversions to floating-point numbers that one instruction does, of 64 bytes of the larger type
// at a time.
func floatConversions(c *build.Context) {
	xmm, ymm, zmm := func() reg.VecVirtual { return c.XMM() }, func() reg.VecVirtual { return c.YMM() }, func() reg.VecVirtual { return c.ZMM() }
	for _, k := range []struct {
		name     string
		from, to int // bytes of an element
		lanes    int // lanes of the instruction
		out      func() reg.VecVirtual
		convert  func(...operand.Op)
	}{
		{"float32sOfFloat64s", 8, 4, 4, xmm, c.VCVTPD2PSY},
		{"float64sOfFloat32s", 4, 8, 4, ymm, c.VCVTPS2PD},
		{"float32sOfInt32s", 4, 4, 8, ymm, c.VCVTDQ2PS},
		{"float64sOfInt32s", 4, 8, 4, ymm, c.VCVTDQ2PD},
		{"float32sOfInt64sAVX512", 8, 4, 8, ymm, c.VCVTQQ2PS},
		{"float64sOfInt64sAVX512", 8, 8, 8, zmm, c.VCVTQQ2PD},
	} {
		asm.Function(c, k.name)
		p := asm.Load(c, "dst", "src", "n")
		step := 64 / max(k.from, k.to)
		asm.For(c, p[2], step, func(i reg.Register) {
			for first := 0; first < step; first += k.lanes {
				v := k.out()
				k.convert(asm.At(p[1], first*k.from).Idx(i, uint8(k.from)), v)
				c.VMOVUPS(v, asm.At(p[0], first*k.to).Idx(i, uint8(k.to)))
			}
		})
		asm.Return(c)
	}
}

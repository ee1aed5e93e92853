package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vectorLoops writes element-wise operations on dense blocks, and the additions of sums.
func vectorLoops(c *build.Context) {
	for _, e := range []struct {
		asm.Float
		operations []arithmetic
	}{
		{asm.Float32, []arithmetic{
			{"add", c.VADDPS, c.VADDSS}, {"sub", c.VSUBPS, c.VSUBSS}, {"mul", c.VMULPS, c.VMULSS}, {"div", c.VDIVPS, c.VDIVSS},
		}},
		{asm.Float64, []arithmetic{
			{"add", c.VADDPD, c.VADDSD}, {"sub", c.VSUBPD, c.VSUBSD}, {"mul", c.VMULPD, c.VMULSD}, {"div", c.VDIVPD, c.VDIVSD},
		}},
	} {
		for _, a := range e.operations {
			binaryLoop(c, e.Float, a, "VV")
			binaryLoop(c, e.Float, a, "VS")
			if a.name == "sub" || a.name == "div" { // the others commute
				binaryLoop(c, e.Float, a, "SV")
			}
		}
	}
	for _, f := range asm.Floats {
		extremeLoop(c, "max", f, largerOf(f), false)
		extremeLoop(c, "min", f, smallerOf(f), false)
		extremeLoop(c, "maxVS", f, largerOf(f), true)
		extremeLoop(c, "minVS", f, smallerOf(f), true)
		clampLoop(c, f)
	}
	stream(c)
	chunkSums(c)
}

// arithmetic is an operation on vectors and on single elements: the last operand becomes the second op the first.
type arithmetic struct {
	name           string
	vector, single func(operands ...operand.Op)
}

// binaryLoop writes dst = x op y for two vectors (VV), a vector and a scalar (VS) or a scalar and a vector (SV): 128 bytes at a
// time, then one element at a time.
func binaryLoop(c *build.Context, f asm.Float, a arithmetic, kind string) {
	asm.Function(c, a.name+kind+f.Name)
	p := asm.Load(c, "dst", "x", "y", "n")
	dst, x, y, n := p[0], p[1], p[2], p[3]
	if kind == "SV" {
		x, y = y, x
	}
	scalar, i := c.YMM(), c.GP64()
	if kind != "VV" {
		f.Broadcast(c, asm.At(y, 0), scalar)
	}
	// steps writes an operation on the registers, for the vectors at the index.
	steps := func(move, op func(operands ...operand.Op), scalar reg.Register, registers ...reg.Register) {
		at := func(p reg.Register, j int) operand.Mem {
			return asm.At(p, 32*j).Idx(i, 1)
		}
		for j, v := range registers {
			move(at(x, j), v)
		}
		for j, v := range registers {
			switch kind {
			case "VV":
				op(at(y, j), v, v)
			case "VS":
				op(scalar, v, v)
			case "SV":
				op(v, scalar, v)
			}
		}
		for j, v := range registers {
			move(v, at(dst, j))
		}
	}
	asm.Bytes(c, f.Log, n)
	c.XORQ(i, i)
	c.SUBQ(asm.Number(128), n)
	c.JLT(operand.LabelRef("few"))
	c.Label("four")
	steps(c.VMOVUPS, a.vector, scalar, c.YMM(), c.YMM(), c.YMM(), c.YMM())
	c.ADDQ(asm.Number(128), i)
	c.CMPQ(i, n)
	c.JLE(operand.LabelRef("four"))
	c.Label("few")
	c.ADDQ(asm.Number(128), n)
	c.JMP(operand.LabelRef("check"))
	c.Label("one")
	moveOne := func(operands ...operand.Op) { f.MoveOne(c, operands...) }
	steps(moveOne, a.single, scalar.AsX(), c.XMM())
	c.ADDQ(asm.Number(f.Size), i)
	c.Label("check")
	c.CMPQ(i, n)
	c.JLT(operand.LabelRef("one"))
	asm.Return(c)
}

// extremeLoop writes dst = the extremes of x and y, a vector or a scalar, for a multiple of 16 elements.
func extremeLoop(c *build.Context, name string, f asm.Float, of extreme, scalar bool) {
	asm.Function(c, name+f.Name)
	p := asm.Load(c, "dst", "x", "y", "n")
	dst, x, y, n := p[0], p[1], p[2], p[3]
	b := c.YMM()
	if scalar {
		f.Broadcast(c, asm.At(y, 0), b)
	}
	asm.Bytes(c, f.Log, n)
	asm.For(c, n, 64, func(i reg.Register) {
		for offset := 0; offset < 64; offset += 32 {
			at := func(p reg.Register) operand.Mem {
				return asm.At(p, offset).Idx(i, 1)
			}
			a, d := c.YMM(), c.YMM()
			c.VMOVUPS(at(x), a)
			if !scalar {
				b = c.YMM()
				c.VMOVUPS(at(y), b)
			}
			of(c, a, b, d)
			c.VMOVUPS(d, at(dst))
		}
	})
	asm.Return(c)
}

// clampLoop writes dst = min(max(x, lo), hi) for a multiple of 16 elements. The numbers are lo, a zero and hi. lo and hi are not
// NaN, and hi is not -0. VMAXPS and VMINPS return their second operand, x, if it is NaN or if both operands are zeros. Adding the
// zero, which is 0 if lo is 0 and -0 otherwise, makes 0 of -0 if lo is 0.
func clampLoop(c *build.Context, f asm.Float) {
	asm.Function(c, "clampNumbers"+f.Name)
	p := asm.Load(c, "dst", "x", "numbers", "n")
	dst, x, numbers, n := p[0], p[1], p[2], p[3]
	var broadcast [3]vector
	for i := range broadcast {
		broadcast[i] = c.YMM()
		f.Broadcast(c, asm.At(numbers, i*f.Size), broadcast[i])
	}
	asm.Bytes(c, f.Log, n)
	asm.For(c, n, 64, func(i reg.Register) {
		for offset := 0; offset < 64; offset += 32 {
			v := c.YMM()
			c.VMOVUPS(asm.At(x, offset).Idx(i, 1), v)
			f.Max(c, v, broadcast[0], v)
			f.Add(c, broadcast[1], v, v)
			f.Min(c, v, broadcast[2], v)
			c.VMOVUPS(v, asm.At(dst, offset).Idx(i, 1))
		}
	})
	asm.Return(c)
}

// stream writes copies, with ordinary and with non-temporal stores, and the fence of the latter.
func stream(c *build.Context) {
	asm.Function(c, "copyAVX")
	from := asm.Load(c, "dst", "src", "n")
	asm.For(c, from[2], 128, func(i reg.Register) {
		v := [4]reg.VecVirtual{c.YMM(), c.YMM(), c.YMM(), c.YMM()}
		for j := range v {
			c.VMOVUPS(asm.At(from[1], 32*j).Idx(i, 1), v[j])
		}
		for j := range v {
			c.VMOVUPS(v[j], asm.At(from[0], 32*j).Idx(i, 1))
		}
	})
	asm.Return(c)

	asm.Function(c, "streamAVX")
	p := asm.Load(c, "dst", "src", "n")
	asm.Up(c, "next", p[2], 64, func(i reg.Register) {
		low, high := c.YMM(), c.YMM()
		c.VMOVUPS(asm.At(p[1], 0).Idx(i, 1), low)
		c.VMOVUPS(asm.At(p[1], 32).Idx(i, 1), high)
		c.VMOVNTPS(low, asm.At(p[0], 0).Idx(i, 1))
		c.VMOVNTPS(high, asm.At(p[0], 32).Idx(i, 1))
	})
	asm.Return(c)

	asm.Function(c, "fenceStores")
	c.SFENCE()
	c.RET()
}

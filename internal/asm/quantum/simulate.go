package quantum

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// simulate writes the loops over amplitudes, 32 bytes at a time. Real and imaginary parts are in two planes. Every
// product and every sum is rounded, as in the Go forms.
func simulate(c *build.Context) {
	for _, f := range asm.Floats {
		rotate(c, f)
		double(c, f)
		times(c, f)
		pairs(c, f)
	}
}

// rotate writes the loop x = e a. x may be a.
func rotate(c *build.Context, f asm.Float) {
	asm.Function(c, "rotateAVX"+f.Name)
	p := asm.Load(c, "xr", "xi", "ar", "ai", "n")
	x, a, n := planes{p[0], p[1]}, planes{p[2], p[3]}, p[4]
	e := amplitude{c.YMM(), c.YMM()}
	f.Broadcast(c, asm.Parameter(c, "er"), e.re)
	f.Broadcast(c, asm.Parameter(c, "ei"), e.im)
	asm.Bytes(c, f.Log, n)
	asm.Up(c, "loop", n, 32, func(i reg.Register) {
		x.store(c, i, a.load(c, i).product(c, f, e))
	})
	asm.Return(c)
}

// double writes the loop r1 = e[1] r0, r0 = e[0] r0.
func double(c *build.Context, f asm.Float) {
	asm.Function(c, "doubleAVX"+f.Name)
	p := asm.Load(c, "r0", "s0", "r1", "s1", "e", "n")
	r0, r1, n := planes{p[0], p[1]}, planes{p[2], p[3]}, p[5]
	e := coefficients(c, f, p[4], 2)
	asm.Bytes(c, f.Log, n)
	asm.Up(c, "loop", n, 32, func(i reg.Register) {
		a := r0.load(c, i)
		r0.store(c, i, a.product(c, f, e[0]))
		r1.store(c, i, a.product(c, f, e[1]))
	})
	asm.Return(c)
}

// times writes the loop that multiplies a by the factors fr + i fi.
func times(c *build.Context, f asm.Float) {
	asm.Function(c, "timesAVX"+f.Name)
	p := asm.Load(c, "ar", "ai", "fr", "fi", "n")
	a, factor, n := planes{p[0], p[1]}, planes{p[2], p[3]}, p[4]
	asm.Bytes(c, f.Log, n)
	asm.Up(c, "loop", n, 32, func(i reg.Register) {
		x := a.load(c, i)
		a.store(c, i, x.product(c, f, factor.load(c, i)))
	})
	asm.Return(c)
}

// pairs writes the loop that multiplies the vector (r0, r1) by the matrix u, whose rows are u[0], u[1] and u[2], u[3].
func pairs(c *build.Context, f asm.Float) {
	asm.Function(c, "pairsAVX"+f.Name)
	p := asm.Load(c, "r0", "s0", "r1", "s1", "u", "n")
	r0, r1, n := planes{p[0], p[1]}, planes{p[2], p[3]}, p[5]
	u := coefficients(c, f, p[4], 4)
	asm.Bytes(c, f.Log, n)
	asm.Up(c, "loop", n, 32, func(i reg.Register) {
		a, b := r0.load(c, i), r1.load(c, i)
		for row, to := range []planes{r0, r1} {
			x, y := u[2*row], u[2*row+1]
			re, im := a.real(c, f, x), b.real(c, f, y)
			f.Add(c, im, re, re)
			im, more := a.imaginary(c, f, x), b.imaginary(c, f, y)
			f.Add(c, more, im, im)
			to.store(c, i, amplitude{re, im})
		}
	})
	asm.Return(c)
}

// planes holds the addresses of real and imaginary parts.
type planes struct{ re, im reg.Register }

func (p planes) load(c *build.Context, i reg.Register) amplitude {
	a := amplitude{c.YMM(), c.YMM()}
	c.VMOVUPS(operand.Mem{Base: p.re, Index: i, Scale: 1}, a.re)
	c.VMOVUPS(operand.Mem{Base: p.im, Index: i, Scale: 1}, a.im)
	return a
}

func (p planes) store(c *build.Context, i reg.Register, a amplitude) {
	c.VMOVUPS(a.re, operand.Mem{Base: p.re, Index: i, Scale: 1})
	c.VMOVUPS(a.im, operand.Mem{Base: p.im, Index: i, Scale: 1})
}

// amplitude is a vector of complex numbers.
type amplitude struct{ re, im reg.VecVirtual }

// coefficients returns n complex numbers of the memory at p, each in all lanes.
func coefficients(c *build.Context, f asm.Float, p reg.Register, n int) []amplitude {
	e := make([]amplitude, n)
	for k := range e {
		e[k] = amplitude{c.YMM(), c.YMM()}
		f.Broadcast(c, operand.Mem{Base: p, Disp: 2 * k * f.Size}, e[k].re)
		f.Broadcast(c, operand.Mem{Base: p, Disp: (2*k + 1) * f.Size}, e[k].im)
	}
	return e
}

// product returns a e.
func (a amplitude) product(c *build.Context, f asm.Float, e amplitude) amplitude {
	return amplitude{a.real(c, f, e), a.imaginary(c, f, e)}
}

// real returns the real part of a e.
func (a amplitude) real(c *build.Context, f asm.Float, e amplitude) reg.VecVirtual {
	x, y := c.YMM(), c.YMM()
	f.Mul(c, e.re, a.re, x)
	f.Mul(c, e.im, a.im, y)
	f.Sub(c, y, x, x)
	return x
}

// imaginary returns the imaginary part of a e.
func (a amplitude) imaginary(c *build.Context, f asm.Float, e amplitude) reg.VecVirtual {
	x, y := c.YMM(), c.YMM()
	f.Mul(c, e.im, a.re, x)
	f.Mul(c, e.re, a.im, y)
	f.Add(c, y, x, x)
	return x
}

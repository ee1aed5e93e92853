package quantum

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// factorFloat is a type of float with more instructions for factors.
type factorFloat struct {
	asm.Float
	one              operand.Mem // 1 in 32 bytes
	subBCST          asm.Instruction
	multiplyNegative asm.Instruction // VFNMADD231
}

func factorFloat32(one operand.Mem) factorFloat {
	return factorFloat{asm.Float32, one, (*build.Context).VSUBPS_BCST, (*build.Context).VFNMADD231PS}
}

func factorFloat64(one operand.Mem) factorFloat {
	return factorFloat{asm.Float64, one, (*build.Context).VSUBPD_BCST, (*build.Context).VFNMADD231PD}
}

// factorLoop writes the products of wires for a few points at a time, with vectors of 32 or 64 bytes.
//
// A panel has 128 bytes of each coordinate: four vectors with AVX2, of which the loop multiplies two points at a time,
// or two vectors with AVX-512 and four points. On processors with 256-bit units, such as Zen 4, AVX-512 is as much work
// as AVX2, but comes closer to full utilization. Multiplications are the bottleneck: three for a wire of two
// coordinates. Additions use other units.
type factorLoop struct {
	*build.Context
	factorFloat
	width, points int
	products      []reg.VecVirtual // products of the first point with the panel, then of the second, ...
	ones          reg.VecVirtual   // with AVX-512
	point, panel  reg.Register     // the coordinates of the points and of the panel, 128 bytes apart
}

// factors writes the products of all wires with two coordinates, then those of wires with three.
func factors(c *build.Context, f factorFloat, width int) {
	name := map[int]string{32: "factorsAVX", 64: "factorsAVX512F"}[width] + f.Name
	asm.Function(c, name)
	p := asm.Load(c, "out", "ld", "packed", "point", "rows", "ahead", "la")
	out, ld, packed, first, rows, ahead, la := p[0], p[1], p[2], p[3], p[4], p[5], p[6]
	asm.Bytes(c, f.Log, ld, la)
	to := asm.NewRows(c, out, ld)
	l := newFactorLoop(c, f, width)
	c.Label("points")
	c.MOVQ(first, l.point)
	q := asm.Load(c, "panel", "planar", "full")
	planar, full := q[1], q[2]
	c.MOVQ(q[0], l.panel)
	prefetch(c, ahead, la, l.points)
	c.TESTQ(planar, planar)
	c.JZ(operand.LabelRef("none"))
	l.wire(2, true)
	c.DECQ(planar)
	c.JZ(operand.LabelRef("threes"))
	asm.Loop(c, "planar", planar, func() { l.wire(2, false) })
	c.Label("threes")
	c.TESTQ(full, full)
	c.JZ(operand.LabelRef("store"))
	asm.Loop(c, "full", full, func() { l.wire(3, false) })
	c.Label("store")
	l.store(to, packed)
	c.ADDQ(asm.Number(l.points*f.Size), first)
	c.SUBQ(asm.Number(l.points), rows)
	c.JGT(operand.LabelRef("points"))
	asm.Return(c)
	c.Label("none")
	l.setOne()
	c.JMP(operand.LabelRef("threes"))
}

func newFactorLoop(c *build.Context, f factorFloat, width int) *factorLoop {
	l := &factorLoop{Context: c, factorFloat: f, width: width, points: width / 16, point: c.GP64(), panel: c.GP64()}
	for range 8 {
		l.products = append(l.products, l.vector())
	}
	if width == 64 {
		l.ones = l.vector()
		f.Broadcast(c, f.one, l.ones)
	}
	return l
}

// vector returns a new register.
func (l *factorLoop) vector() reg.VecVirtual {
	if l.width == 64 {
		return l.ZMM()
	}
	return l.YMM()
}

// load loads a vector.
func (l *factorLoop) load(m operand.Mem) reg.VecVirtual {
	v := l.vector()
	l.VMOVUPS(m, v)
	return v
}

// wire multiplies the products by 1 - the squared distance in a wire's coordinates, two or three, and advances to the
// next wire. For the first wire it writes that instead.
func (l *factorLoop) wire(coordinates int, first bool) {
	if l.width == 64 {
		l.wire64(coordinates, first)
	} else {
		l.wire32(coordinates, first)
	}
	l.ADDQ(asm.Number(128*coordinates), l.point)
	l.ADDQ(asm.Number(128*coordinates), l.panel)
}

// wire32 computes two points at a time with one vector of the panel. Two coordinates of the points stay in registers.
func (l *factorLoop) wire32(coordinates int, first bool) {
	broadcast := func(k, point int) reg.VecVirtual {
		v := l.vector()
		l.Broadcast(l.Context, asm.At(l.point, 128*k+l.Size*point), v)
		return v
	}
	var points [2][2]reg.VecVirtual
	for k := range points {
		points[k] = [2]reg.VecVirtual{broadcast(k, 0), broadcast(k, 1)}
	}
	for i := range 4 {
		l.multiply([2]reg.VecVirtual{l.products[i], l.products[4+i]}, coordinates, first, func(k int) [2]reg.VecVirtual {
			column := asm.At(l.panel, 128*k+32*i)
			if k == 2 {
				d := [2]reg.VecVirtual{broadcast(k, 0), broadcast(k, 1)}
				l.Sub(l.Context, column, d[0], d[0])
				l.Sub(l.Context, column, d[1], d[1])
				return d
			}
			x := l.load(column)
			d := [2]reg.VecVirtual{l.vector(), l.vector()}
			l.Sub(l.Context, points[k][0], x, d[0])
			l.Sub(l.Context, points[k][1], x, d[1])
			return d
		})
	}
}

// wire64 computes one point at a time with both vectors of the panel, which stay in registers.
func (l *factorLoop) wire64(coordinates int, first bool) {
	var columns [6]reg.VecVirtual
	for i := range 2 * coordinates {
		columns[i] = l.load(asm.At(l.panel, 64*i))
	}
	for point := range 4 {
		l.multiply([2]reg.VecVirtual(l.products[2*point:]), coordinates, first, func(k int) [2]reg.VecVirtual {
			d := [2]reg.VecVirtual{l.vector(), l.vector()}
			for i := range d {
				l.subBCST(l.Context, asm.At(l.point, 128*k+l.Size*point), columns[2*k+i], d[i])
			}
			return d
		})
	}
}

// multiply multiplies two products by 1 - the squared distances, or writes that for the first wire. differences returns
// the differences in a coordinate.
func (l *factorLoop) multiply(products [2]reg.VecVirtual, coordinates int, first bool, differences func(k int) [2]reg.VecVirtual) {
	var squares [2]reg.VecVirtual
	for k := range coordinates {
		for i, d := range differences(k) {
			if k > 0 {
				l.Multiply(l.Context, d, d, squares[i])
				continue
			}
			l.Mul(l.Context, d, d, d)
			squares[i] = d
		}
	}
	ones := l.ones
	if first && l.width == 32 {
		ones = l.load(l.one)
	}
	for i, p := range products {
		if first {
			l.Sub(l.Context, squares[i], ones, p) // no multiplication by 1, because multiplications are the bottleneck
			continue
		}
		l.multiplyNegative(l.Context, squares[i], p, p)
	}
}

// setOne sets all products to 1.
func (l *factorLoop) setOne() {
	ones := l.ones
	if l.width == 32 {
		ones = l.load(l.one)
	}
	for _, p := range l.products {
		l.VMOVAPS(ones, p)
	}
}

// store stores the products as rows of out, one for each point, and as the next rows of packed, whose pitch is 128.
func (l *factorLoop) store(out asm.Rows, packed reg.Register) {
	perRow := 128 / l.width
	for i, p := range l.products {
		l.VMOVUPS(p, out.At(i/perRow, l.width*(i%perRow)))
	}
	l.LEAQ(out.Next(l.points), out.Base)
	for i, p := range l.products {
		l.VMOVUPS(p, asm.At(packed, l.width*i))
	}
	l.ADDQ(asm.Number(128*l.points), packed)
}

// prefetch prefetches rows at ahead, which are written after these points.
func prefetch(c *build.Context, ahead, pitch reg.Register, rows int) {
	for range rows {
		c.PREFETCHT0(asm.At(ahead, 0))
		c.PREFETCHT0(asm.At(ahead, 64))
		c.ADDQ(pitch, ahead)
	}
}

package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// prefetched returns the address sixteen rows after row.
func prefetched(c *build.Context, row, ld reg.Register) reg.GPVirtual {
	ahead := c.GP64()
	c.LEAQ(asm.At(row, 0).Idx(ld, 8), ahead)
	c.LEAQ(asm.At(ahead, 0).Idx(ld, 8), ahead)
	return ahead
}

// dotsFour512 writes the dot products of four queries with rows, two rows at a time.
func dotsFour512(c *build.Context) {
	asm.Function(c, "dotsFour512")
	p := asm.Load(c, "dst", "ldd", "a", "ld")
	dst, ldd, a, ld := p[0], p[1], []reg.Register{p[2], c.GP64()}, p[3]
	asm.Bytes(c, 2, ldd)
	asm.Bytes(c, 2, ld)
	sums := asm.Vectors(64, 0, 16) // for each row and query two: of even and of odd vectors
	queries := []reg.Register{c.GP64(), c.GP64(), c.GP64(), c.GP64()}
	k, offset := c.GP64(), c.GP64() // elements left, bytes done

	c.Label("rows")
	c.LEAQ(asm.At(a[0], 0).Idx(ld, 1), a[1])
	q := asm.Load(c, "ldx")
	c.MOVQ(asm.Parameter(c, "x"), queries[0])
	c.LEAQ(asm.At(queries[0], 0).Idx(q[0], 4), queries[1])
	asm.Bytes(c, 2, q[0])
	c.MOVQ(asm.Parameter(c, "k"), k)
	c.XORQ(offset, offset)
	asm.Zero(c, sums...)
	c.LEAQ(asm.At(queries[0], 0).Idx(q[0], 2), queries[2])
	c.LEAQ(asm.At(queries[1], 0).Idx(q[0], 2), queries[3])
	ahead := []reg.Register{prefetched(c, a[0], ld), c.GP64()}
	c.LEAQ(asm.At(ahead[0], 0).Idx(ld, 1), ahead[1])

	at := func(r reg.Register, bytes int) operand.Mem { return asm.At(r, bytes).Idx(offset, 1) }
	c.Label("loop")
	for _, r := range ahead {
		c.PREFETCHT0(at(r, 0))
		c.PREFETCHT0(at(r, 64))
	}
	rows, vectors := asm.Vectors(64, 16, 18), asm.Vectors(64, 18, 22)
	for odd := range 2 {
		for i, row := range rows {
			c.VMOVUPS(at(a[i], 64*odd), row)
		}
		for i, v := range vectors {
			c.VMOVUPS(at(queries[i], 64*odd), v)
		}
		for i, row := range rows {
			for j, v := range vectors {
				c.VFMADD231PS(row, v, sums[8*i+2*j+odd])
			}
		}
	}
	c.ADDQ(asm.Number(128), offset)
	c.SUBQ(asm.Number(32), k)
	c.JNZ(operand.LabelRef("loop"))

	storeQuarters(c, sumFour512(c, sums), dst, ldd)
	c.ADDQ(asm.Number(8), dst)
	c.LEAQ(asm.At(a[1], 0).Idx(ld, 1), a[0])
	c.SUBQ(asm.Number(2), asm.Parameter(c, "n"))
	c.JNZ(operand.LabelRef("rows"))
	asm.Return(c)
}

// sumFour512 returns a vector whose quarters begin with a query's two sums. They are added in the order of dotProduct:
// halves, even and odd vectors, quarters, pairs, elements.
func sumFour512(c *build.Context, sums []reg.VecPhysical) reg.VecPhysical {
	low, high := reg.Z16, reg.Z17
	// halves adds the halves of p to the lower half of p, and those of q to its upper half.
	halves := func(p, q reg.Register) {
		c.VSHUFF64X2(asm.Number(0x44), q, p, low)
		c.VSHUFF64X2(asm.Number(0xee), q, p, high)
		c.VADDPS(high, low, p)
	}
	// quarters adds the two quarters of each half of p to the lower half of p, and those of q to its upper half.
	quarters := func(p, q reg.Register) {
		c.VSHUFF32X4(asm.Number(0x88), q, p, low)
		c.VSHUFF32X4(asm.Number(0xdd), q, p, high)
		c.VADDPS(high, low, p)
	}
	for i := 0; i < 16; i += 4 {
		halves(sums[i], sums[i+2])
		halves(sums[i+1], sums[i+3])
	}
	for i := 0; i < 16; i += 4 {
		c.VADDPS(sums[i+1], sums[i], sums[i])
	}
	quarters(sums[0], sums[4])
	quarters(sums[8], sums[12])
	sum, t, zero := sums[1], sums[2], sums[3]
	c.VSHUFPS(asm.Number(0x44), sums[8], sums[0], sum)
	c.VSHUFPS(asm.Number(0xee), sums[8], sums[0], t)
	c.VADDPS(t, sum, sum)
	c.VMOVSHDUP(sum, t)
	c.VADDPS(t, sum, sum)
	asm.Zero(c, zero)
	c.VADDPS(zero, sum, sum) // turns a negative zero into 0
	c.VPERMILPS(asm.Number(0x08), sum, sum)
	return sum
}

// storeQuarters stores the first two elements of each quarter of a vector to rows of dst.
func storeQuarters(c *build.Context, v reg.VecPhysical, dst, pitch reg.Register) {
	quarters := []reg.Register{v.AsX()}
	for i, x := range asm.Vectors(16, 2, 5) {
		c.VEXTRACTF32X4(asm.Number(i+1), v, x)
		quarters = append(quarters, x)
	}
	rows := asm.NewRowPairs(c, dst, pitch)
	for i, x := range quarters {
		c.VMOVLPS(x, rows.At(i, 0))
	}
}

// columnsFour512 writes the addition of k rows of a, each times an element of x, to 256 bytes of y, for four x and y.
func columnsFour512(c *build.Context) {
	asm.Function(c, "columnsFour512")
	p := asm.Load(c, "y", "ldy", "x", "ldx", "a", "ld", "k")
	ldy, ldx, a, ld, k := p[1], p[3], p[4], p[5], p[6]
	asm.Bytes(c, 2, ldy, ld, ldx)
	y := asm.RowAddresses(c, p[0], ldy, 4)
	x := asm.NewRowPairs(c, p[2], ldx)
	sums, row, factor := asm.Vectors(64, 0, 16), asm.Vectors(64, 16, 20), reg.Z20
	for i, sum := range sums {
		c.VMOVUPS(asm.At(y[i/4], 64*(i%4)), sum)
	}
	ahead := prefetched(c, a, ld)
	asm.Loop(c, "step", k, func() {
		for i := range row {
			c.PREFETCHT0(asm.At(ahead, 64*i))
		}
		c.ADDQ(ld, ahead)
		for i, r := range row {
			c.VMOVUPS(asm.At(a, 64*i), r)
		}
		for query := range y {
			c.VBROADCASTSS(x.At(query, 0), factor)
			for i, r := range row {
				c.VFMADD231PS(r, factor, sums[4*query+i])
			}
		}
		c.ADDQ(asm.Number(4), x.First)
		c.ADDQ(asm.Number(4), x.Third)
		c.ADDQ(ld, a)
	})
	for i, sum := range sums {
		c.VMOVUPS(sum, asm.At(y[i/4], 64*(i%4)))
	}
	asm.Return(c)
}

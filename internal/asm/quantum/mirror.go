package quantum

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// mirror writes the transpose of a packed block, whose rows have 128 bytes, and adds the moments.
func mirror(c *build.Context, f asm.Float, k constants) {
	asm.Function(c, "mirrorAVX"+f.Name)
	p := asm.Load(c, "dst", "ld", "packed", "rows", "cols", "sums")
	dst, ld, packed, rows, cols, total := p[0], p[1], p[2], p[3], p[4], p[5]
	asm.Bytes(c, f.Log, ld)
	out := asm.NewRows(c, dst, ld)
	edge := 32 / f.Size
	var m mirrorMoments = &singleMoments{c: c, k: k, total: total}
	if f.Double {
		m = &doubleMoments{c: c, total: total}
	}
	m.begin()
	from, to, left := c.GP64(), c.GP64(), c.GP64()
	asm.Down(c, "columns", cols, edge, func() {
		m.beginColumns()
		c.MOVQ(packed, from)
		c.MOVQ(dst, to)
		c.MOVQ(rows, left)
		asm.Down(c, "block", left, edge, func() {
			row := func(row, offset int) operand.Mem { return asm.At(from, 128*row+offset) }
			v := loadBlock(c, f, row)
			m.add(v, row)
			storeTransposed(c, f, v, out.From(to))
			c.ADDQ(asm.Number(128*edge), from)
			c.ADDQ(operand.Imm(32), to)
		})
		m.endColumns()
		c.ADDQ(operand.Imm(32), packed)
		c.LEAQ(out.Next(edge), dst)
	})
	m.end()
	asm.Return(c)
}

// loadBlock loads the rows of a block of 8 by 8 float32 or 4 by 4 float64. The lower half of a register has half of a
// row, the upper half the same columns of the row that is 4 or 2 below it: so the transposes need no exchange of
// halves. The left halves of rows come first.
func loadBlock(c *build.Context, f asm.Float, row func(row, offset int) operand.Mem) []reg.VecVirtual {
	half := 16 / f.Size
	v := make([]reg.VecVirtual, 2*half)
	for i := range v {
		v[i] = c.YMM()
		m := row(i%half, 16*(i/half))
		c.Instruction(&ir.Instruction{ // it also clears the upper half, which avo does not know of c.VMOVUPS(m, v[i].AsX())
			Opcode: "VMOVUPS", Operands: []operand.Op{m, v[i].AsX()}, Inputs: []operand.Op{m}, Outputs: []operand.Op{v[i]},
		})
	}
	for i := range v {
		c.VINSERTF128(operand.Imm(1), row(i%half+half, 16*(i/half)), v[i], v[i])
	}
	return v
}

// storeTransposed stores the columns of a block that loadBlock has loaded as rows of out.
func storeTransposed(c *build.Context, f asm.Float, v []reg.VecVirtual, out asm.Rows) {
	if f.Double {
		storeInterleaved(c, v[0], v[1], out, 0)
		storeInterleaved(c, v[2], v[3], out, 2)
		return
	}
	lower := out.From(c.GP64())
	c.LEAQ(out.Next(4), lower.Base)
	for i, rows := range []asm.Rows{out, lower} {
		var low, high [2]reg.VecVirtual
		for k := range low {
			low[k], high[k] = c.YMM(), c.YMM()
			c.VUNPCKLPS(v[4*i+2*k+1], v[4*i+2*k], low[k])
			c.VUNPCKHPS(v[4*i+2*k+1], v[4*i+2*k], high[k])
		}
		storeInterleaved(c, low[0], low[1], rows, 0)
		storeInterleaved(c, high[0], high[1], rows, 2)
	}
}

// storeInterleaved stores the lower 8 bytes of the halves of two registers as one row, and the upper ones as the next.
func storeInterleaved(c *build.Context, a, b reg.Register, out asm.Rows, row int) {
	x, y := c.YMM(), c.YMM()
	c.VUNPCKLPD(b, a, x)
	c.VMOVUPD(x, out.At(row, 0))
	c.VUNPCKHPD(b, a, y)
	c.VMOVUPD(y, out.At(row+1, 0))
}

// mirrorMoments adds moments of blocks: begin, then for each panel of columns beginColumns, add for each block, and
// endColumns, then end.
type mirrorMoments interface {
	begin()
	beginColumns()
	add(block []reg.VecVirtual, row func(row, offset int) operand.Mem)
	endColumns()
	end()
}

// doubleMoments are sums of float64.
type doubleMoments struct {
	c             *build.Context
	total         reg.Register // the address of the sums of four lanes
	shift         reg.VecVirtual
	sums, squares []reg.VecVirtual
}

func (m *doubleMoments) begin() {
	m.shift = m.c.YMM()
	m.c.VBROADCASTSD(asm.Parameter(m.c, "shift"), m.shift)
	m.sums, m.squares = zeros(m.c, 2), zeros(m.c, 2)
}

func (m *doubleMoments) beginColumns() {}

func (m *doubleMoments) add(block []reg.VecVirtual, _ func(row, offset int) operand.Mem) {
	for i, v := range block {
		d, sum, square := m.c.YMM(), m.sums[i%2], m.squares[i%2]
		m.c.VSUBPD(m.shift, v, d)
		m.c.VADDPD(d, sum, sum)
		m.c.VFMADD231PD(d, d, square)
	}
}

func (m *doubleMoments) endColumns() {}

func (m *doubleMoments) end() {
	addTo(m.c, asm.At(m.total, 0), m.sums)
	addTo(m.c, asm.At(m.total, 32), m.squares)
}

// singleMoments are sums of float32.
//
// The sums of v are in float64, and the shift is subtracted at the end: differences in float32 lose entries far below
// the shift, always in the same direction. The transpose occupies one execution unit and leaves the others free. The
// squares are in float32 and are converted to float64 after all rows of a panel. They are squares of differences times
// 2^56, which neither underflow nor overflow.
type singleMoments struct {
	c       *build.Context
	k       constants
	total   reg.Register   // the address of the sums of four lanes
	shift   reg.VecVirtual // 2^56 shift, in float32
	sum     reg.VecVirtual
	squares []reg.VecVirtual
}

func (m *singleMoments) begin() {
	m.shift = zeros(m.c, 1)[0]
	m.c.VCVTSD2SS(asm.Parameter(m.c, "shift"), m.shift.AsX(), m.shift.AsX())
	m.c.VBROADCASTSS(m.shift.AsX(), m.shift)
	m.c.VMULPS(m.k.large, m.shift, m.shift)
	m.sum = zeros(m.c, 1)[0]
}

func (m *singleMoments) beginColumns() { m.squares = zeros(m.c, 3) }

func (m *singleMoments) add(block []reg.VecVirtual, row func(row, offset int) operand.Mem) {
	for i, v := range block {
		d := m.c.YMM()
		m.c.VMOVAPS(v, d)
		m.c.VFMSUB132PS(m.k.large, m.shift, d)
		m.c.VFMADD231PS(d, d, m.squares[i%3])
	}
	halves := [2]reg.VecVirtual{m.c.YMM(), m.c.YMM()} // the sums of the rows' left and right halves
	for r := range block {
		for i, half := range halves {
			if r == 0 {
				m.c.VCVTPS2PD(row(r, 16*i), half)
				continue
			}
			v := m.c.YMM()
			m.c.VCVTPS2PD(row(r, 16*i), v)
			m.c.VADDPD(v, half, half)
		}
	}
	m.c.VADDPD(halves[1], halves[0], halves[0])
	m.c.VADDPD(halves[0], m.sum, m.sum)
}

func (m *singleMoments) endColumns() {
	squares, low, high, small := m.squares[0], m.c.YMM(), m.c.YMM(), m.c.YMM()
	m.c.VADDPS(m.squares[1], squares, squares)
	m.c.VADDPS(m.squares[2], squares, squares)
	m.c.VCVTPS2PD(squares.AsX(), low)
	m.c.VEXTRACTF128(operand.Imm(1), squares, squares.AsX())
	m.c.VCVTPS2PD(squares.AsX(), high)
	m.c.VADDPD(high, low, low)
	m.c.VBROADCASTSD(m.k.small, small)
	m.c.VMULPD(small, low, low)
	m.c.VFMADD213PD(asm.At(m.total, 32), small, low)
	m.c.VMOVUPD(low, asm.At(m.total, 32))
}

// end subtracts from each lane's sum the shift for a fourth of the numbers.
func (m *singleMoments) end() {
	n, count, shift := m.c.GP64(), zeros(m.c, 1)[0], m.c.YMM()
	m.c.MOVQ(asm.Parameter(m.c, "rows"), n)
	m.c.IMULQ(asm.Parameter(m.c, "cols"), n)
	m.c.SHRQ(operand.Imm(2), n)
	m.c.VCVTSI2SDQ(n, count.AsX(), count.AsX())
	m.c.VBROADCASTSD(count.AsX(), count)
	m.c.VBROADCASTSD(asm.Parameter(m.c, "shift"), shift)
	m.c.VFNMADD231PD(shift, count, m.sum)
	addTo(m.c, asm.At(m.total, 0), []reg.VecVirtual{m.sum})
}

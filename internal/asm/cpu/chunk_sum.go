package cpu

import (
	"fmt"

	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A chunk is 8 rows of 128 lanes of 4 bytes, or of 64 lanes of 8 bytes: 512 bytes a row. Memory is fastest when it is read in
// order.
const chunkRow = 512

// summand is a type of elements that are added.
type summand struct {
	c          *build.Context
	bits       int
	add        func(operands ...operand.Op)
	neighbours func(b, a, d operand.Op) // horizontal addition
	permute    func(operands ...operand.Op)
	move       func(operands ...operand.Op) // of one element
}

func chunkSums(c *build.Context) {
	f32 := summand{c, 32, c.VADDPS, c.VHADDPS, c.VPERMT2PS, c.VMOVSS}
	f64 := summand{c, 64, c.VADDPD, c.VHADDPD, c.VPERMT2PD, c.VMOVSD}
	f32.chunkSum()
	f64.chunkSum()
	f32.rowSums()
	f64.rowSums()
	f32.chunkSum512()
	f64.chunkSum512()
}

// rows are 8 rows of elements.
type rows struct{ first, fifth, pitch, pitch3 reg.Register }

// newRows computes the addresses of the fifth row and three times the pitch in bytes.
func newRows(c *build.Context, first, pitch reg.Register) rows {
	r := rows{first, c.GP64(), pitch, c.GP64()}
	c.LEAQ(operand.Mem{Base: pitch, Index: pitch, Scale: 2}, r.pitch3)
	c.LEAQ(operand.Mem{Base: first, Index: pitch, Scale: 4}, r.fifth)
	return r
}

// sumRows returns the sum of 8 rows for the vector at the offset, added in pairs.
func (s summand) sumRows(r rows, offset int) vector {
	c := s.c
	at := func(base, index reg.Register, scale uint8) operand.Mem {
		return operand.Mem{Base: base, Disp: offset, Index: index, Scale: scale}
	}
	rows01, rows23, rows45, rows67 := c.YMM(), c.YMM(), c.YMM(), c.YMM()
	c.VMOVUPS(at(r.first, nil, 0), rows01)
	c.VMOVUPS(at(r.first, r.pitch, 2), rows23)
	s.add(at(r.first, r.pitch, 1), rows01, rows01)
	s.add(at(r.first, r.pitch3, 1), rows23, rows23)
	c.VMOVUPS(at(r.fifth, nil, 0), rows45)
	c.VMOVUPS(at(r.fifth, r.pitch, 2), rows67)
	s.add(at(r.fifth, r.pitch, 1), rows45, rows45)
	s.add(at(r.fifth, r.pitch3, 1), rows67, rows67)
	s.add(rows23, rows01, rows01)
	s.add(rows67, rows45, rows45)
	s.add(rows45, rows01, rows01)
	return rows01
}

// pairs returns the sums of neighbours in a and b, in order. It overwrites a.
func (s summand) pairs(a, b vector) vector {
	s.neighbours(b, a, a)
	s.c.VPERMPD(operand.Imm(0xd8), a, a)
	return a
}

// tree adds neighbours of vectors, a power of two of them, until one vector is left.
func tree(pairs func(a, b vector) vector, vectors []vector) vector {
	for ; len(vectors) > 1; vectors = vectors[:len(vectors)/2] {
		for i := range len(vectors) / 2 {
			vectors[i] = pairs(vectors[2*i], vectors[2*i+1])
		}
	}
	return vectors[0]
}

// store stores the sum of the elements of x, each the sum of neighbours, as the result.
func (s summand) store(x vector) {
	upper, lower := s.c.XMM(), x.AsX()
	s.c.VEXTRACTF128(operand.Imm(1), x.AsY(), upper)
	s.neighbours(upper, lower, lower)
	for elements := 128 / s.bits; elements > 1; elements /= 2 {
		s.neighbours(lower, lower, lower)
	}
	s.move(lower, asm.Result(s.c))
}

// chunkSum prefetches the chunk after the next, 8192 bytes ahead.
func (s summand) chunkSum() {
	c := s.c
	asm.Function(c, fmt.Sprintf("chunkSum%d", s.bits))
	x, pitch := asm.Load(c, "x")[0], c.GP64()
	c.MOVQ(operand.U32(chunkRow), pitch)
	r := newRows(c, x, pitch)
	var sums []vector
	for offset := 0; offset < chunkRow; offset += 64 {
		for line := 0; line < 512; line += 64 {
			c.PREFETCHT0(operand.Mem{Base: x, Disp: 8192 + 8*offset + line})
		}
		sums = append(sums, s.pairs(s.sumRows(r, offset), s.sumRows(r, offset+32)))
	}
	s.store(tree(s.pairs, sums))
	asm.Return(c)
}

func (s summand) rowSums() {
	c := s.c
	asm.Function(c, fmt.Sprintf("rowSums%d", s.bits))
	p := asm.Load(c, "dst", "x", "pitch", "n")
	dst, x, pitch, n := p[0], p[1], p[2], p[3]
	r := newRows(c, x, pitch)
	asm.Countdown(c, n, uint64(256/s.bits), func() {
		c.VMOVUPS(s.sumRows(r, 0), operand.Mem{Base: dst})
		c.ADDQ(operand.Imm(32), r.first)
		c.ADDQ(operand.Imm(32), r.fifth)
		c.ADDQ(operand.Imm(32), dst)
	})
	asm.Return(c)
}

// chunkSum512 uses all 32 registers: 8 for a row, and three such rows of partial sums.
func (s summand) chunkSum512() {
	c := s.c
	asm.Function(c, fmt.Sprintf("chunkSum512x%d", s.bits))
	x := asm.Load(c, "x")[0]
	permutations := asm.Variable(c, fmt.Sprintf("neighbours%d", s.bits))
	lower, middle := s.sumPair(x, 0), s.sumPair(x, 2)
	s.addRows(middle, lower)
	middle = s.sumPair(x, 4)
	s.addRows(s.sumPair(x, 6), middle)
	s.addRows(middle, lower)

	evens, odds, scratch := c.ZMM(), c.ZMM(), c.ZMM()
	c.VMOVUPS(operand.Mem{Base: permutations}, evens)
	c.VMOVUPS(operand.Mem{Base: permutations, Disp: 64}, odds)
	sum := tree(func(a, b vector) vector {
		c.VMOVAPD(a, scratch)
		s.permute(b, evens, a)
		s.permute(b, odds, scratch)
		s.add(scratch, a, a)
		return a
	}, lower)
	upper := c.YMM()
	c.VEXTRACTF64X4(operand.Imm(1), sum, upper)
	s.neighbours(upper, sum.AsY(), sum.AsY())
	c.VPERMPD(operand.Imm(0xd8), sum.AsY(), sum.AsY())
	s.store(sum)
	asm.Return(c)
}

// sumPair returns the sum of rows k and k+1.
func (s summand) sumPair(x reg.Register, k int) []vector {
	var sums []vector
	for offset := 0; offset < chunkRow; offset += 64 {
		sum := s.c.ZMM()
		s.c.VMOVUPS(operand.Mem{Base: x, Disp: chunkRow*k + offset}, sum)
		sums = append(sums, sum)
	}
	for i, sum := range sums {
		s.add(operand.Mem{Base: x, Disp: chunkRow*(k+1) + 64*i}, sum, sum)
	}
	return sums
}

// addRows adds row x to row sum.
func (s summand) addRows(x, sum []vector) {
	for i := range sum {
		s.add(x[i], sum[i], sum[i])
	}
}

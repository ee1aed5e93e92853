package cpu

import (
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
	*build.Context
	asm.Float
	addPairs func(b, a, d operand.Op) // horizontal addition
	permute  func(operands ...operand.Op)
}

func chunkSums(c *build.Context) {
	f32 := summand{c, asm.Float32, c.VHADDPS, c.VPERMT2PS}
	f64 := summand{c, asm.Float64, c.VHADDPD, c.VPERMT2PD}
	f32.chunkSum()
	f64.chunkSum()
	f32.rowSums()
	f64.rowSums()
	for _, f := range []summand{f32, f64} {
		asm.Function(c, "chunkSum512x"+f.Name)
		f.chunkSum512(f.elements(asm.Load(c, "x")[0]))
	}
	for _, f := range []summand{f32, f64} {
		f.chunkProducts()
		asm.Function(c, "chunkProducts512x"+f.Name)
		p := asm.Load(c, "x", "y")
		f.chunkSum512(f.products(p[0], p[1]))
	}
}

// terms loads the vector at an offset in row k of a chunk's terms, or adds it to sum.
type terms struct{ load, add func(k, offset int, v vector) }

// elements returns the terms at x.
func (s summand) elements(x reg.Register) terms {
	at := func(k, offset int) operand.Mem { return asm.At(x, chunkRow*k+offset) }
	return terms{
		load: func(k, offset int, v vector) { s.VMOVUPS(at(k, offset), v) },
		add:  func(k, offset int, v vector) { s.Add(s.Context, at(k, offset), v, v) },
	}
}

// products returns the products of the elements at x and y, rounded.
func (s summand) products(x, y reg.Register) terms {
	load := func(k, offset int, v vector) {
		s.VMOVUPS(asm.At(x, chunkRow*k+offset), v)
		s.Mul(s.Context, asm.At(y, chunkRow*k+offset), v, v)
	}
	return terms{load: load, add: func(k, offset int, v vector) {
		product := s.YMM()
		if v.Size() == 64 {
			product = s.ZMM()
		}
		load(k, offset, product)
		s.Add(s.Context, product, v, v)
	}}
}

// chunkProducts writes the function that adds the products of two chunks, element by element, in the order of chunkSum.
func (s summand) chunkProducts() {
	c := s.Context
	asm.Function(c, "chunkProducts"+s.Name)
	p := asm.Load(c, "x", "y")
	t := s.products(p[0], p[1])
	pair := func(k, offset int) vector { // sums two rows
		v := c.YMM()
		t.load(k, offset, v)
		t.add(k+1, offset, v)
		return v
	}
	four := func(k, offset int) vector {
		v := pair(k, offset)
		s.Add(c, pair(k+2, offset), v, v)
		return v
	}
	rows := func(offset int) vector {
		v := four(0, offset)
		s.Add(c, four(4, offset), v, v)
		return v
	}
	var sums []vector
	for offset := 0; offset < chunkRow; offset += 64 {
		for line := 0; line < 512; line += 64 {
			c.PREFETCHT0(asm.At(p[0], 4096+8*offset+line))
			c.PREFETCHT0(asm.At(p[1], 4096+8*offset+line))
		}
		sums = append(sums, s.pairs(rows(offset), rows(offset+32)))
	}
	s.store(tree(s.pairs, sums))
	asm.Return(c)
}

// eightRows returns rows 0 to 3, which are at x, rows 4 to 7, and the address of row 4.
func (s summand) eightRows(x, pitch reg.Register) (lower, upper asm.Rows, fifth reg.Register) {
	lower, fifth = asm.NewRows(s.Context, x, pitch), s.GP64()
	s.LEAQ(lower.Next(4), fifth)
	return lower, lower.From(fifth), fifth
}

// sumFour returns row 0 + row 1 and row 2 + row 3 for the vector at the offset.
func (s summand) sumFour(rows asm.Rows, offset int) (rows01, rows23 vector) {
	rows01, rows23 = s.YMM(), s.YMM()
	s.VMOVUPS(rows.At(0, offset), rows01)
	s.VMOVUPS(rows.At(2, offset), rows23)
	s.Add(s.Context, rows.At(1, offset), rows01, rows01)
	s.Add(s.Context, rows.At(3, offset), rows23, rows23)
	return rows01, rows23
}

// sumRows returns the sum of 8 rows for the vector at the offset, added in pairs.
func (s summand) sumRows(lower, upper asm.Rows, offset int) vector {
	rows01, rows23 := s.sumFour(lower, offset)
	rows45, rows67 := s.sumFour(upper, offset)
	s.Add(s.Context, rows23, rows01, rows01)
	s.Add(s.Context, rows67, rows45, rows45)
	s.Add(s.Context, rows45, rows01, rows01)
	return rows01
}

// pairs returns the sums of neighbours in a and b, in order. It overwrites a.
func (s summand) pairs(a, b vector) vector {
	s.addPairs(b, a, a)
	s.VPERMPD(operand.Imm(0xd8), a, a)
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
	upper, lower := s.XMM(), x.AsX()
	s.VEXTRACTF128(operand.Imm(1), x.AsY(), upper)
	s.addPairs(upper, lower, lower)
	for elements := 16 / s.Size; elements > 1; elements /= 2 {
		s.addPairs(lower, lower, lower)
	}
	s.MoveOne(s.Context, lower, asm.Result(s.Context))
}

// chunkSum writes the function that adds the elements of a chunk. It prefetches the chunk after the next, 8192 bytes ahead.
func (s summand) chunkSum() {
	c := s.Context
	asm.Function(c, "chunkSum"+s.Name)
	x, pitch := asm.Load(c, "x")[0], c.GP64()
	c.MOVQ(operand.U32(chunkRow), pitch)
	lower, upper, _ := s.eightRows(x, pitch)
	var sums []vector
	for offset := 0; offset < chunkRow; offset += 64 {
		for line := 0; line < 512; line += 64 {
			c.PREFETCHT0(asm.At(x, 8192+8*offset+line))
		}
		sums = append(sums, s.pairs(s.sumRows(lower, upper, offset), s.sumRows(lower, upper, offset+32)))
	}
	s.store(tree(s.pairs, sums))
	asm.Return(c)
}

func (s summand) rowSums() {
	c := s.Context
	asm.Function(c, "rowSums"+s.Name)
	p := asm.Load(c, "dst", "x", "pitch", "n")
	dst, x, pitch, n := p[0], p[1], p[2], p[3]
	lower, upper, fifth := s.eightRows(x, pitch)
	asm.Countdown(c, n, 32/s.Size, func() {
		c.VMOVUPS(s.sumRows(lower, upper, 0), asm.At(dst, 0))
		c.ADDQ(operand.Imm(32), x)
		c.ADDQ(operand.Imm(32), fifth)
		c.ADDQ(operand.Imm(32), dst)
	})
	asm.Return(c)
}

// chunkSum512 uses all 32 registers: 8 for a row, and three such rows of partial sums.
func (s summand) chunkSum512(t terms) {
	c := s.Context
	permutations := asm.Variable(c, "neighbours"+s.Name)
	lower, middle := s.sumPair(t, 0), s.sumPair(t, 2)
	s.addRows(middle, lower)
	middle = s.sumPair(t, 4)
	s.addRows(s.sumPair(t, 6), middle)
	s.addRows(middle, lower)

	evens, odds, scratch := c.ZMM(), c.ZMM(), c.ZMM()
	c.VMOVUPS(asm.At(permutations, 0), evens)
	c.VMOVUPS(asm.At(permutations, 64), odds)
	sum := tree(func(a, b vector) vector {
		c.VMOVAPD(a, scratch)
		s.permute(b, evens, a)
		s.permute(b, odds, scratch)
		s.Add(s.Context, scratch, a, a)
		return a
	}, lower)
	upper := c.YMM()
	c.VEXTRACTF64X4(operand.Imm(1), sum, upper)
	s.addPairs(upper, sum.AsY(), sum.AsY())
	c.VPERMPD(operand.Imm(0xd8), sum.AsY(), sum.AsY())
	s.store(sum)
	asm.Return(c)
}

// sumPair returns the sum of rows k and k+1.
func (s summand) sumPair(t terms, k int) []vector {
	var sums []vector
	for offset := 0; offset < chunkRow; offset += 64 {
		sum := s.ZMM()
		t.load(k, offset, sum)
		sums = append(sums, sum)
	}
	for i, sum := range sums {
		t.add(k+1, 64*i, sum)
	}
	return sums
}

// addRows adds row x to row sum.
func (s summand) addRows(x, sum []vector) {
	for i := range sum {
		s.Add(s.Context, x[i], sum[i], sum[i])
	}
}

package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/operand"
)

// Rows of logTable64; the rests are in the next one.
const (
	logInverse = 0
	logBinary  = 1
	logDecimal = 3
)

// logEntry returns n, z and the entry of the variable of 2^bits entries a row. The constants of its range have names that begin
// with the given one.
func (v smooth64) logEntry(x vector, variable, name string, bits int) (n, z vector, e entry) {
	b := v.addInt(x, v.k(name+"Split"))
	n = v.sub(v.or(v.shiftRight(b, 52), v.k("two52")), v.k("unbias"))
	mantissa := v.and(b, v.k("mantissa"))
	return n, v.addInt(mantissa, v.k(name+"From")), v.entry(variable, v.shiftRight(mantissa, uint64(52-bits)), bits)
}

// logTo is for positive finite normal numbers. The constants of the base have names that begin with its name.
func (v smooth64) logTo(x vector, base string, row int) vector {
	v.outUnlessBoth(condition{greaterEqual, "normal"}, condition{less, "inf"}, x)
	n, r, entry := v.logEntry(x, "logTable64", "log", 4)
	v.fma213(r, entry.row(logInverse), v.k("minusOne"))
	a := entry.row(row)
	v.plusProduct(a, n, v.k(base+"Two"))
	p, rest := v.product(r, v.load(v.k(base+"E")))
	v.plusProduct(rest, r, v.k(base+"ELow"))
	sum := v.add(a, p)
	low := v.add(v.sub(a, sum), p)
	n1 := entry.row(row + 1)
	v.plusProduct(n1, n, v.k(base+"TwoLow"))
	low = v.add(low, v.add(rest, n1))
	square := v.mul(r, r)
	v.plusProduct(low, square, v.estrin(base, 9, r))
	return v.add(sum, low)
}

func (v smooth64) log2(x vector) vector { return v.logTo(x, "binary", logBinary) }

func (v smooth64) log10(x vector) vector { return v.logTo(x, "decimal", logDecimal) }

// logSum returns the natural logarithm of a positive finite normal number as a sum of two numbers.
func (v smooth64) logSum(x vector) (high, low vector) {
	n, r, entry := v.logEntry(x, "powTable64", "pow", 5)
	v.fma213(r, entry.row(0), v.k("minusOne"))
	a := entry.row(1)
	v.plusProduct(a, n, v.k("ln2High"))
	sum := v.add(a, r)
	rest := v.add(v.sub(a, sum), r)
	h, h1 := v.product(v.mul(r, v.k("minusHalf")), r)
	high = v.add(sum, h)
	rest = v.add(rest, v.add(v.sub(sum, high), h))
	n1 := entry.row(2)
	v.plusProduct(n1, n, v.k("ln2Low"))
	rest = v.add(rest, v.add(h1, n1))
	cube := v.mul(v.mul(r, r), r)
	v.plusProduct(rest, cube, v.estrin("powLog", 8, r))
	sum = v.add(high, rest)
	return sum, v.add(v.sub(high, sum), rest)
}

// entry finds the entries of a table whose rows have 2^bits float64, 16 or 32.
type entry struct {
	floats
	table operand.Mem
	index vector
	bits  int
	upper operand.Op // the mask of indices from 16 on, if wide
}

// entry returns the entries of a Go variable at the given indices.
func (v floats) entry(variable string, index vector, bits int) entry {
	e := entry{v, asm.At(asm.Variable(v.c, variable), 0), index, bits, nil}
	if v.wide && bits == 5 {
		e.upper = v.signs(v.shiftLeft(index, 59))
	}
	return e
}

// row returns the entries' numbers in a row.
func (e entry) row(i int) vector {
	from := e.table.Offset(8 * i << e.bits)
	if e.wide {
		d := e.of16(from)
		if e.upper != nil {
			d = e.blend(e.upper, e.of16(from.Offset(128)), d)
		}
		return d
	}
	d, all := e.zero(), e.register()
	e.c.VPCMPEQD(all, all, all)
	e.c.VGATHERQPD(all, from.Idx(e.index, 8), d)
	return d
}

// of16 returns those of 16 float64 that the lower 4 bits of the indices select.
func (e entry) of16(from operand.Mem) vector {
	d, low := e.copy(e.index), e.register()
	e.c.VMOVUPD(from, low)
	e.c.VPERMI2PD(from.Offset(64), low, d)
	return d
}

package cpu

import "github.com/mmcloughlin/avo/operand"

// remainder is for a quotient x/y whose absolute value is below 2^52, and a finite y. Elsewhere it gives NaN.
func (v smooth64) remainder(x, y vector) vector {
	q, r := v.mod(x, y)
	rest := v.blend(v.signs(v.xor(r, y)), v.add(r, y), r)
	rest = v.choose(condition{unequal, "zero"}, r, rest, v.and(y, v.k("sign")))
	return v.choose(condition{less, "two52"}, v.and(q, v.k("abs")), rest, v.load(v.k("nan")))
}

// floorDivide is for the same operands as remainder, and for others gives NaN too.
func (v smooth64) floorDivide(x, y vector) vector {
	q, r := v.mod(x, y)
	z := v.div(v.sub(x, r), y)
	below := v.all([]operand.Op{v.compare(condition{unequal, "zero"}, r), v.signs(v.xor(r, y))})
	z = v.blend(below, v.sub(z, v.k("one")), z)
	n := v.round(z, 0b1001) // down
	n = v.choose(condition{greater, "half"}, v.sub(z, n), v.add(n, v.k("one")), n)
	n = v.choose(condition{equal, "zero"}, z, v.and(q, v.k("sign")), n)
	return v.choose(condition{less, "two52"}, v.and(q, v.k("abs")), n, v.load(v.k("nan")))
}

// mod also returns the truncated quotient, which has the sign of x/y.
func (v smooth64) mod(x, y vector) (q, r vector) {
	q = v.round(v.div(x, y), 0b1011) // towards zero
	r = v.copy(x)
	v.lessProduct(r, q, y)
	past := v.all([]operand.Op{v.compare(condition{unequal, "zero"}, r), v.signs(v.xor(r, x))})
	return q, v.blend(past, v.add(r, v.copySign(y, x)), r)
}

// round rounds to integers in a mode of VROUNDPD.
func (v smooth64) round(x vector, mode uint64) vector {
	t := v.register()
	if v.wide {
		v.c.VRNDSCALEPD(operand.Imm(mode), x, t)
	} else {
		v.c.VROUNDPD(operand.Imm(mode), x, t)
	}
	return t
}

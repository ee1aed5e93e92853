package gpktest

import (
	"fmt"
	"math"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/ops"
)

// A rounding describes the error of a product of one variety, in the model of Higham,
// Accuracy and Stability of Numerical Algorithms, 2nd edition, section 3.5. With u the
// unit roundoff of each addition and n additions in any order,
//
// |fl(AB) - AB| <= g(n) |A||B|,  g(n) = n u / (1 - n u),
//
// element by element. If each operand is rounded first, by at most a relative r, this
// adds (2r + r^2) |A||B|. The result is rounded once more when it is stored: by at most
// half the distance between two neighbours in its type. A complex product is a sum of
// twice as many real terms, and the error of its two parts together is larger by the root
// of 2.
type rounding struct {
	operand float64 // r
	dropped float64 // error of products that are never computed, as a fraction of |A||B|
	unit    float64 // u
	// A tensor core adds the products of an instruction, 4 of them or more, to
	// the accumulator at once and cuts each at the last place of the largest:
	// its u is a whole unit in the last place, its n five for four.
	tensor bool
}

// rounding returns the error model of v on a kind of device. The CPU computes float32
// products in IEEE arithmetic whatever the precision.
func (v variety) rounding(kind device.Kind) rounding {
	r := rounding{unit: 0x1p-24}
	switch {
	case v.in == gpk.Float64 || v.in == gpk.Complex128:
		r.unit = 0x1p-53 // IEEE on the tensor cores too
	case kind == device.CPU || len(v.opts) == 0: // IEEE, or integers, which are compared exactly
	case v.in.IsHalf(): // their products are exact in float32
		r.unit, r.tensor = 0x1p-23, true
	case v.opts[0] == gpk.TF32: // 11 significant bits
		r = rounding{operand: 0x1p-11, unit: 0x1p-23, tensor: true}
	default:
		// Plain float32; or operands that are split into two pieces of 11 bits, without
		// the product of the two smaller pieces.
		r = rounding{operand: 0x1p-22, dropped: 0x1p-22, unit: 0x1p-23, tensor: true}
	}
	return r
}

// factor returns the largest |d| / (|A||B|) of a product of depth k before it is stored.
// It includes the error of the float64 reference.
func (r rounding) factor(k int, complex bool) float64 {
	n, times := float64(k), 1.0
	if complex {
		n, times = 2*n, math.Sqrt2
	}
	cuts := n
	if r.tensor {
		cuts = n + math.Ceil(n/4)
	}
	g := func(n, u float64) float64 { return n * u / (1 - n*u) }
	in := 2*r.operand + r.operand*r.operand + r.dropped
	return times * (in + (1+in)*g(cuts, r.unit) + g(n, 0x1p-53))
}

// spacing returns the distance between two neighbouring numbers of a type at the
// magnitude |x|.
func spacing(dt gpk.DType, x float64) float64 {
	p, lowest := 53, -1022
	switch dt {
	case gpk.Float32, gpk.Complex64:
		p, lowest = 24, -126
	case gpk.Float16:
		p, lowest = 11, -14
	case gpk.BFloat16:
		p, lowest = 8, -126
	}
	_, e := math.Frexp(x)
	if x == 0 {
		e = lowest
	}
	return math.Ldexp(1, max(e-1, lowest)-p+1)
}

// An epilogue follows a product: it adds bias[j] to column j, then applies op.
type epilogue struct {
	bias []complex128 // nil: none
	op   expr.Op      // None: no activation
}

// before returns the argument of the activation: v with the bias of column j.
func (e epilogue) before(v complex128, j int) complex128 {
	if e.bias != nil {
		v += e.bias[j]
	}
	return v
}

func (e epilogue) after(v complex128) complex128 {
	if e.op != expr.None {
		v = ops.Lookup(e.op).Reference(v, 0)
	}
	return v
}

// A comparison collects rows of a product and the rows of the reference.
type comparison struct {
	rounding
	epilogue
	out gpk.DType
	k   int

	n               int
	independent     int // number of independent errors, at most n
	diff2, norm2    float64
	expected2       float64 // the square of the norm that random signs would give
	worst           float64 // largest |d| over its bound
	gotAt, wantedAt complex128
	at              int
}

// row adds a row of results: product is the reference before the epilogue,
// scale the row of |A||B|.
func (c *comparison) row(got, product []complex128, scale []float64) {
	factor := c.factor(c.k, c.out.IsComplex())
	// An activation passes errors of its argument on, at most 1.13-fold (GELU's
	// steepest slope), and is itself evaluated in float32 or better for float32
	// results, to a sixteenth of the last place for 16-bit ones.
	slope, evaluation, parts := 1.0, 0.0, 0.5
	switch c.op {
	case expr.None, expr.ReLU:
	default:
		slope = 1.13
		switch c.out {
		case gpk.Float32:
			evaluation = 8 * 0x1p-24
		case gpk.Float64:
			evaluation = 16 * 0x1p-53
		default:
			evaluation = spacing(c.out, 1) / 64
		}
	}
	if c.out.IsComplex() {
		parts = math.Sqrt2 / 2
	}
	for j, v := range product {
		x := c.before(v, j)
		want := c.after(x)
		bound := factor * scale[j]
		if c.bias != nil {
			bound += c.unit * (modulus(x) + bound)
		}
		bound = slope*bound + evaluation*modulus(x)
		bound += parts * spacing(c.out, modulus(want)+bound)
		d := got[j] - want
		c.diff2 += sqr(d)
		c.norm2 += sqr(want)
		if d == 0 {
			continue
		}
		if q := modulus(d) / bound; !(q <= c.worst) && !math.IsNaN(c.worst) {
			c.worst, c.at, c.gotAt, c.wantedAt = q, c.n+j, got[j], want
		}
	}
	c.n += len(product)
}

func modulus(x complex128) float64 { return math.Hypot(real(x), imag(x)) }

// relative returns |d| / |C| in the Frobenius norm; 0 if nothing differs.
func (c *comparison) relative() float64 {
	if c.diff2 == 0 {
		return 0
	}
	return math.Sqrt(c.diff2 / c.norm2)
}

// largeSample is the number of elements from which the relative error is steady: the root
// of a sum of 10,000 squares scatters by less than a hundredth.
const largeSample = 10_000

// err returns an error if the results are wrong. Every element must be within its own
// bound. The relative Frobenius error of a large sample must be within the variety's. The
// norm of a small sample scatters, and its product may cancel; so it is compared, besides
// the elements' bounds, with the larger of itself and of the norm that random signs would
// give, with room for four standard deviations. The size of a sample is its number of
// independent errors: if operands are rounded, the results of a 4095 x 1 matrix times two
// numbers share the errors of these two.
func (c *comparison) err(bound float64) error {
	if !(c.worst <= 1) {
		return fmt.Errorf("element %d of the sample is %v, want %v: %.3g times what rounding explains", c.at, c.gotAt, c.wantedAt, c.worst)
	}
	switch e := c.relative(); {
	case c.independent >= largeSample:
		if !(e <= bound) {
			return fmt.Errorf("relative error %.3g of %d elements, bound %.3g", e, c.n, bound)
		}
	case c.independent > 0 && c.diff2 > 0:
		room := bound * (1 + 4/math.Sqrt(float64(c.independent)))
		if e := math.Sqrt(c.diff2 / max(c.norm2, c.expected2)); !(e <= room) {
			return fmt.Errorf("error %.3g of %d elements, bound %.3g", e, c.n, room)
		}
	}
	return nil
}

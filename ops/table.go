package ops

import (
	"fmt"
	"math"
	"math/cmplx"
	"slices"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// Kind is the shape rule of an operation.
type Kind uint8

// The shape rules.
const (
	Unary     Kind = iota // element by element
	Binary                // element by element, operands broadcast
	Reduction             // over axes, which the result lacks
	Ternary               // element by element, operands broadcast
	Line                  // along one axis
	Order                 // along one axis, by size
	Move                  // elements to other places
)

var kindNames = [...]string{Unary: "unary", Binary: "binary", Reduction: "reduction", Ternary: "ternary", Line: "along an axis", Order: "in order", Move: "to other places"}

// String returns the rule in a word or three.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Row is what gpk knows of one operation. Methods, dispatch, the conformance
// suite and the documentation read it.
type Row struct {
	Op        expr.Op
	Kind      Kind
	Types     []dtype.DType // operand types with a meaning; others are dtype.ErrDType
	Result    func(dtype.DType) dtype.DType
	Reference func(x, y complex128) complex128 // exact but for float64 rounding; nil where more than two elements count. y is 0 for unary ones
	Doc       string
}

var (
	floats    = []dtype.DType{dtype.Float32, dtype.Float64, dtype.Float16, dtype.BFloat16}
	complexes = []dtype.DType{dtype.Complex64, dtype.Complex128}
	integers  = []dtype.DType{dtype.Int8, dtype.Uint8, dtype.Int32, dtype.Int64}
	reals     = join(floats, integers)
	fields    = join(floats, complexes)
	numbers   = join(reals, complexes)
	everyone  = join(numbers, []dtype.DType{dtype.Bool})
	ordered   = join(reals, []dtype.DType{dtype.Bool})
	bits      = join(integers, []dtype.DType{dtype.Bool})
)

func join(lists ...[]dtype.DType) []dtype.DType {
	var out []dtype.DType
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

func same(d dtype.DType) dtype.DType { return d }

func realPart(d dtype.DType) dtype.DType { return d.Real() }

func truth(dtype.DType) dtype.DType { return dtype.Bool }

func number(dtype.DType) dtype.DType { return dtype.Int64 }

// SumType is the type of a sum: Int64 for integers and Bool, else the type
// of the elements.
func SumType(d dtype.DType) dtype.DType {
	if d.IsInteger() || d == dtype.Bool {
		return dtype.Int64
	}
	return d
}

// Table lists every operation once.
var Table = []Row{
	{expr.Neg, Unary, numbers, same, func(x, _ complex128) complex128 { return -x }, "-x; integers wrap"},
	{expr.Conj, Unary, everyone, same, func(x, _ complex128) complex128 { return complex(real(x), -imag(x)) }, "the complex conjugate; real types are unchanged"},
	{expr.Not, Unary, bits, same, nil, "the bits of an integer the other way; of Bool, what is not true"},
	{expr.Abs, Unary, numbers, realPart, func(x, _ complex128) complex128 { return complex(cmplx.Abs(x), 0) }, "the absolute value, of complex numbers the modulus, which is real; the least integer wraps"},
	{expr.Sign, Unary, reals, same, refSign, "-1, 0 or 1; NaN stays NaN"},
	{expr.Square, Unary, numbers, same, func(x, _ complex128) complex128 { return x * x }, "x x; integers wrap"},
	{expr.Sqrt, Unary, fields, same, refSqrt, "the square root, NaN below 0; of complex numbers the one to the right"},
	{expr.Rsqrt, Unary, floats, same, refReal(func(x float64) float64 { return 1 / math.Sqrt(x) }), "1 / sqrt(x), rounded once"},
	{expr.Exp, Unary, fields, same, refExp, "e^x"},
	{expr.Expm1, Unary, floats, same, refReal(math.Expm1), "e^x - 1, also where x is small"},
	{expr.Log, Unary, floats, same, refReal(refLog), "the natural logarithm"},
	{expr.Log1p, Unary, floats, same, refReal(math.Log1p), "log(1 + x), also where x is small"},
	{expr.Sin, Unary, floats, same, refReal(math.Sin), "the sine of any x, in radians"},
	{expr.Cos, Unary, floats, same, refReal(math.Cos), "the cosine of any x, in radians"},
	{expr.Tanh, Unary, floats, same, refReal(math.Tanh), "the hyperbolic tangent"},
	{expr.Erf, Unary, floats, same, refReal(math.Erf), "the error function"},
	{expr.Sigmoid, Unary, floats, same, refSigmoid, "1 / (1 + e^-x)"},
	{expr.ReLU, Unary, reals, same, refReLU, "max(x, 0); NaN stays NaN"},
	{expr.GELU, Unary, floats, same, refGELU, "x/2 (1 + erf(x/sqrt 2)) (Hendrycks and Gimpel, arXiv 1606.08415)"},
	{expr.GELUTanh, Unary, floats, same, refGELUTanh, "x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) (arXiv 1606.08415)"},
	{expr.SiLU, Unary, floats, same, refSiLU, "x / (1 + exp(-x))"},
	{expr.Floor, Unary, reals, same, refReal(math.Floor), "the greatest integer not above x"},
	{expr.Ceil, Unary, reals, same, refReal(math.Ceil), "the least integer not below x"},
	{expr.Round, Unary, reals, same, refReal(math.RoundToEven), "the nearest integer, halves to even"},
	{expr.Real, Unary, everyone, realPart, func(x, _ complex128) complex128 { return complex(real(x), 0) }, "the real part; real types are unchanged"},
	{expr.Imag, Unary, everyone, realPart, func(x, _ complex128) complex128 { return complex(imag(x), 0) }, "the imaginary part; of real types 0"},
	{expr.AbsSquare, Unary, numbers, realPart, func(x, _ complex128) complex128 { return complex(real(x)*real(x)+imag(x)*imag(x), 0) }, "|x|^2, which is real; integers wrap"},

	{expr.Add, Binary, numbers, same, func(x, y complex128) complex128 { return x + y }, "x + y; integers wrap"},
	{expr.Sub, Binary, numbers, same, func(x, y complex128) complex128 { return x - y }, "x - y; integers wrap"},
	{expr.Mul, Binary, numbers, same, func(x, y complex128) complex128 { return x * y }, "x y; integers wrap"},
	{expr.Div, Binary, fields, same, func(x, y complex128) complex128 { return x / y }, "x / y; not for integers"},
	{expr.Pow, Binary, reals, same, refPow, "x^y; integers wrap, and a negative power of one is the integer part of the fraction"},
	{expr.Maximum, Binary, ordered, same, refMaximum, "the larger, NaN where one is; true is larger than false"},
	{expr.Minimum, Binary, ordered, same, refMinimum, "the smaller, NaN where one is"},
	{expr.Eq, Binary, everyone, truth, refTruth(func(x, y complex128) bool { return x == y }), "x = y; NaN equals nothing"},
	{expr.Ne, Binary, everyone, truth, refTruth(func(x, y complex128) bool { return x != y }), "not x = y"},
	{expr.Lt, Binary, ordered, truth, refTruth(func(x, y complex128) bool { return real(x) < real(y) }), "x < y"},
	{expr.Le, Binary, ordered, truth, refTruth(func(x, y complex128) bool { return real(x) <= real(y) }), "x <= y"},
	{expr.Gt, Binary, ordered, truth, refTruth(func(x, y complex128) bool { return real(x) > real(y) }), "x > y"},
	{expr.Ge, Binary, ordered, truth, refTruth(func(x, y complex128) bool { return real(x) >= real(y) }), "x >= y"},
	{expr.And, Binary, bits, same, nil, "of the bits of integers, of Bool"},
	{expr.Or, Binary, bits, same, nil, "of the bits of integers, of Bool"},
	{expr.Xor, Binary, bits, same, nil, "of the bits of integers, of Bool"},
	{expr.Shl, Binary, integers, same, nil, "x shifted by y bits to the left; 0 from the type's width on, and where y is negative"},
	{expr.Shr, Binary, integers, same, nil, "x shifted by y bits to the right, with its sign; from the type's width on, and where y is negative, 0 or -1"},

	{expr.Where, Ternary, everyone, same, nil, "x where the condition, Bool, is true, else y"},
	{expr.Clamp, Ternary, reals, same, nil, "min(max(x, lo), hi), NaN where one is"},

	{expr.Sum, Reduction, everyone, SumType, nil, "the sum over axes; halves accumulate in float32, integers and Bool in int64"},
	{expr.Mean, Reduction, fields, same, nil, "the sum over the number of elements; of none NaN"},
	{expr.Max, Reduction, ordered, same, nil, "the largest element, NaN where one is; there must be one"},
	{expr.Min, Reduction, ordered, same, nil, "the smallest element, NaN where one is; there must be one"},
	{expr.Prod, Reduction, everyone, SumType, nil, "the product over axes; float32 and halves accumulate in float64, integers and Bool in int64"},
	{expr.Var, Reduction, fields, realPart, nil, "the mean of |x - mean|^2; of none NaN"},
	{expr.Any, Reduction, everyone, truth, nil, "whether an element is not 0; NaN is not"},
	{expr.All, Reduction, everyone, truth, nil, "whether no element is 0"},
	{expr.ArgMax, Reduction, ordered, number, nil, "the place of the first of the largest elements along an axis, or of the first NaN"},
	{expr.ArgMin, Reduction, ordered, number, nil, "the place of the first of the smallest elements along an axis, or of the first NaN"},

	{expr.CumSum, Line, everyone, SumType, nil, "the sums up to each place; integers and Bool accumulate in int64"},
	{expr.Softmax, Line, floats, same, nil, "e^(x-m) / sum e^(x-m), m the largest"},
	{expr.LogSoftmax, Line, floats, same, nil, "x - m - log(sum e^(x-m)), m the largest"},
	{expr.LayerNorm, Line, floats, same, nil, "(x - mean) / sqrt(var + eps) gamma + beta, along the last axis (Ba, Kiros and Hinton, arXiv 1607.06450)"},
	{expr.RMSNorm, Line, floats, same, nil, "x / sqrt(mean x^2 + eps) gamma, along the last axis (Zhang and Sennrich, arXiv 1910.07467)"},
	{expr.Sort, Order, ordered, same, nil, "the elements in rising or falling order; NaN is the largest, -0 below 0"},
	{expr.TopK, Order, ordered, same, nil, "the k largest elements in falling order, and their places, int64; NaN is the largest, of equal elements the first comes first"},

	{expr.Take, Move, everyone, same, nil, "the elements along an axis at indices, int32 or int64, negative ones from the end"},
	{expr.Concat, Move, everyone, same, nil, "arrays joined along an axis"},
	{expr.Stack, Move, everyone, same, nil, "arrays of one shape joined along a new axis"},
	{expr.Repeat, Move, everyone, same, nil, "every element n times along an axis"},
	{expr.Pad, Move, everyone, same, nil, "a number around the elements"},
	{expr.Flip, Move, everyone, same, nil, "a view whose axes run backwards"},
}

var byOp = func() (rows [256]*Row) {
	for i := range Table {
		rows[Table[i].Op] = &Table[i]
	}
	return rows
}()

// Lookup returns the row of an operation, nil when there is none.
func Lookup(op expr.Op) *Row {
	if op < 0 || int(op) >= len(byOp) {
		return nil
	}
	return byOp[op]
}

// Check returns the result type of the operation on operands of type d, and
// an error that wraps dtype.ErrDType when it has no meaning for d.
func (r *Row) Check(d dtype.DType) (dtype.DType, error) {
	for _, t := range r.Types {
		if t == d {
			return r.Result(d), nil
		}
	}
	return dtype.Invalid, fmt.Errorf("%w: %v has no meaning for %v%s", dtype.ErrDType, r.Op, d, r.instead(d))
}

// instead says which Cast gives an array of type d a type that has a meaning.
func (r *Row) instead(d dtype.DType) string {
	switch {
	case d.IsComplex() || !d.Valid():
		return ""
	case slices.Contains(r.Types, dtype.Float32):
		return "; Cast(gpk.Float32) or Cast(gpk.Float64) first"
	case slices.Contains(r.Types, dtype.Int32):
		return "; Cast(gpk.Int32) or Cast(gpk.Int64) first"
	}
	return ""
}

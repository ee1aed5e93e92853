package ops

import (
	"fmt"
	"math"
	"math/cmplx"
	"slices"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/enum"
)

// Kind is the shape rule of an operation.
type Kind uint8

// The shape rules.
const (
	Unary     Kind = iota // element by element
	Binary                // element by element, operands broadcast
	Reduction             // over axes that the result does not have
	Ternary               // element by element, operands broadcast
	Line                  // along one axis
	Order                 // along one axis, sorted
	Move                  // copies of elements at other indices
)

var kindNames = [...]string{Unary: "unary", Binary: "binary", Reduction: "reduction", Ternary: "ternary", Line: "along an axis", Order: "in order", Move: "to other places"}

// String returns the rule in one to three words.
func (k Kind) String() string { return enum.Name(k, "Kind", kindNames[:]...) }

// Row describes one operation. Methods, dispatch, the conformance suite and the
// documentation read it.
type Row struct {
	Op        expr.Op
	Kind      Kind
	Types     []dtype.DType // supported operand types; others are dtype.ErrDType
	Result    func(dtype.DType) dtype.DType
	Reference func(x, y complex128) complex128 // exact except for float64 rounding; nil if a result depends on more than two elements. y is 0 for unary operations
	Doc       string                           // continues the sentence "Name returns"; the operands are a and b
	Error     Bound                            // largest error of a function; zero if package gpktest states it
}

// Bound is the largest error of a function on any device, in units of the last place of
// its exact result.
type Bound struct {
	Float32, Float64 float64

	// FromOne says that the unit is the last place of the largest of 1, |a| and the result.
	// Near a root, the result of such a function is a small difference of larger terms.
	FromOne bool
}

// Units returns the bound for elements of type d. For the half types it is the bound of
// float32, because they are computed in float32.
func (b Bound) Units(d dtype.DType) float64 {
	if d == dtype.Float64 || d == dtype.Complex128 {
		return b.Float64
	}
	return b.Float32
}

var (
	floats    = typesThat(dtype.DType.IsFloat)
	complexes = typesThat(dtype.DType.IsComplex)
	integers  = typesThat(dtype.DType.IsInteger)
	reals     = join(floats, integers)
	fields    = join(floats, complexes)
	numbers   = join(reals, complexes)
	allTypes  = join(numbers, []dtype.DType{dtype.Bool})
	ordered   = join(reals, []dtype.DType{dtype.Bool})
	bits      = join(integers, []dtype.DType{dtype.Bool})
)

// typesThat lists the element types for which are returns true, in the order of dtype.All.
func typesThat(are func(dtype.DType) bool) []dtype.DType {
	return slices.DeleteFunc(slices.Clone(dtype.All[:]), func(d dtype.DType) bool { return !are(d) })
}

func join(lists ...[]dtype.DType) []dtype.DType {
	var out []dtype.DType
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

func sameType(d dtype.DType) dtype.DType { return d }

func realType(d dtype.DType) dtype.DType { return d.Real() }

func boolType(dtype.DType) dtype.DType { return dtype.Bool }

func int64Type(dtype.DType) dtype.DType { return dtype.Int64 }

func row(op expr.Op, kind Kind, types []dtype.DType, result func(dtype.DType) dtype.DType, reference func(x, y complex128) complex128, doc string) Row {
	return Row{Op: op, Kind: kind, Types: types, Result: result, Reference: reference, Doc: doc}
}

// Table lists every operation once.
var Table = slices.Concat(operations, functions)

// operations are the rows whose kernels are written by hand. Rows with generated kernels
// are in functions.go.
var operations = []Row{
	row(expr.Neg, Unary, numbers, sameType, func(x, _ complex128) complex128 { return -x }, "-a; integers wrap"),
	row(expr.Conj, Unary, allTypes, sameType, func(x, _ complex128) complex128 { return complex(real(x), -imag(x)) }, "the complex conjugate of a; real types are unchanged"),
	row(expr.Not, Unary, bits, sameType, nil, "the complement of the bits of an integer; of bool, the negation"),
	row(expr.Abs, Unary, numbers, realType, func(x, _ complex128) complex128 { return complex(cmplx.Abs(x), 0) }, "the absolute value of a, of a complex number its modulus, which is real; the least integer wraps"),
	row(expr.Sign, Unary, reals, sameType, refSign, "-1, 0 or 1, the sign of a; NaN stays NaN"),
	row(expr.Square, Unary, numbers, sameType, func(x, _ complex128) complex128 { return x * x }, "a a; integers wrap"),
	row(expr.Sqrt, Unary, fields, sameType, refSqrt, "the square root of a, NaN below 0; of a complex number the root with the non-negative real part"),
	row(expr.Rsqrt, Unary, floats, sameType, refReal(func(x float64) float64 { return 1 / math.Sqrt(x) }), "1 / sqrt(a), rounded once"),
	row(expr.Exp, Unary, fields, sameType, refExp, "e^a"),
	row(expr.Expm1, Unary, floats, sameType, refReal(math.Expm1), "e^a - 1, accurate for small a"),
	row(expr.Log, Unary, fields, sameType, refLogOf, "the natural logarithm of a; of a complex number log|a| + i Angle(a)"),
	row(expr.Log1p, Unary, floats, sameType, refReal(math.Log1p), "log(1 + a), accurate for small a"),
	row(expr.Sin, Unary, fields, sameType, refComplex(math.Sin, cmplx.Sin), "the sine of a, in radians"),
	row(expr.Cos, Unary, fields, sameType, refComplex(math.Cos, cmplx.Cos), "the cosine of a, in radians"),
	row(expr.Tanh, Unary, floats, sameType, refReal(math.Tanh), "the hyperbolic tangent of a"),
	row(expr.Erf, Unary, floats, sameType, refReal(math.Erf), "the error function of a"),
	row(expr.Sigmoid, Unary, floats, sameType, refSigmoid, "1 / (1 + e^-a)"),
	row(expr.ReLU, Unary, reals, sameType, refReLU, "max(a, 0); NaN stays NaN"),
	row(expr.GELU, Unary, floats, sameType, refGELU, "a/2 (1 + erf(a/sqrt 2)) (Hendrycks and Gimpel, arXiv 1606.08415)"),
	row(expr.GELUTanh, Unary, floats, sameType, refGELUTanh, "a/2 (1 + tanh(sqrt(2/pi) (a + 0.044715 a^3))) (arXiv 1606.08415)"),
	row(expr.SiLU, Unary, floats, sameType, refSiLU, "a / (1 + e^-a)"),
	row(expr.Floor, Unary, reals, sameType, refReal(math.Floor), "the greatest integer not above a"),
	row(expr.Ceil, Unary, reals, sameType, refReal(math.Ceil), "the least integer not below a"),
	row(expr.Round, Unary, reals, sameType, refReal(math.RoundToEven), "the integer nearest to a, halves to even"),
	row(expr.Real, Unary, allTypes, realType, func(x, _ complex128) complex128 { return complex(real(x), 0) }, "the real part of a; real types are unchanged"),
	row(expr.Imag, Unary, allTypes, realType, func(x, _ complex128) complex128 { return complex(imag(x), 0) }, "the imaginary part of a; 0 for real types"),
	row(expr.AbsSquare, Unary, numbers, realType, func(x, _ complex128) complex128 { return complex(real(x)*real(x)+imag(x)*imag(x), 0) }, "|a|^2, which is real; integers wrap"),

	row(expr.Add, Binary, numbers, sameType, func(x, y complex128) complex128 { return x + y }, "a + b; integers wrap"),
	row(expr.Sub, Binary, numbers, sameType, func(x, y complex128) complex128 { return x - y }, "a - b; integers wrap"),
	row(expr.Mul, Binary, numbers, sameType, func(x, y complex128) complex128 { return x * y }, "a b; integers wrap"),
	row(expr.Div, Binary, fields, sameType, func(x, y complex128) complex128 { return x / y }, "a / b"),
	row(expr.Pow, Binary, numbers, sameType, refPow, "a^b; integers wrap, and a negative power of an integer is truncated; floating-point types use Square if b is the number 2, and Reciprocal if it is -1; complex types use e^(b log a), whose error is |b log a| ulp"),
	row(expr.Maximum, Binary, ordered, sameType, refMaximum, "the larger of a and b, NaN where either is NaN; true is larger than false"),
	row(expr.Minimum, Binary, ordered, sameType, refMinimum, "the smaller of a and b, NaN where either is NaN"),
	row(expr.Eq, Binary, allTypes, boolType, refTruth(func(x, y complex128) bool { return x == y }), "whether a = b; NaN equals nothing"),
	row(expr.Ne, Binary, allTypes, boolType, refTruth(func(x, y complex128) bool { return x != y }), "whether a and b differ; NaN differs from everything"),
	row(expr.Lt, Binary, ordered, boolType, refTruth(func(x, y complex128) bool { return real(x) < real(y) }), "whether a < b"),
	row(expr.Le, Binary, ordered, boolType, refTruth(func(x, y complex128) bool { return real(x) <= real(y) }), "whether a <= b"),
	row(expr.Gt, Binary, ordered, boolType, refTruth(func(x, y complex128) bool { return real(x) > real(y) }), "whether a > b"),
	row(expr.Ge, Binary, ordered, boolType, refTruth(func(x, y complex128) bool { return real(x) >= real(y) }), "whether a >= b"),
	row(expr.And, Binary, bits, sameType, nil, "a and b, bit by bit for integers"),
	row(expr.Or, Binary, bits, sameType, nil, "a or b, bit by bit for integers"),
	row(expr.Xor, Binary, bits, sameType, nil, "the exclusive or of a and b, bit by bit for integers"),
	row(expr.Shl, Binary, integers, sameType, nil, "a shifted left by b bits; 0 where b is negative or at least the width of the type"),
	row(expr.Shr, Binary, integers, sameType, nil, "a shifted right by b bits, keeping the sign; 0 or -1 where b is negative or at least the width of the type"),

	row(expr.Where, Ternary, allTypes, sameType, nil, "a where the condition, of type bool, is true, else b"),
	row(expr.Clamp, Ternary, reals, sameType, nil, "min(max(a, lo), hi), NaN where one of them is NaN"),

	row(expr.Sum, Reduction, allTypes, dtype.DType.SumType, nil, "the sum of the elements; halves accumulate in float32, integers and bool in 64 bits"),
	row(expr.Mean, Reduction, fields, sameType, nil, "the sum of the elements over their number; NaN for no elements"),
	row(expr.Max, Reduction, ordered, sameType, nil, "the largest element, NaN where one is NaN; no elements are ErrShape"),
	row(expr.Min, Reduction, ordered, sameType, nil, "the smallest element, NaN where one is NaN; no elements are ErrShape"),
	row(expr.Prod, Reduction, allTypes, dtype.DType.SumType, nil, "the product of the elements; float32 and halves accumulate in float64, integers and bool in 64 bits"),
	row(expr.Var, Reduction, fields, realType, nil, "the variance of the elements, the mean of |a - mean|^2; NaN for no elements"),
	row(expr.Any, Reduction, allTypes, boolType, nil, "whether any element differs from 0; NaN differs"),
	row(expr.All, Reduction, allTypes, boolType, nil, "whether all elements differ from 0"),
	row(expr.ArgMax, Reduction, ordered, int64Type, nil, "the index of the first of the largest elements, or of the first NaN; no elements are ErrShape"),
	row(expr.ArgMin, Reduction, ordered, int64Type, nil, "the index of the first of the smallest elements, or of the first NaN; no elements are ErrShape"),

	row(expr.CumSum, Line, allTypes, dtype.DType.SumType, nil, "the sum of the elements up to each index; integers and bool accumulate in 64 bits"),
	row(expr.Softmax, Line, floats, sameType, nil, "e^(a-m) / sum e^(a-m), where m is the largest element"),
	row(expr.LogSoftmax, Line, floats, sameType, nil, "a - m - log(sum e^(a-m)), where m is the largest element"),
	row(expr.LayerNorm, Line, floats, sameType, nil, "(x - mean) / sqrt(var + eps) gamma + beta, along the last axis (Ba, Kiros and Hinton, arXiv 1607.06450)"),
	row(expr.RMSNorm, Line, floats, sameType, nil, "x / sqrt(mean x^2 + eps) gamma, along the last axis (Zhang and Sennrich, arXiv 1910.07467)"),
	row(expr.Sort, Order, ordered, sameType, nil, "the elements in ascending or descending order; NaN is the largest, -0 below 0"),
	row(expr.TopK, Order, ordered, sameType, nil, "the k largest elements in descending order, and their indices, int64; NaN is the largest, equal elements keep their order"),

	row(expr.Take, Move, allTypes, sameType, nil, "the elements along an axis at indices, int32 or int64, negative ones from the end"),
	row(expr.Concat, Move, allTypes, sameType, nil, "arrays joined along an axis"),
	row(expr.Stack, Move, allTypes, sameType, nil, "arrays of one shape joined along a new axis"),
	row(expr.Repeat, Move, allTypes, sameType, nil, "every element n times along an axis"),
	row(expr.Pad, Move, allTypes, sameType, nil, "the elements with a number around them"),
	row(expr.Flip, Move, allTypes, sameType, nil, "a view with axes reversed"),
}

var byOp = func() (rows [256]*Row) {
	for i := range Table {
		rows[Table[i].Op] = &Table[i]
	}
	return rows
}()

// Lookup returns the row of an operation, nil if there is none.
func Lookup(op expr.Op) *Row {
	if op < 0 || int(op) >= len(byOp) {
		return nil
	}
	return byOp[op]
}

// Check returns the result type of the operation for operands of type d, or an error that
// wraps dtype.ErrDType if it is not implemented for d.
func (r *Row) Check(d dtype.DType) (dtype.DType, error) { return r.CheckFor(r.Op.String(), d) }

// CheckFor is Check for an operation with another name that needs this one. The error states that name.
func (r *Row) CheckFor(name string, d dtype.DType) (dtype.DType, error) {
	for _, t := range r.Types {
		if t == d {
			return r.Result(d), nil
		}
	}
	return dtype.Invalid, fmt.Errorf("%w: %s is not implemented for %v%s", dtype.ErrDType, name, d, r.castAdvice(d))
}

// castAdvice returns the end of an error message: a Cast from type d to a type that the
// operation supports.
func (r *Row) castAdvice(d dtype.DType) string {
	switch {
	case d.IsComplex() || !d.Valid():
		return ""
	case d == dtype.Bool && slices.Contains(r.Types, dtype.Int64):
		return "; Cast(gpk.Int64) first, or use And, Or, Xor or Not"
	case slices.Contains(r.Types, dtype.Float32):
		return "; Cast(gpk.Float32) or Cast(gpk.Float64) first"
	case slices.Contains(r.Types, dtype.Int32):
		return "; Cast(gpk.Int32) or Cast(gpk.Int64) first"
	}
	return ""
}

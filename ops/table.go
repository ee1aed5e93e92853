package ops

import (
	"fmt"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// Kind is the shape rule of an operation.
type Kind uint8

// The shape rules.
const (
	Unary     Kind = iota // element by element
	Binary                // element by element, operands broadcast
	Reduction             // over axes
)

// Row is what gpk knows of one operation. Methods, dispatch, the conformance
// suite and the documentation read it.
type Row struct {
	Op        expr.Op
	Kind      Kind
	Types     []dtype.DType // operand types with a meaning; others are dtype.ErrDType
	Result    func(dtype.DType) dtype.DType
	Reference func(x, y complex128) complex128 // exact but for float64 rounding; nil for reductions. y is 0 for unary ones
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
)

func join(lists ...[]dtype.DType) []dtype.DType {
	var out []dtype.DType
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

func same(d dtype.DType) dtype.DType { return d }

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
	{expr.ReLU, Unary, reals, same, refReLU, "max(x, 0); NaN stays NaN"},
	{expr.GELU, Unary, floats, same, refGELU, "x/2 (1 + erf(x/sqrt 2)) (Hendrycks and Gimpel, arXiv 1606.08415)"},
	{expr.GELUTanh, Unary, floats, same, refGELUTanh, "x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) (arXiv 1606.08415)"},
	{expr.SiLU, Unary, floats, same, refSiLU, "x / (1 + exp(-x))"},
	{expr.Add, Binary, numbers, same, func(x, y complex128) complex128 { return x + y }, "x + y; integers wrap"},
	{expr.Sub, Binary, numbers, same, func(x, y complex128) complex128 { return x - y }, "x - y; integers wrap"},
	{expr.Mul, Binary, numbers, same, func(x, y complex128) complex128 { return x * y }, "x y; integers wrap"},
	{expr.Div, Binary, fields, same, func(x, y complex128) complex128 { return x / y }, "x / y; not for integers"},
	{expr.Sum, Reduction, everyone, SumType, nil, "the sum over axes; halves accumulate in float32, integers and Bool in int64"},
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
	return dtype.Invalid, fmt.Errorf("%w: %v has no meaning for %v", dtype.ErrDType, r.Op, d)
}

// Package expr holds the element-wise operations and reductions: their numbers,
// which the kernel library shares, and their names. Program is a chain of them.
//
// It is a leaf. Package ops defines the types and results of each operation;
// internal/cpu and cutlass compute it.
package expr

import "fmt"

// Op is an operation on elements. The numbers are part of the kernel library's ABI: a new
// operation gets the next number of its kind.
type Op int

// The operations. Unary ones start at Neg, binary ones at Add, ternary ones at
// Where, reductions at Sum, operations along one axis at CumSum, and those that move
// elements at Take.
const (
	None Op = 0

	Neg      Op = 1
	Conj     Op = 2
	ReLU     Op = 3
	GELU     Op = 4
	GELUTanh Op = 5
	SiLU     Op = 6

	Not       Op = 7
	Abs       Op = 8
	Sign      Op = 9
	Square    Op = 10
	Sqrt      Op = 11
	Rsqrt     Op = 12
	Exp       Op = 13
	Expm1     Op = 14
	Log       Op = 15
	Log1p     Op = 16
	Sin       Op = 17
	Cos       Op = 18
	Tanh      Op = 19
	Erf       Op = 20
	Sigmoid   Op = 21
	Floor     Op = 22
	Ceil      Op = 23
	Round     Op = 24
	Real      Op = 25
	Imag      Op = 26
	AbsSquare Op = 27

	Tan        Op = 28
	Asin       Op = 29
	Acos       Op = 30
	Atan       Op = 31
	Sinh       Op = 32
	Cosh       Op = 33
	Asinh      Op = 34
	Acosh      Op = 35
	Atanh      Op = 36
	Log2       Op = 37
	Log10      Op = 38
	Exp2       Op = 39
	Cbrt       Op = 40
	Trunc      Op = 41
	Reciprocal Op = 42
	SignBit    Op = 43
	IsNaN      Op = 44
	IsInf      Op = 45
	IsFinite   Op = 46
	Angle      Op = 47
	Erfc       Op = 48
	Lgamma     Op = 49
	Digamma    Op = 50
	Erfinv     Op = 51

	Add Op = 100
	Sub Op = 101
	Mul Op = 102
	Div Op = 103

	Pow     Op = 104
	Maximum Op = 105
	Minimum Op = 106
	Eq      Op = 107
	Ne      Op = 108
	Lt      Op = 109
	Le      Op = 110
	Gt      Op = 111
	Ge      Op = 112
	And     Op = 113
	Or      Op = 114
	Xor     Op = 115
	Shl     Op = 116
	Shr     Op = 117

	Atan2       Op = 118
	Hypot       Op = 119
	CopySign    Op = 120
	LogAddExp   Op = 121
	FloorDivide Op = 122
	Remainder   Op = 123

	Where Op = 150
	Clamp Op = 151

	Sum    Op = 200
	Mean   Op = 201
	Max    Op = 202
	Min    Op = 203
	Prod   Op = 204
	Var    Op = 205
	Any    Op = 206
	All    Op = 207
	ArgMax Op = 208
	ArgMin Op = 209

	CumSum     Op = 230
	Softmax    Op = 231
	LogSoftmax Op = 232
	LayerNorm  Op = 233
	RMSNorm    Op = 234
	Sort       Op = 235
	TopK       Op = 236

	Take   Op = 240
	Concat Op = 241
	Stack  Op = 242
	Repeat Op = 243
	Pad    Op = 244
	Flip   Op = 245
)

var names = [...]string{
	Neg: "Neg", Conj: "Conj", ReLU: "ReLU", GELU: "GELU", GELUTanh: "GELUTanh", SiLU: "SiLU",
	Not: "Not", Abs: "Abs", Sign: "Sign", Square: "Square", Sqrt: "Sqrt", Rsqrt: "Rsqrt",
	Exp: "Exp", Expm1: "Expm1", Log: "Log", Log1p: "Log1p", Sin: "Sin", Cos: "Cos", Tanh: "Tanh", Erf: "Erf", Sigmoid: "Sigmoid",
	Floor: "Floor", Ceil: "Ceil", Round: "Round", Real: "Real", Imag: "Imag", AbsSquare: "AbsSquare",
	Tan: "Tan", Asin: "Asin", Acos: "Acos", Atan: "Atan", Sinh: "Sinh", Cosh: "Cosh", Asinh: "Asinh", Acosh: "Acosh", Atanh: "Atanh",
	Log2: "Log2", Log10: "Log10", Exp2: "Exp2", Cbrt: "Cbrt", Trunc: "Trunc", Reciprocal: "Reciprocal",
	SignBit: "SignBit", IsNaN: "IsNaN", IsInf: "IsInf", IsFinite: "IsFinite",
	Angle: "Angle", Erfc: "Erfc", Lgamma: "Lgamma", Digamma: "Digamma", Erfinv: "Erfinv",
	Add: "Add", Sub: "Sub", Mul: "Mul", Div: "Div",
	Pow: "Pow", Maximum: "Maximum", Minimum: "Minimum",
	Eq: "Eq", Ne: "Ne", Lt: "Lt", Le: "Le", Gt: "Gt", Ge: "Ge",
	And: "And", Or: "Or", Xor: "Xor", Shl: "Shl", Shr: "Shr",
	Atan2: "Atan2", Hypot: "Hypot", CopySign: "CopySign", LogAddExp: "LogAddExp", FloorDivide: "FloorDivide", Remainder: "Remainder",
	Where: "Where", Clamp: "Clamp",
	Sum: "Sum", Mean: "Mean", Max: "Max", Min: "Min", Prod: "Prod", Var: "Var",
	Any: "Any", All: "All", ArgMax: "ArgMax", ArgMin: "ArgMin",
	CumSum: "CumSum", Softmax: "Softmax", LogSoftmax: "LogSoftmax", LayerNorm: "LayerNorm", RMSNorm: "RMSNorm",
	Sort: "Sort", TopK: "TopK",
	Take: "Take", Concat: "Concat", Stack: "Stack", Repeat: "Repeat", Pad: "Pad", Flip: "Flip",
}

// String returns the operation's name, which is also the name of Array's method or of gpk's
// function.
func (o Op) String() string {
	if o > 0 && int(o) < len(names) && names[o] != "" {
		return names[o]
	}
	return fmt.Sprintf("Op(%d)", int(o))
}

// IsFunction reports whether the operation is a function of one element, or of one element
// of each operand, whose kernels internal/gen makes from a Go function of internal/cpu and
// a CUDA function of cutlass/src/functions.cuh.
func (o Op) IsFunction() bool { return o >= Tan && o < Add || o >= Atan2 && o < Where }

// IsSmooth reports whether the operation takes several times as long as an addition, as an
// exponential or a logarithm does.
func (o Op) IsSmooth() bool {
	switch o {
	case Exp, Expm1, Log, Log1p, Sin, Cos, Tanh, Erf, Sigmoid, GELU, GELUTanh, SiLU, Pow:
		return true
	case Trunc, Reciprocal, SignBit, IsNaN, IsInf, IsFinite, CopySign:
		return false
	}
	return o.IsFunction()
}

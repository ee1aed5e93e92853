package bigmath

import (
	"math"
	"math/big"

	"github.com/gpk-go/gpk/expr"
)

// Reference is the reference of a smooth function.
type Reference struct {
	Near  func(x float64) float64       // error below 2^-40 for every float32 and half argument
	Exact func(x *big.Float) *big.Float // for float64
}

// Smooth maps the smooth functions to their references.
var Smooth = map[expr.Op]Reference{
	expr.Exp:      {math.Exp, Exp},
	expr.Expm1:    {math.Expm1, func(x *big.Float) *big.Float { return Sub(Exp(x), Of(1)) }},
	expr.Log:      {log, Log},
	expr.Log1p:    {math.Log1p, func(x *big.Float) *big.Float { return Log(Add(x, Of(1))) }},
	expr.Sin:      {sin, func(x *big.Float) *big.Float { return Sin(x, 0) }},
	expr.Cos:      {cos, func(x *big.Float) *big.Float { return Sin(x, 1) }},
	expr.Tanh:     {math.Tanh, Tanh},
	expr.Erf:      {math.Erf, Erf},
	expr.Sqrt:     {math.Sqrt, func(x *big.Float) *big.Float { return New().Sqrt(x) }},
	expr.Rsqrt:    {func(x float64) float64 { return 1 / math.Sqrt(x) }, func(x *big.Float) *big.Float { return Quo(Of(1), New().Sqrt(x)) }},
	expr.Sigmoid:  {logistic, Logistic},
	expr.SiLU:     {func(x float64) float64 { return x * logistic(x) }, func(x *big.Float) *big.Float { return Mul(x, Logistic(x)) }},
	expr.GELU:     {func(x float64) float64 { return 0.5 * x * math.Erfc(-x/math.Sqrt2) }, gelu},
	expr.GELUTanh: {func(x float64) float64 { return x * logistic(2*math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)) }, geluTanh},
}

// log is math.Log, which on amd64 is wrong for subnormal numbers.
func log(x float64) float64 {
	if 0 < x && x < 0x1p-1022 {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

func logistic(x float64) float64 {
	if x < 0 { // e^-x may overflow
		e := math.Exp(x)
		return e / (1 + e)
	}
	return 1 / (1 + math.Exp(-x))
}

func gelu(x *big.Float) *big.Float {
	return Mul(Mul(x, Of(0.5)), Add(Of(1), Erf(Quo(x, New().Sqrt(Of(2))))))
}

func geluTanh(x *big.Float) *big.Float {
	inner, _ := New().SetString("0.044715")
	outer := New().Sqrt(Quo(Of(8), Pi()))
	return Mul(x, Logistic(Mul(outer, Add(x, Mul(inner, Mul(x, Mul(x, x)))))))
}

// sin is math.Sin if that is accurate, and otherwise uses math/big: math.Sin loses accuracy
// from 2^25 on, and near multiples of pi.
func sin(x float64) float64 {
	if s := math.Sin(x); math.Abs(x) < 1<<15 && math.Abs(s) > 0x1p-10 || math.Abs(x) < 1 || x-x != 0 {
		return s
	}
	s, _ := Sin(Of(x), 0).Float64()
	return s
}

// cos is sin for math.Cos.
func cos(x float64) float64 {
	if c := math.Cos(x); math.Abs(x) < 1<<15 && math.Abs(c) > 0x1p-10 || x-x != 0 {
		return c
	}
	c, _ := Sin(Of(x), 1).Float64()
	return c
}

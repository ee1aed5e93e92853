package cpu

import (
	"math"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
)

// Activation is the last step of an Epilogue. The numbers are those of the kernel library's
// ABI.
type Activation int

// The activations, with x the scaled and biased product.
const (
	ActNone     Activation = iota
	ActReLU                // max(x, 0)
	ActGELU                // x (1 + erf(x / sqrt 2)) / 2
	ActGELUTanh            // x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2
	ActSiLU                // x / (1 + exp(-x))
)

// Epilogue is applied to every element of a real floating-point product before it is
// stored: act(Alpha*x + Bias[j]), evaluated in float64 and then rounded to the output's
// type (for a half type by way of float32).
type Epilogue struct {
	Alpha float64        // 0 stands for 1
	Bias  unsafe.Pointer // n contiguous elements of the output's type, or nil
	Act   Activation

	// Upper says that the elements below the diagonal of C are not needed and need not be written.
	// The products of float32 and float64 skip tiles that have only such elements.
	Upper bool
}

// isNone reports whether the sums are the result.
func (e *Epilogue) isNone() bool {
	return e == nil || (e.Alpha == 0 || e.Alpha == 1) && e.Bias == nil && e.Act == ActNone
}

// epilogue is an Epilogue prepared for rows of sums.
type epilogue[T floating] struct {
	alpha float64
	bias  []float64 // nil: no bias
	act   Activation
}

// newEpilogue prepares e for n columns of type out; e may be nil.
func newEpilogue[T floating](e *Epilogue, n int, out dtype.DType) *epilogue[T] {
	r := &epilogue[T]{alpha: 1}
	if e == nil {
		return r
	}
	if e.Alpha != 0 {
		r.alpha = e.Alpha
	}
	r.act = e.Act
	if e.Bias == nil && e.Act >= ActGELU && out == dtype.Float32 { // vector code adds a bias
		r.bias = make([]float64, n)
		for j := range r.bias {
			r.bias[j] = math.Copysign(0, -1) // x - 0 is x, also if x is a zero
		}
	}
	if e.Bias != nil {
		r.bias = make([]float64, n)
		half, _ := out.Half()
		for j := range r.bias {
			switch {
			case half != nil:
				r.bias[j] = float64(half.Float32(*offset((*uint16)(e.Bias), j)))
			case out == dtype.Float64:
				r.bias[j] = *offset((*float64)(e.Bias), j)
			case out == dtype.Float32:
				r.bias[j] = float64(*offset((*float32)(e.Bias), j))
			}
		}
	}
	return r
}

// apply applies the epilogue to x, a part of a row that begins at column j.
func (e *epilogue[T]) apply(x []T, j int) {
	var bias []float64
	if e.bias != nil {
		bias = e.bias[j:][:len(x)]
	}
	if done := e.vectorRow(x, bias); done > 0 {
		x, bias = x[done:], bias[done:]
	}
	switch {
	case e.act == ActNone && bias != nil:
		for i, v := range x {
			x[i] = T(float64(e.alpha*float64(v)) + bias[i])
		}
	case e.act == ActReLU && bias != nil:
		for i, v := range x {
			x[i] = T(max(float64(e.alpha*float64(v))+bias[i], 0))
		}
	default:
		approximate := unsafe.Sizeof(*new(T)) == 4
		for i, v := range x {
			y := float64(e.alpha * float64(v))
			if bias != nil {
				y += bias[i]
			}
			if approximate {
				y = e.act.approximate(y)
			} else {
				y = e.act.exact(y)
			}
			x[i] = T(y)
		}
	}
}

// exact returns the activation of x, as accurate as float64 allows. The two GELUs
// are written so that nothing cancels for negative x: 1+erf(t) = erfc(-t) and
// (1+tanh(t))/2 = 1/(1+exp(-2t)).
func (a Activation) exact(x float64) float64 {
	switch a {
	case ActReLU:
		return max(x, 0)
	case ActGELU:
		return x * math.Erfc(-x/math.Sqrt2) / 2
	case ActGELUTanh:
		return x / (1 + math.Exp(-2*root2OverPi*(x+0.044715*x*x*x)))
	case ActSiLU:
		return x / (1 + math.Exp(-x))
	}
	return x
}

// approximate is exact with a relative error below 4e-9, a fifteenth of half a unit in the
// last place of float32. It is several times as fast.
func (a Activation) approximate(x float64) float64 {
	switch a {
	case ActReLU:
		return max(x, 0)
	case ActGELU:
		return x * normalCDF(x)
	case ActGELUTanh:
		return x / (1 + nearExp(-2*root2OverPi*math.FMA(0.044715*x*x, x, x)))
	case ActSiLU:
		return x / (1 + nearExp(-x))
	}
	return x
}

const root2OverPi = 0.79788456080286535587989211986876373695 // sqrt(2/pi)

// normalCDF returns (1 + erf(x/sqrt 2)) / 2 with a relative error below 4e-9.
// For t = |x|/sqrt 2, (1+t) exp(t^2) erfc(t) / 2 is smooth, also at infinity:
// a polynomial in y = (t-5/2) / (t+5/2), fitted for t < 12, beyond which
// the result is below 1e-63, and 0 here.
func normalCDF(x float64) float64 {
	t := math.Abs(x) * (1 / math.Sqrt2)
	p := 0.0
	if !(t > 12) {
		inv := 1 / ((t + 2.5) * (t + 1))
		y := (t - 2.5) * (t + 1) * inv
		y2 := y * y
		y4 := y2 * y2
		low := cubic(0.3689111370561211, -0.12352337497226269, 0.038172171244627406, 0.008149242636298194, y, y2)
		middle := cubic(-0.015761300854815502, 0.007191499273695665, -0.00042631955518362453, -0.0008748818729247364, y, y2)
		high := cubic(0.00017575254728826602, 0.00012087499228371335, -2.4232329472209004e-05, -1.6152551793286844e-05, y, y2)
		p = math.FMA(math.FMA(high, y4, middle), y4, low)
		p *= nearExp(-t*t) * (t + 2.5) * inv
	}
	// A branch would be mispredicted half of the time.
	negative := uint64(int64(math.Float64bits(x)) >> 63)
	return math.Float64frombits(math.Float64bits(p)&negative | math.Float64bits(1-p)&^negative)
}

// cubic returns a + b x + c x^2 + d x^3; z is x^2.
func cubic(a, b, c, d, x, z float64) float64 {
	return math.FMA(math.FMA(d, x, c), z, math.FMA(b, x, a))
}

// nearExpShift brings the unit to the last place: a sum with it is rounded to an integer.
const nearExpShift = 3 << 51

// nearExp returns e**x with a relative error below 1e-10: x = n ln 2 + r, and a
// polynomial fitted for |r| <= ln(2)/2.
func nearExp(x float64) float64 {
	switch {
	case x > 709:
		return math.Inf(1)
	case x < -708:
		return 0
	case x != x:
		return x
	}
	t := math.FMA(x, math.Log2E, nearExpShift)
	r := math.FMA(-(t - nearExpShift), math.Ln2, x)
	r2 := r * r
	low := cubic(0.9999999999619437, 1.0000000002580818, 0.5000000104139753, 0.16666665024159208, r, r2)
	high := cubic(0.04166622631060884, 0.008333578290408268, 0.0013948134040547085, 0.00019766918586338006, r, r2)
	return math.FMA(high, r2*r2, low) * math.Float64frombits((math.Float64bits(t)+1023)<<52)
}

package cpu

import "math"

// The gamma function's logarithm and derivative, and the inverse of the error function.

func erfcF64(x float64) float64 { return math.Erfc(x) }

// erfinvF64 takes a Newton step from a rational approximation in x or in sqrt(-log(1 -
// |x|)) (Wichura, Algorithm AS 241, Applied Statistics 37, 1988). Beyond 1/2 the step uses
// erfc: 1 - |x| is exact there.
func erfinvF64(x float64) float64 {
	y := math.Erfinv(x)
	a := math.Abs(x)
	if !(a > 0x1p-1000 && a < 1) {
		return y
	}
	t := math.Abs(y)
	d := 0.0
	if a <= 0.5 {
		d = erfF64(t) - a
	} else {
		d = (1 - a) - erfcF64(t)
	}
	return math.Copysign(t-0.5*math.SqrtPi*d*expF64(float64(t*t)), x)
}

// lgammaF64 reflects negative x by |gamma(x) gamma(-x)| = pi / |x sin(pi x)| (Abramowitz and
// Stegun 6.1.17).
func lgammaF64(x float64) float64 {
	if !(x < 0) {
		return lgammaPositive(x)
	}
	fraction := x - math.RoundToEven(x) // exact
	if fraction == 0 || math.IsInf(x, -1) {
		return math.Inf(1)
	}
	s := math.Abs(x * sinF64(math.Pi*fraction))
	if s < leastNormal {
		return -logF64(-x)
	}
	return logF64(math.Pi/s) - lgammaPositive(-x)
}

// lgammaPositive is math.Lgamma except on intervals below 0.2317 and 1.2317, where
// math.Lgamma has an error of up to 30 ulp of 1. There gamma(x + 1) = x gamma(x) maps the
// argument to another interval.
func lgammaPositive(x float64) float64 {
	const from, to = 0.19, 0.2317
	switch {
	case x > from && x < to:
		v, _ := math.Lgamma(x + 2)
		return v - logF64(x*(x+1))
	case x > 1+from && x < 1+to:
		v, _ := math.Lgamma(x + 1)
		return v - logF64(x)
	}
	v, _ := math.Lgamma(x)
	return v
}

// digammaSeries are the coefficients of the asymptotic series in 1/x^2, B(2k)/2k
// (Abramowitz and Stegun 6.3.18). From digammaShift on, the first omitted term is below
// 2^-58.
var digammaSeries = [...]float64{1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12, -3617.0 / 8160}

const digammaShift = 10

// digammaF64 shifts x by psi(x) = psi(x + 1) - 1/x (6.3.5), and reflects negative x by
// psi(x) = psi(1 - x) - pi cot(pi x) (6.3.7).
func digammaF64(x float64) float64 {
	switch {
	case x == 0:
		return math.Copysign(math.Inf(1), -x)
	case x < 0:
		fraction := x - math.RoundToEven(x) // exact
		if fraction == 0 || math.IsInf(x, -1) {
			return math.NaN()
		}
		cot := cosF64(math.Pi*fraction) / sinF64(math.Pi*fraction)
		if math.Abs(fraction) == 0.5 {
			cot = 0
		}
		return digammaF64(1-x) - math.Pi*cot
	}
	shift, rest := 0.0, 0.0 // a sum and its rounding error
	for ; x < digammaShift; x++ {
		term := 1 / x
		sum := shift + term
		large, small := max(shift, term), min(shift, term)
		rest += (large - sum) + small
		shift = sum
	}
	z := 1 / (x * x)
	s := 0.0
	for k := len(digammaSeries) - 1; k >= 0; k-- {
		s = float64(s*z) + digammaSeries[k]
	}
	return (logF64(x) - shift) - (0.5/x + float64(s*z) + rest)
}

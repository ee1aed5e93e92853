package cpu

import "math"

// The gamma function's logarithm and derivative, and the inverse of the error function.

func erfcF64(x float64) float64 { return math.Erfc(x) }

// erfinvF64 is rational in a or in sqrt(-log(1 - |a|)) (Wichura, Algorithm AS 241, Applied
// Statistics 37, 1988).
func erfinvF64(x float64) float64 { return math.Erfinv(x) }

func lgammaF64(x float64) float64 {
	v, _ := math.Lgamma(x)
	return v
}

// digammaSeries are the coefficients of the asymptotic series in 1/x^2, B(2k)/2k (Abramowitz
// and Stegun 6.3.18). From digammaShift on, the first one left out is below 2^-58.
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
	shift := 0.0
	for ; x < digammaShift; x++ {
		shift += 1 / x
	}
	z := 1 / (x * x)
	s := 0.0
	for k := len(digammaSeries) - 1; k >= 0; k-- {
		s = float64(s*z) + digammaSeries[k]
	}
	return (logF64(x) - 0.5/x - float64(s*z)) - shift
}

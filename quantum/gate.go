package quantum

import (
	"fmt"
	"math"
	"strings"

	"github.com/gpk-go/gpk/internal/callsite"
)

// gateKind is the kind of a gate.
type gateKind uint8

// The gates. Those from gateRX to gateP, on one wire, and those from gateCRX on have an
// angle.
const (
	gateH gateKind = iota
	gateX
	gateY
	gateZ
	gateS
	gateT
	gateSX
	gateRX
	gateRY
	gateRZ
	gateP
	gateCX
	gateCZ
	gateSWAP
	gateCRX
	gateCRY
	gateCRZ
	gateCP
	gateRZZ
)

var gateNames = [...]string{"H", "X", "Y", "Z", "S", "T", "SX", "RX", "RY", "RZ", "P", "CX", "CZ", "SWAP", "CRX", "CRY", "CRZ", "CP", "RZZ"}

func (k gateKind) String() string { return gateNames[k] }

func (k gateKind) hasAngle() bool { return k >= gateRX && k <= gateP || k >= gateCRX }

// gate is one gate of a circuit. For a gate on one wire, b is -1; for a controlled gate, a
// is the control and b the target.
type gate struct {
	kind  gateKind
	a, b  int
	angle Angle
	site  callsite.Site
}

// String formats the gate like the call that adds it: CRX(0, 1, x2).
func (g gate) String() string {
	args := []string{fmt.Sprint(g.a)}
	if g.kind >= gateCX {
		args = append(args, fmt.Sprint(g.b))
	}
	if g.kind.hasAngle() {
		args = append(args, g.angle.String())
	}
	return g.kind.String() + "(" + strings.Join(args, ", ") + ")"
}

// isConst reports whether the gate is the same for every sample.
func (g gate) isConst() bool { return !g.kind.hasAngle() || g.angle.isConst() }

// matrix is a 2 x 2 matrix in row-major order.
type matrix [4]complex128

var identity = matrix{1, 0, 0, 1}

// times returns the product m n: n acts first.
func (m matrix) times(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
	}
}

// isIdentity reports whether m is the identity except for rounding.
func (m matrix) isIdentity() bool {
	const eps = 4e-16
	for i, v := range m {
		d := v - identity[i]
		if math.Abs(real(d)) > eps || math.Abs(imag(d)) > eps {
			return false
		}
	}
	return true
}

// isReal reports whether m has no imaginary part.
func (m matrix) isReal() bool {
	for _, v := range m {
		if imag(v) != 0 {
			return false
		}
	}
	return true
}

// gateMatrix returns the matrix of a one-wire gate at angle t. For a controlled gate it is
// the matrix on the target.
func gateMatrix(k gateKind, t float64) matrix {
	switch k {
	case gateH:
		return matrix{math.Sqrt2 / 2, math.Sqrt2 / 2, math.Sqrt2 / 2, -math.Sqrt2 / 2}
	case gateX:
		return matrix{0, 1, 1, 0}
	case gateY:
		return matrix{0, -1i, 1i, 0}
	case gateSX:
		return matrix{0.5 + 0.5i, 0.5 - 0.5i, 0.5 - 0.5i, 0.5 + 0.5i}
	case gateRX, gateCRX, gateRY, gateCRY:
		s, c := math.Sincos(t / 2)
		return turnMatrix(k, s, c)
	case gateP:
		return matrix{1, 0, 0, phase(t)}
	}
	return identity
}

// turnMatrix returns the matrix of a rotation, given sine and cosine: of half the angle
// for RX and RY, of the whole angle for P. For a controlled rotation it is the matrix on
// the target.
func turnMatrix(k gateKind, s, c float64) matrix {
	switch k {
	case gateRX, gateCRX:
		return matrix{complex(c, 0), complex(0, -s), complex(0, -s), complex(c, 0)}
	case gateRY, gateCRY:
		return matrix{complex(c, 0), complex(-s, 0), complex(s, 0), complex(c, 0)}
	}
	return matrix{1, 0, 0, complex(c, s)}
}

// phase returns e^it, exact for quarter turns.
func phase(t float64) complex128 {
	switch math.Mod(t, 2*math.Pi) {
	case 0:
		return 1
	case math.Pi / 2, -3 * math.Pi / 2:
		return 1i
	case math.Pi, -math.Pi:
		return -1
	case -math.Pi / 2, 3 * math.Pi / 2:
		return -1i
	}
	sin, cos := math.Sincos(t)
	return complex(cos, sin)
}

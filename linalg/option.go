package linalg

import "strings"

// Option is an option of a function. The comment of each function lists its options.
type Option uint

// The options.
const (
	Positive Option = 1 << iota // Solve, Inv, Refine: the matrix is symmetric or Hermitian and positive definite
	Upper                       // the upper triangle is read, or written, instead of the lower
	Unit                        // SolveTriangular: the diagonal is not read and counts as ones
	Adjoint                     // SolveTriangular: solve the system of the conjugate transpose
	Complete                    // QR, SVD: square orthogonal factors
)

var optionNames = [...]string{"Positive", "Upper", "Unit", "Adjoint", "Complete"}

// String returns the names of the options.
func (o Option) String() string {
	var names []string
	for i, name := range optionNames {
		if o&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if o>>len(optionNames) != 0 || o == 0 {
		names = append(names, "unknown")
	}
	return strings.Join(names, "|")
}

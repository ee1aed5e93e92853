package linalg

import (
	"maps"
	"testing"

	"github.com/gpk-go/gpk/dtype"
)

// TestBlocked repeats the tests of the factorizations with the algorithms of a GPU, on the CPU, with
// blocks of few columns.
func TestBlocked(t *testing.T) {
	old := maps.Clone(engines)
	defer func() { engines = old }()
	engines = map[dtype.DType]engine{}
	for dt, e := range old {
		engines[dt] = blocked{e, e.(tiles), 8}
	}
	for name, f := range map[string]func(t *testing.T){
		"Cholesky": TestCholesky, "LU": TestLU, "QR": TestQR, "Solve": TestSolve, "Refine": TestRefine, "RefineErrors": TestRefineErrors, "SolvePositive": TestSolvePositive, "SolveTriangular": TestSolveTriangular, "Inv": TestInv,
		"Refused": TestRefused, "NonFinite": TestNonFinite, "NonFiniteLarge": TestNonFiniteLarge, "Singular": TestSingular, "Empty": TestEmpty,
	} {
		t.Run(name, f)
	}
}

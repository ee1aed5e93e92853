package linalg

import (
	"testing"

	"github.com/gpk-go/gpk/internal/niltest"
)

// TestNil calls everything with nil, with zero values and with numbers as far out as they go.
func TestNil(t *testing.T) {
	niltest.Run(t, niltest.Package{
		Values: []func() any{
			func() any { return &SingularError{} }, func() any { return &DefiniteError{} }, func() any { return Upper },
		},
		Functions: map[string]any{
			"Cholesky": Cholesky, "Solve": Solve, "SolveTriangular": SolveTriangular, "Inv": Inv, "LU": LU, "QR": QR, "Eigh": Eigh, "EigvalsH": EigvalsH, "Eig": Eig, "Eigvals": Eigvals,
			"SVD": SVD, "SVDVals": SVDVals, "LstSq": LstSq, "Pinv": Pinv, "Det": Det, "SlogDet": SlogDet, "MatrixRank": MatrixRank, "Cond": Cond, "Refine": Refine,
			"MatrixNorm": MatrixNorm, "MatrixPower": MatrixPower,
		},
	})
}

package linalg

import (
	"cmp"
	"fmt"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/cusolver"
)

// leavesGramSVD reports whether gramSVD must not be used for singular vectors: for double precision, because A^H A
// would lose half of the digits, for stacks that one call of cuSOLVER computes, and if U has more columns than gramSVD
// computes.
func (s solver) leavesGramSVD(op *operation, a *gpk.Array, kind cusolver.Kind) bool {
	_, _, m, n := shapeOf(a)
	return a.DType().Real() != gpk.Float32 || kind == cusolver.GesvdjBatched || op.has(Complete) && m != n
}

// A matrix is tall from this number of elements on, and with this number of times more rows than columns or the reverse.
const (
	tallElements = 1 << 17
	tallRatio    = 16

	// leastSquare is the least square of a singular value of a tall matrix, as a part of the largest: a condition number of
	// 11,600. checkSVD's bound grows with the larger side, so it would accept columns of U that are far from orthogonal.
	leastSquare = 1. / (1 << 27)
)

// isTall reports whether gramSVD decomposes one matrix that leaves would leave to the CPU. Its products take much less time
// on the GPU than the copy of the matrix and the decomposition on the CPU. The eigenvalues of the small A^H A are computed
// on the CPU.
func (s solver) isTall(op *operation, a *gpk.Array) bool {
	_, batch, m, n := shapeOf(a)
	tall := batch == 1 && a.Size() >= tallElements && max(m, n) >= tallRatio*min(m, n)
	return tall && !s.leavesGramSVD(op, a, cusolver.Gesvd)
}

// gramSVD returns the singular value decomposition of matrices of single precision by the eigenvalues of A^H A in
// double precision:
//
//	A^H A = V S^2 V^H    U = A V S^-1
//
// Rounding A^H A to double precision changes a singular value s by at most some n 2^-53 |A|^2 / s, and the angle of two
// columns of U by n 2^-53 |A|^2 over the product of their singular values (Demmel, Applied Numerical Linear Algebra,
// 1997, section 5.4): less than an ulp of single precision for condition numbers up to 10^4, and less than 4 n eps far
// beyond that. The error is ErrNoConvergence if an error exceeds 4 n eps, or if a tall matrix has a larger
// condition number than leastSquare allows. For a wide matrix, gramSVD decomposes A^H.
func (s solver) gramSVD(op *operation, a *gpk.Array) (u, values, vh *gpk.Array, err error) {
	dt, high := a.DType(), gpk.Float64
	if dt.IsComplex() {
		high = gpk.Complex128
	}
	_, _, m, n := shapeOf(a)
	x := a.Cast(high)
	if m < n {
		x = adjoint(x)
	}
	gram := times(adjoint(x), x)
	squares, v, err := op.engine(gram).eigh(op, gram, true)
	if err != nil {
		return nil, nil, nil, err
	}
	if max(m, n) >= tallRatio*min(m, n) {
		least, largest := squares.Slice(-1, 0, 1), squares.Slice(-1, min(m, n)-1, min(m, n))
		if bad, err := gpk.Item[bool](least.Lt(largest.Mul(leastSquare)).Any()); err != nil || bad {
			return nil, nil, nil, cmp.Or(err, ErrNoConvergence)
		}
	}
	v = v.Flip(-1) // eigenvalues are in ascending order
	left := times(x, v)
	u = op.Cast(left.Div(left.AbsSquare().Sum(-2, gpk.KeepDims).Sqrt().Cast(high)), dt)
	v = op.Cast(v, dt)
	by := fmt.Sprintf("%s on %v", cusolver.Version(), op.dev)
	if s.leaves(gram, false) {
		by = fmt.Sprintf("the CPU, and by products on %v", op.dev)
	}
	op.Step(fmt.Sprintf("by the eigenvalues of A^H A in %v by %s, then", high, by))
	values = op.Cast(squares.Flip(-1).Maximum(0).Sqrt(), dt.Real())
	if m < n {
		return v, values, adjoint(u), s.checkSVD(a, v, values, adjoint(u), 4)
	}
	return u, values, adjoint(v), s.checkSVD(a, u, values, adjoint(v), 4)
}

package linalg

import (
	"fmt"
	"math"
	"slices"

	"github.com/gpk-go/gpk"
)

// MatrixNorm returns the norms [...], of the real type, of a stack a [..., m, n]. Without an order,
// and for the order Frobenius, the norm is sqrt(sum |a|^2). The norm of order 1 is the largest sum of
// the absolute values of a column, and that of order -1 the smallest. Orders +Inf and -Inf are the
// same for rows. Orders 2 and -2 are the largest and the smallest singular value. The nuclear norm is
// SVDVals(a).Sum(-1).
//
// Errors: for orders 2 and -2 those of SVD; gpk.ErrUnsupported for other orders; gpk.ErrShape for
// matrices without rows or columns, except for the Frobenius norm, which is 0.
func MatrixNorm(a *gpk.Array, order ...float64) *gpk.Array {
	op, err := begin("MatrixNorm", nil, 0, stack, a)
	return op.one(err, func() (*gpk.Array, error) {
		switch len(order) {
		case 0:
			return op.matrixNorms(a, Frobenius)
		case 1:
			return op.matrixNorms(a, order[0])
		}
		return nil, fmt.Errorf("%w: %d orders of the norm; want at most one", gpk.ErrUnsupported, len(order))
	})
}

func (op *operation) matrixNorms(a *gpk.Array, p float64) (*gpk.Array, error) {
	if s := a.Shape(); p != Frobenius && (s[len(s)-1] == 0 || s[len(s)-2] == 0) {
		return nil, fmt.Errorf("%w: %v: matrices without elements have no norm of order %v", gpk.ErrShape, s, p)
	}
	var x *gpk.Array
	switch p {
	case Frobenius:
		x = a.Norm(-2, -1)
	case 1:
		x = a.Abs().Sum(-2).Max(-1)
	case -1:
		x = a.Abs().Sum(-2).Min(-1)
	case math.Inf(1):
		x = a.Abs().Sum(-1).Max(-1)
	case math.Inf(-1):
		x = a.Abs().Sum(-1).Min(-1)
	case 2, -2:
		return op.extremes(a, p)
	default:
		return nil, fmt.Errorf("%w: a norm of order %v; there are 2, -2, 1, -1, +Inf, -Inf and Frobenius", gpk.ErrUnsupported, p)
	}
	return x, x.Err()
}

// extremes returns the largest singular value of each matrix, or for a negative order the smallest
// one.
func (op *operation) extremes(a *gpk.Array, p float64) (*gpk.Array, error) {
	values, err := op.engine(a).singular(op, a)
	if err != nil {
		return nil, err
	}
	list := make([]float64, len(values))
	for i, s := range values {
		if list[i] = slices.Max(s); p < 0 {
			list[i] = slices.Min(s)
		}
	}
	return reals(op, svdName, a.DType().Real(), list, a.Shape()[:a.NDim()-2]), nil
}

// MatrixPower returns the n-th powers of a stack a [..., m, m], by repeated squaring in full
// precision. Power 0 is the identity. A negative n gives powers of the inverses.
//
// Errors: for negative n those of Inv; gpk.ErrShape for matrices that are not square.
func MatrixPower(a *gpk.Array, n int) *gpk.Array {
	op, err := begin("MatrixPower", nil, 0, square, a)
	return op.one(err, func() (x *gpk.Array, err error) {
		x = a
		if n < 0 {
			if x, err = op.engine(a).inv(op, a); err != nil {
				return nil, err
			}
		}
		if n == 0 {
			x = gpk.Eye(a.DType(), a.Shape()[a.NDim()-1]).To(op.dev).BroadcastTo(a.Shape()...).Clone()
		} else if x = power(x, uint(max(n, -n))); x == a {
			x = a.Clone()
		}
		return x, x.Err()
	})
}

// power returns the n-th power, n at least 1.
func power(x *gpk.Array, n uint) *gpk.Array {
	var product *gpk.Array
	for {
		if n&1 != 0 {
			if product == nil {
				product = x
			} else {
				product = times(product, x)
			}
		}
		if n >>= 1; n == 0 {
			return product
		}
		x = times(x, x)
	}
}

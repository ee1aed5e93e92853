package linalg

import (
	"math"

	"github.com/gpk-go/gpk"
)

// determinants are the determinants of a stack of matrices, each as sign times size.
type determinants struct {
	sign []complex128
	size []scaled // the absolute values
	lead []int    // lengths of the stack's axes
}

// Det returns the determinants [...] of a stack a [..., n, n], the product of the diagonal of U
// of LU. The product may overflow or underflow; SlogDet does not. The determinant of a singular
// matrix is 0, and that of an empty one is 1.
//
// Errors: gpk.ErrNonFinite, with the index; gpk.ErrShape.
func Det(a *gpk.Array) *gpk.Array {
	op, err := begin("Det", nil, 0, square, a)
	if err == nil && op.hasSmallLU(a) {
		return op.one(nil, func() (*gpk.Array, error) { return only(op.detSmall(a, false)) })
	}
	d, err := op.determinants(a, err)
	if err != nil {
		return op.fail(err)
	}
	for i, size := range d.size {
		v := math.Ldexp(size.fraction, size.exponent)
		d.sign[i] = complex(real(d.sign[i])*v, imag(d.sign[i])*v)
	}
	return scalars(op, a.DType(), d.sign, d.lead)
}

// SlogDet returns the sign [...] and the natural logarithm of the absolute value, log [...], of
// the determinants of a stack a [..., n, n]: a determinant is sign exp(log). log has the real
// type. sign is -1, 0 or 1, or a complex number of absolute value 1. A singular matrix has sign
// 0 and log -Inf.
//
// Errors: gpk.ErrNonFinite, with the index; gpk.ErrShape.
func SlogDet(a *gpk.Array) (sign, log *gpk.Array) {
	op, err := begin("SlogDet", nil, 0, square, a)
	if err == nil && op.hasSmallLU(a) {
		both, err := op.detSmall(a, true)
		if err != nil {
			failed := op.fail(err)
			return failed, failed
		}
		return both[0], both[1]
	}
	d, err := op.determinants(a, err)
	if err != nil {
		failed := op.fail(err)
		return failed, failed
	}
	logs := make([]float64, len(d.size))
	for i, size := range d.size {
		logs[i] = math.Log(size.fraction) + float64(size.exponent)*math.Ln2
	}
	return scalars(op, a.DType(), d.sign, d.lead), reals(op, "blocked LU", a.DType().Real(), logs, d.lead)
}

func (op *operation) determinants(a *gpk.Array, err error) (determinants, error) {
	if err != nil {
		return determinants{}, err
	}
	return op.engine(a).determinants(op, a)
}

// scalars returns an array of one of the four types. It rounds the numbers of data.
func scalars(op *operation, dt gpk.DType, data []complex128, shape []int) *gpk.Array {
	const what = "blocked LU"
	switch dt {
	case gpk.Complex128:
		return result(op, what, data, shape)
	case gpk.Complex64:
		narrow := make([]complex64, len(data))
		for i, v := range data {
			narrow[i] = complex64(v)
		}
		return result(op, what, narrow, shape)
	}
	re := make([]float64, len(data))
	for i, v := range data {
		re[i] = real(v)
	}
	return reals(op, what, dt, re, shape)
}

func (host[T]) determinants(_ *operation, a *gpk.Array) (determinants, error) {
	m, err := read[T]("a", a, allElements)
	if err != nil {
		return determinants{}, err
	}
	defer m.free()
	d := determinants{make([]complex128, m.batch), make([]scaled, m.batch), m.lead}
	err = each(m.batch, m.rows, func(i int) error {
		x, pivots := m.at(i), make([]int, m.rows)
		lu(x, pivots)
		_, odd := permutation(pivots, m.rows)
		d.sign[i], d.size[i] = signSize(x.diagonal(), odd)
		return nil
	})
	return d, err
}

// scaled is the number fraction 2^exponent. It neither overflows nor underflows.
type scaled struct {
	fraction float64
	exponent int
}

// signSize returns the determinant of a factored matrix, which is the product of U's diagonal,
// as its sign and its absolute value. The sign has absolute value 1, or is 0.
func signSize[T number](diagonal []T, odd bool) (sign complex128, size scaled) {
	sign, size.fraction = 1, 1
	if odd {
		sign = -1
	}
	for _, v := range diagonal {
		re, im := parts(v)
		abs := math.Hypot(re, im)
		if abs == 0 {
			return 0, scaled{}
		}
		sign *= complex(re/abs, im/abs)
		f, e := math.Frexp(abs)
		size.fraction *= f
		f, more := math.Frexp(size.fraction)
		size.fraction = f
		size.exponent += e + more
	}
	return sign, size
}

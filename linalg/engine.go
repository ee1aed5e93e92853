package linalg

import (
	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/cusolver"
)

// engine computes the functions of this package for one element type. Its results are on the
// operands' device.
type engine interface {
	cholesky(op *operation, a *gpk.Array) (*gpk.Array, error)
	triangular(op *operation, a, b *gpk.Array, lead []int) (*gpk.Array, error)
	solve(op *operation, a, b *gpk.Array, lead []int) (*gpk.Array, error)
	inv(op *operation, a *gpk.Array) (*gpk.Array, error)
	lu(op *operation, a *gpk.Array) (order, l, u *gpk.Array, err error)
	determinants(op *operation, a *gpk.Array) (d determinants, err error)
	qr(op *operation, a *gpk.Array) (q, r *gpk.Array, err error)
	eigh(op *operation, a *gpk.Array, vectors bool) (values, z *gpk.Array, err error)
	eig(op *operation, a *gpk.Array, vectors bool) (values, v *gpk.Array, err error)
	svd(op *operation, a *gpk.Array, vectors bool) (u, s, vh *gpk.Array, err error)
	singular(op *operation, a *gpk.Array) (s [][]float64, err error)
	pinv(op *operation, a *gpk.Array, rcond float64) (*gpk.Array, error)
	leastSquares(op *operation, a, b *gpk.Array, lead []int, rcond float64) (leastSquares, error)
	norms(op *operation, a *gpk.Array, p float64) ([]float64, error)
	epsilon() float64
	systemOf(op *operation, a *gpk.Array) (system, error)
	// nonFinite names the first element that is NaN or infinite.
	nonFinite(name string, a *gpk.Array) error
}

// host implements engine in the host's memory, on the CPU.
type host[T number] struct{}

var engines = map[dtype.DType]engine{
	dtype.Float32:    host[float32]{},
	dtype.Float64:    host[float64]{},
	dtype.Complex64:  host[complex64]{},
	dtype.Complex128: host[complex128]{},
}

func (host[T]) epsilon() float64 { return epsilon[T]() }

func (host[T]) nonFinite(name string, a *gpk.Array) error {
	m, err := read[T](name, a, allElements)
	m.free()
	return err
}

// engine returns the functions for the type of a, on its device.
func (op *operation) engine(a *gpk.Array) engine {
	e := engines[a.DType()]
	if op.dev.Kind() == device.CPU {
		return e
	}
	return onGPU(op, e)
}

// onGPU returns the engine of a type on a GPU: cuSOLVER if it is available, otherwise blocked.
// Tests replace it.
var onGPU = func(op *operation, e engine) engine {
	b := blocked{e, e.(tiles), deviceBlock}
	if op.refused = cusolver.Load(); op.refused != nil {
		return b
	}
	return solver{b, solverLeast}
}

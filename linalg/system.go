package linalg

import (
	"slices"

	"github.com/gpk-go/gpk"
)

// system is a stack of factored matrices of one leading axis on a device.
type system interface {
	// solve returns A^-1 b for b [batch, n, k].
	solve(op *operation, b *gpk.Array) (*gpk.Array, error)
	// solveAdjoint returns A^-H b.
	solveAdjoint(op *operation, b *gpk.Array) (*gpk.Array, error)
}

// systemOf factors matrices with one leading axis. A singular matrix is an error, and with
// Positive one that is not positive definite.
func (host[T]) systemOf(op *operation, a *gpk.Array) (system, error) {
	f, err := factored[T](op, a)
	if err != nil {
		return nil, err
	}
	return hostSystem[T]{f}, nil
}

// factored reads and factors matrices. With Positive it uses only the lower triangle.
func factored[T number](op *operation, a *gpk.Array) (*factors[T], error) {
	m, err := read[T]("a", a, op.factoredElements())
	if err != nil {
		return nil, err
	}
	return factor(m, op.has(Positive))
}

func (op *operation) factoredElements() triangle {
	if op.has(Positive) {
		return lowerElements
	}
	return allElements
}

type hostSystem[T number] struct{ *factors[T] }

func (s hostSystem[T]) each(op *operation, b *gpk.Array, f func(i int, b matrix[T])) (*gpk.Array, error) {
	x, err := elements[T](b)
	if err != nil {
		return nil, err
	}
	return filled(op, s.name(), x, x.rows, func(i int) error {
		f(i, x.at(i))
		return nil
	})
}

func (s hostSystem[T]) solve(op *operation, b *gpk.Array) (*gpk.Array, error) {
	return s.each(op, b, s.factors.solve)
}

// solveAdjoint uses A^H = U^H L^H P.
func (s hostSystem[T]) solveAdjoint(op *operation, b *gpk.Array) (*gpk.Array, error) {
	if s.positive {
		return s.solve(op, b)
	}
	return s.each(op, b, func(i int, x matrix[T]) {
		t := s.m.at(i).adjoint()
		solveLower(t, x, false)
		solveUpper(t, x, true)
		p := s.pivots[i]
		for r := len(p) - 1; r >= 0; r-- {
			x.swap(r, p[r])
		}
	})
}

func (b blocked) systemOf(op *operation, a *gpk.Array) (system, error) {
	if b.onHost(op, a) {
		return b.engine.systemOf(op, a)
	}
	if op.has(Positive) && op.hasKernels() {
		l, err := b.choleskyOf(op, a, a.Shape()[:1])
		if err != nil {
			return nil, err
		}
		return b.kernelSystemOf(op, l)
	}
	if op.has(Positive) {
		if err := b.finite(a, lowerElements); err != nil {
			return nil, err
		}
		l, err := b.choleskyOf(op, a, a.Shape()[:1])
		return choleskySystem{b, l}, err
	}
	if err := b.finite(a, allElements); err != nil {
		return nil, err
	}
	f, err := b.factorLU(op, a)
	if err == nil {
		err = b.zeros(f.packed, a.Shape()[:1])
	}
	if err != nil {
		return nil, err
	}
	orders, err := gpk.ToSlice[int64](f.order)
	if err != nil {
		return nil, err
	}
	m := f.order.Shape()[1]
	inverse := make([]int64, len(orders))
	for i, from := range orders {
		inverse[i/m*m+int(from)] = int64(i % m)
	}
	return luSystem{b, f, result(op, "exchanges of rows", inverse, f.order.Shape())}, nil
}

type choleskySystem struct {
	blocked
	l *gpk.Array
}

func (s choleskySystem) solve(op *operation, y *gpk.Array) (*gpk.Array, error) {
	x := y.Clone()
	if err := s.substitute(op, s.l, x, false, false); err != nil {
		return nil, err
	}
	return x, s.substitute(op, adjoint(s.l), x, true, false)
}

func (s choleskySystem) solveAdjoint(op *operation, y *gpk.Array) (*gpk.Array, error) {
	return s.solve(op, y)
}

type luSystem struct {
	blocked
	luFactors
	inverse *gpk.Array // inverse permutation of order
}

func (s luSystem) solve(op *operation, y *gpk.Array) (*gpk.Array, error) {
	lead := y.Shape()[:1]
	return s.solveWith(op, s.luFactors, lead, lead, y)
}

func (s luSystem) solveAdjoint(op *operation, y *gpk.Array) (*gpk.Array, error) {
	x, t := y.Clone(), adjoint(s.packed)
	if err := s.substitute(op, t, x, false, false); err != nil {
		return nil, err
	}
	if err := s.substitute(op, t, x, true, true); err != nil {
		return nil, err
	}
	return x.TakeAlongAxis(s.inverse.Unsqueeze(-1).BroadcastTo(slices.Clone(x.Shape())...), -2), nil
}

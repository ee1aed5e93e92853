package linalg

import (
	"errors"
	"slices"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/internal/cusolver"
)

// getrf factors matrices [..., m, n]. packed [..., n, m] holds L and U by columns, and pivots [..., min(m, n)]
// the row exchanges, counted from 1. info is the first pivot that is zero, counted from 1.
func (s solver) getrf(op *operation, a *gpk.Array) (packed, pivots *gpk.Array, info *report, err error) {
	if err := s.finite(a, allElements); err != nil {
		return nil, nil, nil, err
	}
	lead, batch, m, n := shapeOf(a)
	k := min(m, n)
	info = &report{lead: lead, asked: true}
	parts := []array.Part{{DType: a.DType(), Shape: with(lead, n, m)}, {DType: gpk.Int64, Shape: with(lead, k)}}
	results, err := op.call(cusolver.Getrf, parts, []*gpk.Array{a.T()}, info, func(r *runner) error {
		if err := fill(r.Stream, r.dst[0], r.reads[0], false); err != nil {
			return err
		}
		return r.run(cusolver.Call{M: m, N: n, Batch: batch, A: stackOf(r.dst[0], m, m*n), B: cusolver.Operand{Addr: r.dst[1].Addr(), Step: k}})
	})
	if err != nil {
		return nil, nil, nil, err
	}
	return results[0], results[1], info, nil
}

// exchanges returns the row exchanges of LU of every matrix, counted from 0.
func exchanges(pivots *gpk.Array, k int) ([][]int, error) {
	list, err := gpk.ToSlice[int64](pivots)
	if err != nil {
		return nil, err
	}
	all := make([][]int, len(list)/k)
	for i := range all {
		all[i] = make([]int, k)
		for j, p := range list[i*k : (i+1)*k] {
			all[i][j] = int(p) - 1
		}
	}
	return all, nil
}

func (s solver) lu(op *operation, a *gpk.Array) (order, l, u *gpk.Array, err error) {
	if s.leavesFactors(op, a) {
		return s.blocked.lu(op, a)
	}
	packed, pivots, info, err := s.getrf(op, a)
	if err == nil {
		// After a pivot that is zero, cuSOLVER's factors differ from LAPACK's.
		if _, _, found := info.first(); found {
			return s.blocked.lu(op, a)
		}
	}
	if op.refuses(err) {
		return s.blocked.lu(op, a)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	lead, batch, m, n := shapeOf(a)
	k := min(m, n)
	all, err := exchanges(pivots, k)
	if err != nil {
		return nil, nil, nil, err
	}
	rows := make([]int64, 0, batch*m)
	for _, p := range all {
		own, _ := permutation(p, m)
		for _, r := range own {
			rows = append(rows, int64(r))
		}
	}
	// Read by rows, L^T is an upper triangle and U^T a lower one.
	lower := packed.Slice(-2, 0, k).Triu(1)
	if err := diagonals(flat(lower)).CopyFrom(1); err != nil {
		return nil, nil, nil, err
	}
	upper := packed.Slice(-1, 0, k).Tril()
	return result(op, "exchanges of rows", rows, append(slices.Clone(lead), m)), lower.T(), upper.T(), nil
}

func (s solver) determinants(op *operation, a *gpk.Array) (determinants, error) {
	if s.leavesFactors(op, a) {
		return s.blocked.determinants(op, a)
	}
	packed, pivots, info, err := s.getrf(op, a)
	if op.refuses(err) {
		return s.blocked.determinants(op, a)
	}
	if err != nil {
		return determinants{}, err
	}
	lead, batch, n, _ := shapeOf(a)
	all, err := exchanges(pivots, n)
	if err != nil {
		return determinants{}, err
	}
	odd := make([]bool, batch)
	for i, p := range all {
		_, odd[i] = permutation(p, n)
	}
	d := determinants{make([]complex128, batch), make([]scaled, batch), lead}
	if err := s.tileDeterminants(diagonals(flat(packed)), odd, d); err != nil {
		return d, err
	}
	for i, v := range info.values {
		if v != 0 { // a pivot is zero
			d.sign[i], d.size[i] = 0, scaled{}
		}
	}
	return d, nil
}

// norms returns |A| |A^-1| of every matrix, computed with the inverses. If a matrix is singular, the batch is
// left to blocked, which gives the results of the other members.
func (s solver) norms(op *operation, a *gpk.Array, p float64) ([]float64, error) {
	if s.leavesLU(op, a) {
		return s.blocked.norms(op, a, p)
	}
	f, err := s.factor(op, a)
	if errors.Is(err, ErrSingular) || err == nil && f == nil {
		return s.blocked.norms(op, a, p)
	}
	if err != nil {
		return nil, err
	}
	inverse, err := f.inverse(op)
	if op.refuses(err) {
		return s.blocked.norms(op, a, p)
	}
	if err != nil {
		return nil, err
	}
	size, err := op.matrixNorms(a, p)
	if err != nil {
		return nil, err
	}
	other, err := op.matrixNorms(inverse, p)
	if err != nil {
		return nil, err
	}
	return gpk.ToSlice[float64](size.Cast(gpk.Float64).Mul(other.Cast(gpk.Float64)))
}

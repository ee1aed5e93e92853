package linalg

import (
	"errors"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/internal/cusolver"
)

func (s solver) qr(op *operation, a *gpk.Array) (q, r *gpk.Array, err error) {
	if s.leaves(a, false) {
		return s.blocked.qr(op, a)
	}
	if err := s.finite(a, allElements); err != nil {
		return nil, nil, err
	}
	err = ErrNoConvergence
	if !s.leavesCholeskyQR(op, a) {
		q, r, err = s.choleskyQR(op, a)
	}
	if errors.Is(err, ErrNoConvergence) {
		q, r, err = s.reflected(op, a)
	}
	if op.refuses(err) {
		return s.blocked.qr(op, a)
	}
	return q, r, err
}

// reflected returns Q and R of matrices [..., m, n] by cuSOLVER.
func (s solver) reflected(op *operation, a *gpk.Array) (q, r *gpk.Array, err error) {
	lead, batch, m, n := shapeOf(a)
	k := min(m, n)
	columns := k // number of columns of Q
	if op.has(Complete) {
		columns = m
	}
	dt := a.DType()
	parts := []array.Part{{DType: dt, Shape: with(lead, n, m)}, {DType: dt, Shape: with(lead, k)}}
	factored, err := op.call(cusolver.Geqrf, parts, []*gpk.Array{a.T()}, &report{lead: lead}, func(r *runner) error {
		if err := fill(r.Stream, r.dst[0], r.reads[0], false); err != nil {
			return err
		}
		return r.run(cusolver.Call{M: m, N: n, Batch: batch, A: stackOf(r.dst[0], m, m*n), B: cusolver.Operand{Addr: r.dst[1].Addr(), Step: k}})
	})
	if err != nil {
		return nil, nil, err
	}
	packed := factored[0]
	reflectors := packed.Slice(-2, 0, k)
	made, err := op.call(cusolver.Orgqr, []array.Part{{DType: dt, Shape: with(lead, columns, m)}}, []*gpk.Array{reflectors, factored[1]}, &report{lead: lead}, func(r *runner) error {
		first := r.dst[0]
		var err error
		if first.Layout, err = first.Layout.Slice(len(lead), 0, k, 1); err != nil {
			return err
		}
		if err := fill(r.Stream, first, r.reads[0], false); err != nil {
			return err
		}
		return r.run(cusolver.Call{M: m, N: columns, K: k, Batch: batch, A: stackOf(r.dst[0], m, m*columns), B: cusolver.Operand{Addr: r.reads[1].Addr(), Step: k}})
	})
	if err != nil {
		return nil, nil, err
	}
	return made[0].T(), packed.Slice(-1, 0, columns).Tril().T(), nil
}

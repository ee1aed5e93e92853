package linalg

import (
	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/cusolver"
)

// factor returns the factored matrices of systems, or nil if they are left to blocked.
func (s solver) factor(op *operation, a *gpk.Array) (*solverSystem, error) {
	f := &solverSystem{solver: s, positive: op.has(Positive), dt: a.DType()}
	f.lead, _, f.n, _ = shapeOf(a)
	if s.leavesSystem(op, a) {
		return nil, nil
	}
	var err error
	if f.positive {
		f.packed, err = s.potrf(op, a, false, true)
	} else {
		var info *report
		f.packed, f.pivots, info, err = s.getrf(op, a)
		if err == nil {
			if i, place, found := info.first(); found {
				err = &SingularError{unravel(i, f.lead), place - 1}
			}
		}
	}
	if op.refuses(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// solverSystem is a stack of factored matrices, by columns. It implements system for one leading axis.
type solverSystem struct {
	solver
	positive bool
	dt       gpk.DType
	lead     []int
	n        int
	packed   *gpk.Array
	pivots   *gpk.Array // pivots of LU
}

func (f *solverSystem) solve(op *operation, b *gpk.Array) (*gpk.Array, error) {
	return f.of(op, b, b.Shape()[:b.NDim()-2], false)
}

func (f *solverSystem) solveAdjoint(op *operation, b *gpk.Array) (*gpk.Array, error) {
	return f.of(op, b, b.Shape()[:b.NDim()-2], !f.positive)
}

// of returns A^-1 b, or A^-H b, for right-hand sides with the leading axes lead. Those of the matrices
// broadcast to lead.
func (f *solverSystem) of(op *operation, b *gpk.Array, lead []int, adjoint bool) (*gpk.Array, error) {
	k := b.Shape()[b.NDim()-1]
	batch := product1(lead)
	if batch*k*f.n == 0 {
		return b.Clone(), nil
	}
	reads := []*gpk.Array{b.T(), f.packed}
	if !f.positive {
		reads = append(reads, f.pivots)
	}
	// If the right-hand sides and the matrices have the same leading axes, at most one call a matrix is
	// needed.
	calls, each := batch, 1
	if product1(f.lead) == batch {
		calls, each = 1, batch
	} else if product1(f.lead) == 1 {
		calls, each = 1, batch
	}
	kind := cusolver.Getrs
	if f.positive {
		kind = cusolver.Potrs
	}
	info := &report{lead: with(lead)}
	results, err := op.call(kind, []array.Part{{DType: f.dt, Shape: with(lead, k, f.n)}}, reads, info, func(r *runner) error {
		if err := fill(r.Stream, r.dst[0], r.reads[0], false); err != nil {
			return err
		}
		for i := range calls {
			c := f.callOf(r.reads, r.dst[0], k, place(i*each, lead, f.lead), i, each)
			c.Adjoint = adjoint
			if err := r.run(c); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return results[0].T(), nil
}

// inverse returns the inverses of the matrices.
func (f *solverSystem) inverse(op *operation) (*gpk.Array, error) {
	return f.of(op, gpk.Eye(f.dt, f.n).To(op.dev).BroadcastTo(with(f.lead, f.n, f.n)...), f.lead, false)
}

// callOf returns the call that solves for the right-hand sides of members i to i + each of x, with the
// matrices from number own on, or with matrix own alone.
func (f *solverSystem) callOf(reads []device.View, x device.View, k, own, i, each int) cusolver.Call {
	size := uint64(f.dt.Size())
	c := cusolver.Call{Upper: true, N: f.n, K: k, Batch: each}
	c.A = stackOf(reads[1], f.n, f.n*f.n)
	c.A.Addr += uint64(own*f.n*f.n) * size
	right := stackOf(x, f.n, k*f.n)
	right.Addr += uint64(i*each*k*f.n) * size
	if product1(f.lead) == 1 {
		c.A.Step = 0
	}
	if f.positive {
		c.B = right
		return c
	}
	c.C = right
	c.B = cusolver.Operand{Addr: reads[2].Addr() + uint64(8*own*f.n), Step: f.n}
	if product1(f.lead) == 1 {
		c.B.Step = 0
	}
	return c
}

// leavesSystem reports whether the factorization of a system is left to blocked.
func (s solver) leavesSystem(op *operation, a *gpk.Array) bool {
	if op.has(Positive) {
		return s.leavesCholesky(op, a)
	}
	return s.leavesLU(op, a)
}

func (s solver) solve(op *operation, a, b *gpk.Array, lead []int) (*gpk.Array, error) {
	if s.leavesSystem(op, a) {
		return s.blocked.solve(op, a, b, lead)
	}
	if err := s.finiteSide(a, op.system(), b); err != nil {
		return nil, err
	}
	f, err := s.factor(op, a)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return s.blocked.solve(op, a, b, lead)
	}
	x, err := f.of(op, b, lead, false)
	if op.refuses(err) {
		return s.blocked.solve(op, a, b, lead)
	}
	return x, err
}

func (s solver) inv(op *operation, a *gpk.Array) (*gpk.Array, error) {
	f, err := s.factor(op, a)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return s.blocked.inv(op, a)
	}
	x, err := f.inverse(op)
	if op.refuses(err) {
		return s.blocked.inv(op, a)
	}
	return x, err
}

func (s solver) systemOf(op *operation, a *gpk.Array) (system, error) {
	f, err := s.factor(op, a)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return s.blocked.systemOf(op, a)
	}
	return f, nil
}

package linalg

import (
	"fmt"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/cusolver"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// jacobiBatch is the largest number of rows and columns for which cuSOLVER's Jacobi methods have functions
// for a batch.
const jacobiBatch = 32

// eighKind chooses the function for eigenvalues.
func eighKind(batch, n int, batched bool) cusolver.Kind {
	switch {
	case batch == 1:
		return cusolver.Syevd
	case batched:
		return cusolver.SyevBatched
	case n <= jacobiBatch:
		return cusolver.SyevjBatched
	}
	return cusolver.Syevd
}

func (s solver) eigh(op *operation, a *gpk.Array, vectors bool) (values, z *gpk.Array, err error) {
	lead, batch, n, _ := shapeOf(a)
	kind := eighKind(batch, n, cusolver.Supported(cusolver.SyevBatched))
	if s.leaves(a, kind != cusolver.Syevd) {
		return s.blocked.eigh(op, a, vectors)
	}
	x, by, err := s.normalized(a, op.triangle())
	if err != nil {
		return nil, nil, err
	}
	info := &report{lead: lead, asked: true}
	parts := []array.Part{{DType: a.DType(), Shape: a.Shape()}, {DType: a.DType().Real(), Shape: with(lead, n)}}
	results, err := op.call(kind, parts, []*gpk.Array{x}, info, func(r *runner) error {
		// Stored by rows, the conjugate is the matrix itself stored by columns, with the triangles
		// exchanged.
		if err := fill(r.Stream, r.dst[0], r.reads[0], true); err != nil {
			return err
		}
		if err := realDiagonal(r.Stream, r.dst[0], batch, n); err != nil {
			return err
		}
		return r.run(cusolver.Call{
			Upper: !op.has(Upper), Vectors: vectors, N: n, Batch: batch,
			A: stackOf(r.dst[0], n, n*n), B: cusolver.Operand{Addr: r.dst[1].Addr(), Step: n},
		})
	})
	if op.refuses(err) {
		return s.blocked.eigh(op, a, vectors)
	}
	if err != nil {
		return nil, nil, err
	}
	if i, value, found := info.first(); found {
		return nil, nil, memberError(fmt.Errorf("%w: %d elements off the diagonal have not vanished", ErrNoConvergence, value), i, lead)
	}
	values = by.undo(op, kind, results[1])
	if !vectors {
		results[0].Free()
		return values, nil, nil
	}
	return values, results[0].T(), nil
}

// realDiagonal sets the imaginary parts of the diagonals of a dense stack to 0.
func realDiagonal(s *device.Stream, v device.View, batch, n int) error {
	if !v.DType.IsComplex() {
		return nil
	}
	l := layout.Layout{Shape: []int{batch, n}, Strides: []int{2 * n * n, 2 * (n + 1)}, Offset: 2*v.Layout.Offset + 1}
	return ops.Fill(s, device.View{Buffer: v.Buffer, DType: v.DType.Real(), Layout: l}, ops.Scalar{})
}

package linalg

import (
	"slices"

	"github.com/gpk-go/gpk"
)

// luFactors holds the LU factors of a stack of matrices with one leading axis. The engine blocked computes them.
type luFactors struct {
	packed *gpk.Array // L below the diagonal, U on and above
	order  *gpk.Array // [batch, m], Int64: row i of L U is row order[i] of A
	odd    []bool     // nil if only the order is known
	k      int        // min(m, n)
}

// factorLU handles the block columns from left to right (Crout). It updates each block column by
// all before it, and factors it with row exchanges, which it applies to all columns. Then it
// updates the block row of U and solves for it.
func (b blocked) factorLU(op *operation, a *gpk.Array) (f luFactors, err error) {
	if op.hasLU(a) {
		return luByKernels(op, a)
	}
	w := flat(a).Clone()
	s := w.Shape()
	batch, m, n := s[0], s[1], s[2]
	f = luFactors{packed: w, odd: make([]bool, batch), k: min(m, n)}
	orders := make([]int64, batch*m)
	for i := range orders {
		orders[i] = int64(i % m)
	}
	for k := 0; k < f.k; k += b.columns {
		to := min(k+b.columns, f.k)
		column := part(w, k, m, k, to)
		if k > 0 {
			if err := column.SubInPlace(times(part(w, k, m, 0, k), part(w, 0, k, k, to))); err != nil {
				return f, err
			}
		}
		packed, pivots, err := b.tileLU(op, column)
		if err != nil {
			return f, err
		}
		if err := column.CopyFrom(packed); err != nil {
			return f, err
		}
		moved := f.follow(orders, pivots, k, m)
		if err := b.gather(op, moved, w, k, [][2]int{{0, k}, {to, n}}); err != nil {
			return f, err
		}
		if to < n {
			if err := b.rowOfU(op, w, k, to); err != nil {
				return f, err
			}
		}
	}
	f.order = result(op, "exchanges of rows", orders, []int{batch, m})
	return f, f.order.Err()
}

// follow applies the row exchanges of a panel that begins at row k to the orders. It returns the
// orders of the panel's rows alone, [batch, m-k].
func (f *luFactors) follow(orders []int64, pivots [][]int, k, m int) []int64 {
	moved := make([]int64, 0, len(pivots)*(m-k))
	for i, p := range pivots {
		own, odd := permutation(p, m-k)
		f.odd[i] = f.odd[i] != odd
		old := slices.Clone(orders[i*m+k : (i+1)*m])
		for r, from := range own {
			orders[i*m+k+r] = old[from]
			moved = append(moved, int64(from))
		}
	}
	return moved
}

// gather permutes the rows of w from row k on, in some of the columns.
func (b blocked) gather(op *operation, moved []int64, w *gpk.Array, k int, columns [][2]int) error {
	s := w.Shape()
	index := result(op, "exchanges of rows", moved, []int{s[0], s[1] - k, 1})
	for _, c := range columns {
		if c[0] == c[1] {
			continue
		}
		rows := part(w, k, s[1], c[0], c[1])
		if err := rows.CopyFrom(rows.TakeAlongAxis(index.BroadcastTo(rows.Shape()...), -2)); err != nil {
			return err
		}
	}
	return nil
}

// rowOfU completes the rows k to end of U right of column end.
func (b blocked) rowOfU(op *operation, w *gpk.Array, k, end int) error {
	n := w.Shape()[2]
	row := part(w, k, end, end, n)
	if k > 0 {
		if err := row.SubInPlace(times(part(w, k, end, 0, k), part(w, 0, k, end, n))); err != nil {
			return err
		}
	}
	return b.substitute(op, part(w, k, end, k, end), row, false, true)
}

func (b blocked) lu(op *operation, a *gpk.Array) (order, l, u *gpk.Array, err error) {
	if b.onHost(op, a) {
		return b.engine.lu(op, a)
	}
	if err := b.finite(a, allElements); err != nil {
		return nil, nil, nil, err
	}
	lead := a.Shape()[:a.NDim()-2]
	f, err := b.factorLU(op, a)
	if err != nil {
		return nil, nil, nil, err
	}
	s := f.packed.Shape()
	lower := part(f.packed, 0, s[1], 0, f.k).Tril(-1)
	if err := diagonals(lower).CopyFrom(1); err != nil {
		return nil, nil, nil, err
	}
	order = f.order.Reshape(append(slices.Clone(lead), s[1])...)
	upper := part(f.packed, 0, f.k, 0, s[2]).Triu()
	l = b.finished(op, lower, lead)
	return order, l, op.Cast(upper.Reshape(append(slices.Clone(lead), f.k, s[2])...), a.DType()), nil
}

// solveWith replaces x by the solutions. x has the leading axes of the result.
func (b blocked) solveWith(op *operation, f luFactors, own, lead []int, x *gpk.Array) (*gpk.Array, error) {
	packed := f.at(f.packed, own, lead)
	index := f.at(f.order.Unsqueeze(-1), own, lead).BroadcastTo(x.Shape()...)
	x = x.TakeAlongAxis(index, -2).Clone()
	if err := b.substitute(op, packed, x, false, true); err != nil {
		return nil, err
	}
	return x, b.substitute(op, packed, x, true, false)
}

// system returns the elements that Solve reads of a matrix.
func (op *operation) system() triangle {
	if op.has(Positive) {
		return lowerElements
	}
	return allElements
}

func (b blocked) solve(op *operation, a, y *gpk.Array, lead []int) (*gpk.Array, error) {
	if b.onHost(op, a) {
		return b.engine.solve(op, a, y, lead)
	}
	if y.Size() > 0 && op.hasSmallLU(a) && !op.has(Positive) {
		return b.solvedSmall(op, a, flat(y), lead, true)
	}
	if err := b.finiteSide(a, op.system(), y); err != nil {
		return nil, err
	}
	x, err := b.solved(op, a, flat(y), lead)
	if err != nil {
		return nil, err
	}
	return b.finished(op, x, lead), nil
}

// solved returns the solutions for right-hand sides of one leading axis.
func (b blocked) solved(op *operation, a, y *gpk.Array, lead []int) (*gpk.Array, error) {
	own := a.Shape()[:a.NDim()-2]
	if op.has(Positive) {
		if !op.hasKernels() { // the kernels find NaN and Inf themselves
			if err := b.finite(a, lowerElements); err != nil {
				return nil, err
			}
		}
		l, err := b.choleskyOf(op, a, own)
		if err != nil {
			return nil, err
		}
		s := l.Shape()
		l = over(l.Reshape(append(slices.Clone(own), s[1:]...)...), lead)
		x := y.Clone()
		if err := b.substitute(op, l, x, false, false); err != nil {
			return nil, err
		}
		return x, b.substitute(op, adjoint(l), x, true, false)
	}
	if err := b.finite(a, allElements); err != nil {
		return nil, err
	}
	f, err := b.factorLU(op, a)
	if err == nil {
		err = b.zeros(f.packed, own)
	}
	if err != nil {
		return nil, err
	}
	return b.solveWith(op, f, own, lead, y)
}

func (b blocked) inv(op *operation, a *gpk.Array) (*gpk.Array, error) {
	if b.onHost(op, a) {
		return b.engine.inv(op, a)
	}
	s := a.Shape()
	lead := s[:len(s)-2]
	y := gpk.Eye(a.DType(), s[len(s)-1]).To(op.dev).BroadcastTo(product1(lead), s[len(s)-2], s[len(s)-1])
	if op.hasSmallLU(a) && !op.has(Positive) {
		return b.solvedSmall(op, a, y, lead, false)
	}
	x, err := b.solved(op, a, y, lead)
	if err != nil {
		return nil, err
	}
	return b.finished(op, x, lead), nil
}

func (b blocked) determinants(op *operation, a *gpk.Array) (determinants, error) {
	if b.onHost(op, a) {
		return b.engine.determinants(op, a)
	}
	if err := b.finite(a, allElements); err != nil {
		return determinants{}, err
	}
	f, err := b.factorLU(op, a)
	if err != nil {
		return determinants{}, err
	}
	if f.odd == nil {
		if f.odd, err = oddOrders(f.order); err != nil {
			return determinants{}, err
		}
	}
	n := len(f.odd)
	d := determinants{make([]complex128, n), make([]scaled, n), a.Shape()[:a.NDim()-2]}
	return d, b.tileDeterminants(diagonals(f.packed), f.odd, d)
}

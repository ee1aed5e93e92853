package linalg

import (
	"github.com/gpk-go/gpk"
)

// tiles are the parts of a blocked algorithm that the CPU computes if the device has no kernels for them
// (tile_device.go): small diagonal blocks and panels of few columns. Their operands are [batch, rows, columns], and are
// copied to the machine's memory and back.
type tiles interface {
	// tileCholesky returns L and L^-1 of diagonal blocks. first is the number of the matrices' rows above the blocks.
	tileCholesky(op *operation, a *gpk.Array, first int, lead []int) (l, inverse *gpk.Array, err error)
	// tileInverse returns the inverses of triangular blocks.
	tileInverse(op *operation, a *gpk.Array, upper, unit bool) (*gpk.Array, error)
	// tileLU returns the factored panel, and the row exchanges of every matrix.
	tileLU(op *operation, a *gpk.Array) (packed *gpk.Array, pivots [][]int, err error)
	// tileQR returns the panel's reflectors I - V T V^H, and the R of the panel.
	tileQR(op *operation, a *gpk.Array) (v, t, r *gpk.Array, err error)
	// tileDeterminants stores the determinants of factored matrices in d. a is their diagonals, [batch, 1, n].
	tileDeterminants(a *gpk.Array, odd []bool, d determinants) error
}

const tileName = "a block of few columns"

func (host[T]) tileCholesky(op *operation, a *gpk.Array, first int, lead []int) (l, inverse *gpk.Array, err error) {
	op.copied = true
	m, err := elements[T](a)
	if err != nil {
		return nil, nil, err
	}
	x, err := newMatrices[T](m.lead, m.rows, m.cols)
	if err != nil {
		return nil, nil, err
	}
	err = each(m.batch, m.rows, func(i int) error {
		t := m.at(i)
		if order := cholesky(t); order > 0 {
			return &DefiniteError{unravel(i, lead), first + order}
		}
		for r := range t.rows {
			clear(t.row(r)[r+1:])
		}
		setIdentity(x.at(i))
		solveLower(t, x.at(i), false)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return stacked(op, tileName, m), stacked(op, tileName, x), nil
}

func setIdentity[T number](m matrix[T]) {
	for i := range min(m.rows, m.cols) {
		m.set(i, i, 1)
	}
}

// elements reads a without a check for NaN and Inf.
func elements[T number](a *gpk.Array) (matrices[T], error) {
	s := a.Shape()
	m, err := uninitialized[T](s[:len(s)-2], s[len(s)-2], s[len(s)-1])
	if err != nil {
		return m, err
	}
	return m, gpk.ToSliceInto(m.data, a)
}

func (host[T]) tileInverse(op *operation, a *gpk.Array, upper, unit bool) (*gpk.Array, error) {
	op.copied = true
	m, err := elements[T](a)
	if err != nil {
		return nil, err
	}
	x, err := newMatrices[T](m.lead, m.rows, m.cols)
	if err != nil {
		return nil, err
	}
	return filled(op, tileName, x, m.rows, func(i int) error {
		setIdentity(x.at(i))
		if upper {
			solveUpper(m.at(i), x.at(i), unit)
		} else {
			solveLower(m.at(i), x.at(i), unit)
		}
		return nil
	})
}

func (host[T]) tileLU(op *operation, a *gpk.Array) (packed *gpk.Array, pivots [][]int, err error) {
	op.copied = true
	m, err := elements[T](a)
	if err != nil {
		return nil, nil, err
	}
	pivots = make([][]int, m.batch)
	packed, err = filled(op, tileName, m, m.rows, func(i int) error {
		pivots[i] = make([]int, min(m.rows, m.cols))
		lu(m.at(i), pivots[i])
		return nil
	})
	return packed, pivots, err
}

func (host[T]) tileQR(op *operation, a *gpk.Array) (v, t, r *gpk.Array, err error) {
	op.copied = true
	m, err := elements[T](a)
	if err != nil {
		return nil, nil, nil, err
	}
	k := min(m.rows, m.cols)
	vs, err := newMatrices[T](m.lead, m.rows, k)
	if err != nil {
		return nil, nil, nil, err
	}
	ts, err := newMatrices[T](m.lead, k, k)
	if err != nil {
		return nil, nil, nil, err
	}
	err = each(m.batch, m.rows, func(i int) error {
		b := panel(m.at(i), newMatrix[T](k, m.rows), m.at(i))
		b.vh.transposeTo(vs.at(i))
		conjugate(vs.at(i).data)
		copy(ts.at(i).data, b.t.data)
		return nil
	})
	return stacked(op, tileName, vs), stacked(op, tileName, ts), stacked(op, tileName, m), err
}

func (host[T]) tileDeterminants(a *gpk.Array, odd []bool, d determinants) error {
	m, err := elements[T](a)
	for i := range odd {
		if err != nil {
			break
		}
		d.sign[i], d.size[i] = signSize(m.at(i).row(0), odd[i])
	}
	return err
}

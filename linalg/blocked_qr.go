package linalg

import "github.com/gpk-go/gpk"

// deviceReflectors is the counterpart of reflectors on a device. It changes the rows from
// row `at` on.
type deviceReflectors struct {
	at   int
	v, t *gpk.Array
}

// apply replaces c by Q c, or Q^H c.
func (r deviceReflectors) apply(c *gpk.Array, transposed bool) error {
	t := r.t
	if transposed {
		t = adjoint(t)
	}
	return c.SubInPlace(times(r.v, times(t, times(adjoint(r.v), c))))
}

func (b blocked) qr(op *operation, a *gpk.Array) (q, r *gpk.Array, err error) {
	if b.small(a) {
		return b.engine.qr(op, a)
	}
	if err := b.finite(a, allElements); err != nil {
		return nil, nil, err
	}
	lead := a.Shape()[:a.NDim()-2]
	w := flat(a).Clone()
	s := w.Shape()
	m, n := s[1], s[2]
	k := min(m, n)
	var list []deviceReflectors
	for j := 0; j < k; j += b.columns {
		to := min(j+b.columns, k)
		column := part(w, j, m, j, to)
		v, t, top, err := b.tileQR(op, column)
		if err != nil {
			return nil, nil, err
		}
		if err := column.CopyFrom(top); err != nil {
			return nil, nil, err
		}
		one := deviceReflectors{j, v, t}
		if to < n {
			if err := one.apply(part(w, j, m, to, n), true); err != nil {
				return nil, nil, err
			}
		}
		list = append(list, one)
	}
	rows := k
	if op.has(Complete) {
		rows = m
	}
	q = part(gpk.Eye(a.DType(), m).To(op.dev), 0, m, 0, rows).BroadcastTo(s[0], m, rows).Clone()
	for i := len(list) - 1; i >= 0; i-- {
		if err := list[i].apply(part(q, list[i].at, m, list[i].at, rows), false); err != nil {
			return nil, nil, err
		}
	}
	r = part(w, 0, rows, 0, n).Triu()
	q = b.finished(op, q, lead)
	return q, op.Cast(r.Reshape(append(append([]int{}, lead...), rows, n)...), a.DType()), nil
}

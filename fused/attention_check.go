package fused

import (
	"fmt"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
)

// Check returns the shape of the result, or the first problem of the operands: ErrShape,
// ErrDType or ErrUnsupported. It looks only at types and layouts, and not at Dst. The mask
// may be of any real type, and need not have been broadcast.
func (a *Attention) Check() ([]int, error) {
	shape, err := a.checkShapes()
	if err == nil {
		err = a.checkTypes()
	}
	return shape, err
}

func (a *Attention) checkShapes() ([]int, error) {
	q, k, v := a.Q.Layout.Shape, a.K.Layout.Shape, a.V.Layout.Shape
	axes, names := 4, "[batch, heads, rows, dim]"
	if a.ragged() {
		axes, names = 3, "with Offsets [heads, rows, dim]"
	}
	for i, s := range [][]int{q, k, v} {
		if len(s) != axes {
			return nil, layout.Errorf("%c is %v, not %s", "qkv"[i], s, names)
		}
	}
	if err := a.checkRagged(); err != nil {
		return nil, err
	}
	if err := checkAgreement(q, k, v); err != nil {
		return nil, err
	}
	shape := append([]int{}, q...)
	shape[axes-1] = v[axes-1]
	_, err := layout.Size(shape)
	return shape, err
}

// checkAgreement returns an error if the lengths of queries, keys and values do not agree.
// Views without a batch axis are a ragged batch.
func checkAgreement(q, k, v []int) error {
	lead := len(q) - 3
	heads, kv := q[lead], k[lead]
	rows, dim := lead+1, lead+2
	switch {
	case lead == 1 && (q[0] != k[0] || q[0] != v[0]):
		return layout.Errorf("batches of %d, %d and %d", q[0], k[0], v[0])
	case kv != v[lead]:
		return layout.Errorf("k has %d heads, and v has %d", kv, v[lead])
	case kv == 0 && heads != 0 || kv > 0 && heads%kv != 0:
		return layout.Errorf("%d query heads are not a multiple of %d KV heads", heads, kv)
	case k[rows] != v[rows]:
		return layout.Errorf("%d keys and %d values", k[rows], v[rows])
	case q[dim] != k[dim]:
		return layout.Errorf("queries of length %d and keys of length %d", q[dim], k[dim])
	case lead == 0 && q[rows] != k[rows]:
		return layout.Errorf("%d queries and %d keys, which have the same Offsets", q[rows], k[rows])
	}
	return nil
}

// checkRagged returns an error for a mask together with offsets, and for offsets that are
// not a vector.
func (a *Attention) checkRagged() error {
	f := a.Offsets.Layout.Shape
	switch {
	case !a.ragged():
		return nil
	case a.Mask.DType.Valid():
		return fmt.Errorf("%w: a Mask with Offsets: a ragged batch has no padding to hide; run sequences with masks as a batch [batch, heads, rows, dim]", expr.ErrUnsupported)
	case len(f) != 1 || f[0] == 0:
		return layout.Errorf("the offsets are %v, not [batch+1]", f)
	}
	return nil
}

func (a *Attention) checkTypes() error {
	switch {
	case !a.Q.DType.IsFloat():
		return fmt.Errorf("%w: no attention of %v; Cast(gpk.Float32)", dtype.ErrDType, a.Q.DType)
	case a.ragged() && a.Offsets.DType != dtype.Int32:
		return fmt.Errorf("%w: the offsets are %v, not int32; Cast(gpk.Int32) them", dtype.ErrDType, a.Offsets.DType)
	case a.Mask.DType.IsComplex():
		return fmt.Errorf("%w: a mask of %v", dtype.ErrDType, a.Mask.DType)
	}
	return nil
}

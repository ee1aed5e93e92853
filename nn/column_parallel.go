package nn

import (
	"fmt"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/dist"
)

// ColumnParallel is a Linear whose out features are divided among the ranks: rank i of n holds rows i out/n
// to (i+1) out/n - 1 of the weight, and the same elements of the bias. A feature has the same bits as in the
// whole layer if both products use the same kernel. On the CPU they do if a rank has more than four
// features.
type ColumnParallel struct {
	*Linear      // the layer with the rank's features
	Gather  bool // Forward returns the features of all ranks

	comm *dist.Comm
}

// NewColumnParallel returns the rank's part of a layer. It is ErrShape if the number of ranks does not
// divide the out features.
func NewColumnParallel(c *dist.Comm, l *Linear) (*ColumnParallel, error) {
	part, err := columnParallel(c, l)
	return part, array.NewOperation("nn.NewColumnParallel", nil).Wrap(err)
}

// columnParallel is NewColumnParallel without the name and the line in its errors.
func columnParallel(c *dist.Comm, l *Linear) (*ColumnParallel, error) {
	if err := checkParallel(c, l != nil); err != nil {
		return nil, err
	}
	part, err := columns(c, l)
	if err != nil {
		return nil, err
	}
	return &ColumnParallel{Linear: part, comm: c}, nil
}

// Forward returns [..., out/n] for x of [..., in], the rank's features; with Gather it returns
// [..., out], and all ranks call it.
func (l *ColumnParallel) Forward(x *gpk.Array) *gpk.Array {
	y := l.Linear.Forward(x)
	if !l.Gather || l.comm.Size() == 1 {
		return y
	}
	return l.comm.AllGather(y, -1)
}

// checkParallel returns an error if the Comm or the layer is nil.
func checkParallel(c *dist.Comm, layer bool) error {
	switch {
	case c.Size() == 0:
		return fmt.Errorf("%w: a parallel layer over a nil Comm", gpk.ErrUnsupported)
	case !layer:
		return fmt.Errorf("%w: a parallel layer of a nil layer", gpk.ErrUnsupported)
	}
	return nil
}

// columns returns a layer with the rank's features of l.
func columns(c *dist.Comm, l *Linear) (*Linear, error) {
	weight, err := l.Weight.part(0, c)
	if err != nil {
		return nil, err
	}
	part := &Linear{Weight: weight, Activation: l.Activation, Precision: l.Precision}
	if l.Bias != nil {
		if part.Bias, err = l.Bias.part(0, c); err != nil {
			return nil, err
		}
	}
	return part, nil
}

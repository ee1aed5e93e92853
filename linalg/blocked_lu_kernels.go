package linalg

import (
	"fmt"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// kernelLU computes LU with partial pivoting with the library's kernels.
type kernelLU struct {
	kernelRun
	order *device.Buffer // int64 [batch, rows]
}

// run writes the factors of reads[0] to dst, and the orders of the rows to a new buffer, c.order.
func (c *kernelLU) run(s *device.Stream, dst device.View, reads []device.View) error {
	c.s = s
	if err := ops.Cast(s, dst, reads[0]); err != nil {
		return err
	}
	w := dense3(dst)
	shape := w.Layout.Shape
	c.order.Free()
	var err error
	if c.order, err = s.Device().Alloc(int64(shape[0])*int64(shape[1])*8, s); err != nil {
		return err
	}
	size := int64(min(shape[0], cutlass.FactorMembers)) * cutlass.FactorLUBytes
	work, err := s.Device().Alloc(size, s)
	if err != nil {
		return err
	}
	defer work.Free()
	return c.launch(cutlass.Factor{
		Op: cutlass.FactorLU, Type: w.DType, A: factorOperand(w), C: cutlass.FactorOperand{Data: c.order.Addr(), Member: shape[1]},
		Rows: shape[1], Cols: shape[2], Batch: shape[0], Workspace: work.Addr(), WorkspaceBytes: size,
	}, nil, []*device.Buffer{w.Buffer, c.order, work})
}

// luByKernels factors the matrices of a.
func luByKernels(op *operation, a *gpk.Array) (luFactors, error) {
	if err := op.Waits(); err != nil {
		return luFactors{}, err
	}
	x := flat(a)
	s := x.Shape()
	c := &kernelLU{}
	defer func() { c.order.Free() }()
	packed := op.Result(x.DType(), s, fmt.Sprintf("LU by kernels on %v", op.dev), []*gpk.Array{x}, c.run)
	if err := gpk.Eval(packed); err != nil {
		return luFactors{}, err
	}
	order := op.Result(dtype.Int64, s[:2], "exchanges of rows", []*gpk.Array{packed}, func(s *device.Stream, dst device.View, _ []device.View) error {
		return ops.Cast(s, dst, device.View{Buffer: c.order, DType: dtype.Int64, Layout: layout.Dense(dst.Layout.Shape)})
	})
	return luFactors{packed: packed, order: order, k: min(s[1], s[2])}, gpk.Eval(order)
}

// oddOrders reports for each line of an array of Int64 [batch, rows] whether it is an odd permutation.
// A permutation is odd if it has an odd number of cycles of even length.
func oddOrders(order *gpk.Array) ([]bool, error) {
	list, err := gpk.ToSlice[int64](order)
	if err != nil {
		return nil, err
	}
	n := order.Shape()[1]
	odd := make([]bool, order.Shape()[0])
	for i := range odd {
		line := list[i*n : (i+1)*n]
		for at := range line {
			for line[at] != int64(at) {
				next := line[at]
				line[at], line[next] = line[next], next
				odd[i] = !odd[i]
			}
		}
	}
	return odd, nil
}

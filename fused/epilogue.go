package fused

import (
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/matmul"
)

// activations are the operations of a chain that a product's epilogue can compute.
var activations = map[expr.Op]matmul.Activation{expr.ReLU: matmul.ReLU, expr.GELU: matmul.GELU}

// Epilogue returns the chain behind a product of type dt, which is one of the program's
// leaves, as arguments of the epilogue of the product's kernel. It reports false if an
// epilogue cannot compute the chain: the bias must be one row, and the function one of
// activations. column says that the product is a column; a column has no bias row.
func (b *Builder) Epilogue(leaf uint8, dt dtype.DType, column bool) (t matmul.EpilogueArgs, ok bool) {
	x, ok := b.Program().Epilogue(leaf)
	t.Scale = 1
	if ok && x.Scale >= 0 {
		t.Scale, ok = b.Numbers()[x.Scale].Float32(dt)
	}
	if ok && x.Bias >= 0 {
		t.Bias = b.Views()[x.Bias]
		t.Bias.Layout, ok = t.Bias.Layout.Row()
		ok = ok && !column
	}
	if ok && x.Function != expr.None {
		t.Activation, ok = activations[x.Function]
	}
	return t, ok
}

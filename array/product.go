package array

import (
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/product"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/matmul"
)

// MatMul returns the matrix product of a and b, as NumPy's matmul: 2-D arrays are matrices,
// and leading axes are a batch and broadcast. A 1-D a is a row and a 1-D b a column; the
// result lacks that axis. Both types must be equal. Types of 16 bits accumulate in
// float32; Int8 and Uint8 give Int32. See matmul.Precision for what float32 means. b may be
// packed.
func (a *Array) MatMul(b *Array, opts ...matmul.Option) *Array {
	c := call{"MatMul", here()}
	o := matmul.Collect(opts)
	b, packed, err := b.unpacked(&o, false)
	if err != nil {
		return c.failed(err, a, b)
	}
	return multiply(c, a, b, b, nil, matmul.NoActivation, &o, packed)
}

// Linear returns act(x w^T + bias) for x [..., in], w [out, in] as PyTorch stores it, and
// bias [out] or nil. The result is rounded once. w may be packed.
func Linear(x, w, bias *Array, act matmul.Activation, opts ...matmul.Option) *Array {
	c := call{"Linear", here()}
	if act != matmul.NoActivation {
		c.name += "Bias" + act.String()
	}
	o := matmul.Collect(opts)
	w, packed, err := w.unpacked(&o, true)
	if err == nil {
		err = check(x, w)
	}
	switch {
	case err != nil:
	case w.NDim() != 2:
		err = layout.Errorf("w has shape %v, not [out, in]", w.lay.Shape)
	case x.NDim() == 0:
		err = layout.Errorf("x is 0-d, not [..., in]")
	case x.lay.Shape[x.NDim()-1] != w.lay.Shape[1]:
		err = layout.Errorf("x has rows of %d elements, and w, [out, in], has rows of %d", x.lay.Shape[x.NDim()-1], w.lay.Shape[1])
	}
	if err != nil {
		return c.failed(err, x, w, bias)
	}
	return multiply(c, x, w.with(w.lay.T()), w, bias, act, &o, packed)
}

// multiply returns act(a b + bias). An error shows b as shown. packed holds the packed forms of b, nil for none.
func multiply(c call, a, b, shown, bias *Array, act matmul.Activation, o *matmul.Options, packed *matmul.Packed) *Array {
	err := match(a, b)
	var p *product.Product
	if err == nil {
		p, err = product.New(a.on(), a.dt, a.lay.Shape, b.lay.Shape, bias != nil, act, o)
	}
	row := bias
	if err == nil && bias != nil {
		row, err = biasRow(&c, bias, b, p.DType)
	}
	if err != nil {
		return c.failed(err, a, shown, bias)
	}
	p.Packed = packed
	n := newNode(c)
	n.product, n.fusion, n.strided, n.run = p, gemm, true, runProduct
	operands := []*Array{a, b}
	if row != nil {
		operands = append(operands, row)
	}
	var room [8]int
	return n.result(streamOf(operands...), p.DType, layout.CachedDense(p.Shapes.Shape(room[:0])), 0, operands...)
}

func runProduct(j *job, s *device.Stream, dst device.View) error {
	j.product.Place(dst)
	return j.product.Run(s)
}

// biasRow checks a bias and returns it dense and in the result's type.
func biasRow(c *call, bias, b *Array, dt dtype.DType) (*Array, error) {
	if err := bias.check(); err != nil {
		return nil, err
	}
	n := b.lay.Shape[b.NDim()-1]
	if bias.NDim() != 1 || bias.lay.Shape[0] != n {
		return nil, layout.Errorf("bias has shape %v, not [%d]", bias.lay.Shape, n)
	}
	if bias.dt != b.dt && bias.dt != dt {
		return nil, sameType(b, bias)
	}
	if err := sameDevice(b, bias); err != nil {
		return nil, err
	}
	if bias.dt == dt && bias.lay.IsDense() {
		return bias, nil
	}
	return elementwise(*c, cast, dt, bias), nil
}

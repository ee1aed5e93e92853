package route

import (
	"math"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/ops"
)

// class is a kind of operation. All operations of a class take the same time for the same work.
type class uint8

// The classes. The work of a product is its flops, that of a smooth operation is its elements,
// and that of the others is their bytes.
const (
	elementwise class = iota // Add represents them
	smooth                   // exponentials and similar functions, which are limited by arithmetic; Exp represents them
	reduction                // Sum
	order                    // Sort
	product                  // MatMul

	// On a GPU, reductions and products read 16 bytes at a time. If the lengths do not allow
	// this, reductions read less at a time, and products first copy their operands.
	raggedReduction
	raggedProduct

	classes
)

var classNames = [classes]string{"elementwise", "smooth", "reduction", "order", "product", "ragged reduction", "ragged product"}

func (c class) String() string { return classNames[c] }

// alignment is the number of bytes that kernels read at a time.
const alignment = 16

// whole returns the class for lengths that are not ragged.
func (c class) whole() class {
	switch c {
	case raggedReduction:
		return reduction
	case raggedProduct:
		return product
	}
	return c
}

// ragged returns the class for operations of c with ragged lengths, or c if there is none.
func (c class) ragged() class {
	switch c {
	case reduction:
		return raggedReduction
	case product:
		return raggedProduct
	}
	return c
}

// isRagged reports whether c distinguishes ragged lengths and the operation has them.
func (o *Op) isRagged(c class) bool {
	size := int64(o.DType.Size())
	if size == 0 || o.Elements <= 0 {
		return false
	}
	return c == reduction && o.Elements*size%alignment != 0 || c == product && o.raggedProduct(size)
}

// raggedProduct reports whether a length of the matrices is no multiple of the alignment. The
// lengths m, n and k follow from the operation's figures, up to their order: m n k is half of
// the flops, mn + mk + nk is the size of operands and result, and the largest of mn, mk and nk
// is Elements. If no integers fit the figures, as for a batch, the product counts as aligned.
func (o *Op) raggedProduct(size int64) bool {
	all, sum := o.Flops/2, o.Bytes/size
	c := all / o.Elements // the smallest of the three lengths
	if c <= 0 || c*o.Elements != all {
		return false
	}
	both := (sum - o.Elements) / c // sum of the other two lengths, whose product is Elements
	root := int64(math.Sqrt(float64(both*both - 4*o.Elements)))
	a := (both + root) / 2
	b := both - a
	return a*b == o.Elements && c*both == sum-o.Elements && (a|b|c)*size%alignment != 0
}

// classByName maps the names of operations to classes. It is not modified after the program has
// started.
var classByName = func() map[string]class {
	m := map[string]class{}
	for _, row := range ops.Table {
		switch {
		case row.Kind == ops.Reduction:
			m[row.Op.String()] = reduction
		case row.Kind == ops.Order:
			m[row.Op.String()] = order
		case row.Op.IsSmooth():
			m[row.Op.String()] = smooth
		default:
			m[row.Op.String()] = elementwise
		}
	}
	for _, name := range []string{"Softmax", "LogSoftmax", "SwiGLU", "GEGLU", "RoPE"} {
		m[name] = smooth
	}
	for _, name := range []string{
		"MatMul", "Linear", "LinearBiasGELU", "LinearBiasReLU", "LinearBiasSiLU", "LinearBiasGELUTanh", "Attention",
	} {
		m[name] = product
	}
	return m
}()

// classOf returns the class of an operation. A product without Flops counts as element-wise.
func (o *Op) classOf() class {
	c, known := classByName[o.Name]
	if !known && o.Flops > 0 {
		return product
	}
	if c == product && o.Flops <= 0 {
		return elementwise
	}
	return c
}

// bytes returns the bytes that the operation reads and writes.
func (o *Op) bytes() float64 {
	if o.Bytes > 0 {
		return float64(o.Bytes)
	}
	return 3 * o.result()
}

// result returns the bytes of the largest operand or result.
func (o *Op) result() float64 { return float64(max(o.Elements, 0)) * float64(o.DType.Size()) }

// work returns the work of an operation in the unit of a class.
func (o *Op) work(c class) float64 {
	switch c {
	case product, raggedProduct:
		return float64(o.Flops)
	case smooth:
		return float64(max(o.Elements, 0))
	}
	return o.bytes()
}

// types is the largest element type plus one.
const types = int(dtype.Uint64) + 1

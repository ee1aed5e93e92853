package route

import (
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/ops"
)

// class is a kind of operation, whose members take the same time for the same work.
type class uint8

// The classes. The work of a product is its flops, that of smooth operations their
// elements, and that of the others their bytes.
const (
	elementwise class = iota // Add stands for them
	smooth                   // exponentials and the like, which compute more than they move: Exp
	reduction                // Sum
	order                    // Sort
	product                  // MatMul
	classes
)

var classNames = [classes]string{"elementwise", "smooth", "reduction", "order", "product"}

func (c class) String() string { return classNames[c] }

// classByName is the class of every operation that has a name. It is not written after
// the program has started.
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

// classOf returns the class of an operation. A product without flops counts as element-wise.
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

// work returns the work of an operation of a class, in its unit.
func (o *Op) work(c class) float64 {
	switch c {
	case product:
		return float64(o.Flops)
	case smooth:
		return float64(max(o.Elements, 0))
	}
	return o.bytes()
}

// types is one more than the largest element type.
const types = int(dtype.Complex128) + 1

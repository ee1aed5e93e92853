package linalg

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/cpu"
)

// matrix is a matrix in the machine's memory: element (i, j) is data[i*stride+j].
type matrix[T number] struct {
	data               []T
	rows, cols, stride int
}

func newMatrix[T number](rows, cols int) matrix[T] {
	return matrix[T]{zeros[T](rows * cols), rows, cols, max(1, cols)}
}

// zeros returns n zeros at an address that is a multiple of 16. gonum's Sdot and Cdotc begin with the elements before
// such an address, so the order of a sum, and its bits, depend on the address of a vector. Go's allocator would place
// vectors of up to 24 bytes at any multiple of 8.
//
//go:noinline
func zeros[T number](n int) []T {
	const line = 16
	size := int(unsafe.Sizeof(T(0)))
	for room := n; ; room += line / size {
		data := make([]T, room)
		if skip := int(-uintptr(pointer(data))%line) / size; skip+n <= room {
			return data[skip:][:n:n]
		}
	}
}

func identity[T number](n int) matrix[T] {
	m := newMatrix[T](n, n)
	setIdentity(m)
	return m
}

// dense returns a matrix over elements without gaps.
func dense[T number](data []T, rows, cols int) matrix[T] {
	return matrix[T]{data, rows, cols, max(1, cols)}
}

// at returns the element (i, j).
func (m matrix[T]) at(i, j int) T { return m.data[i*m.stride+j] }

func (m matrix[T]) set(i, j int, v T) { m.data[i*m.stride+j] = v }

// row returns the elements of row i.
func (m matrix[T]) row(i int) []T {
	if m.cols == 0 {
		return nil
	}
	return m.data[i*m.stride:][:m.cols:m.cols]
}

// part returns the rows i0 to i1 and columns j0 to j1 as a view.
func (m matrix[T]) part(i0, i1, j0, j1 int) matrix[T] {
	p := matrix[T]{nil, i1 - i0, j1 - j0, m.stride}
	if p.rows > 0 && p.cols > 0 {
		p.data = m.data[i0*m.stride+j0:]
	}
	return p
}

// clone returns a copy without gaps.
func (m matrix[T]) clone() matrix[T] {
	c := newMatrix[T](m.rows, m.cols)
	for i := range m.rows {
		copy(c.row(i), m.row(i))
	}
	return c
}

// transpose returns a copy of the transpose.
func (m matrix[T]) transpose() matrix[T] {
	c := newMatrix[T](m.cols, m.rows)
	m.transposeTo(c)
	return c
}

// transposeTo writes the transpose to c.
func (m matrix[T]) transposeTo(c matrix[T]) {
	if len(c.data) > 0 {
		dt := dtype.Of[T]()
		_ = cpu.Cast(dt, dt, []int{c.rows, c.cols}, pointer(m.data), []int{1, m.stride}, pointer(c.data), []int{c.stride, 1})
	}
}

// adjoint returns a copy of the conjugate transpose.
func (m matrix[T]) adjoint() matrix[T] {
	c := m.transpose()
	conjugate(c.data)
	return c
}

// scratch returns memory for n elements, whose contents are undefined. The memory is valid until lent is freed.
func scratch[T number](n int) (data []T, lent cpu.Scratch[float64]) {
	lent = cpu.NewScratch[float64]((n*int(unsafe.Sizeof(T(0))) + 7) / 8)
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(lent.Data()))), n), lent
}

// scratchMatrix is scratch for a matrix.
func scratchMatrix[T number](rows, cols int) (m matrix[T], lent cpu.Scratch[float64]) {
	data, lent := scratch[T](rows * cols)
	return dense(data, rows, cols), lent
}

// diagonal returns a copy of the diagonal.
func (m matrix[T]) diagonal() []T {
	d := make([]T, min(m.rows, m.cols))
	for i := range d {
		d[i] = m.at(i, i)
	}
	return d
}

// swap exchanges two rows.
func (m matrix[T]) swap(i, j int) {
	if i == j || m.cols == 0 {
		return
	}
	x, y := m.row(i), m.row(j)
	for k := range x {
		x[k], y[k] = y[k], x[k]
	}
}

// operand is a matrix as an operand of a product.
type operand[T number] struct {
	matrix[T]
	adjoint bool // the conjugate transpose is read
}

func plain[T number](m matrix[T]) operand[T] { return operand[T]{m, false} }
func adj[T number](m matrix[T]) operand[T]   { return operand[T]{m, true} }

func (o operand[T]) cpu() cpu.Operand {
	p := cpu.Operand{Data: pointer(o.data), RS: o.stride, CS: 1}
	if o.adjoint {
		p.RS, p.CS, p.Conj = 1, o.stride, isComplex[T]()
	}
	return p
}

// from returns the rows i0 to i1 of the operand.
func (o operand[T]) from(i0, i1 int) operand[T] {
	if o.adjoint {
		return operand[T]{o.part(0, o.rows, i0, i1), true}
	}
	return operand[T]{o.part(i0, i1, 0, o.cols), false}
}

func (o operand[T]) dims() (rows, cols int) {
	if o.adjoint {
		return o.cols, o.rows
	}
	return o.rows, o.cols
}

// multiply sets c = a b.
func multiply[T number](c matrix[T], a, b operand[T]) {
	_, k := a.dims()
	if c.rows == 0 || c.cols == 0 {
		return
	}
	if k == 0 {
		for i := range c.rows {
			clear(c.row(i))
		}
		return
	}
	dt := dtype.Of[T]()
	// Gemm supports the types and shapes of this product.
	_ = cpu.Gemm(dt, dt, c.rows, c.cols, k, a.cpu(), b.cpu(), pointer(c.data), c.stride, nil)
}

// product returns a b.
func product[T number](a, b operand[T]) matrix[T] {
	rows, _ := a.dims()
	_, cols := b.dims()
	c := newMatrix[T](rows, cols)
	multiply(c, a, b)
	return c
}

const (
	fewProducts = 1 << 10 // largest size of a product, in multiplications of a and b, that loops compute as fast as Gemm
	scratchSize = 1 << 19 // elements of temporary memory for a product
)

// subtract sets c -= a b.
func subtract[T number](c matrix[T], a, b operand[T]) {
	_, k := a.dims()
	if c.rows == 0 || c.cols == 0 || k == 0 {
		return
	}
	if !b.adjoint && k <= loopColumns && c.cols >= loopColumns && loops[T](c.rows, c.cols) {
		pitch, step := a.stride, 1
		if a.adjoint {
			pitch, step = 1, a.stride
		}
		cpu.SubtractProduct(c.data, c.stride, c.rows, c.cols, a.data, pitch, step, b.data, b.stride, k, false)
		return
	}
	if !a.adjoint && !b.adjoint && c.rows*c.cols*k <= fewProducts {
		for i := range c.rows {
			for p, v := range a.row(i) {
				axpy(-v, b.row(p), c.row(i))
			}
		}
		return
	}
	step := min(c.rows, max(1, scratchSize/c.cols))
	data, lent := scratch[T](step * c.cols)
	defer lent.Free()
	t := dense(data, step, c.cols)
	dt := dtype.Of[T]()
	for i := 0; i < c.rows; i += step {
		to := min(i+step, c.rows)
		d := c.part(i, to, 0, c.cols)
		multiply(t.part(0, to-i, 0, c.cols), a.from(i, to), b)
		_ = cpu.Binary(expr.Sub, dt, dt, []int{d.rows, d.cols}, pointer(d.data), []int{d.stride, 1},
			pointer(t.data), []int{t.stride, 1}, pointer(d.data), []int{d.stride, 1})
	}
}

package linalg

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/cpu"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/layout"
)

// operation is a call of an exported function.
type operation struct {
	*array.Operation
	name string
	dev  *device.Device
	set  Option
	// copied says that the CPU has computed blocks of few columns.
	copied bool
	// refused is the reason why cuSOLVER does not compute the operation on a GPU. It is nil if cuSOLVER computes it, or
	// if cuSOLVER was not considered.
	refused error
}

// begin makes the checks of every function of this package: the arrays carry no error, are on one device and have one
// of the four types, and the function accepts the options. shape, if not nil, checks the shape of the first array.
func begin(name string, given []Option, allowed Option, shape func(a *gpk.Array) error, as ...*gpk.Array) (*operation, error) {
	op := &operation{Operation: array.NewOperation("linalg."+name, as), name: name}
	if err := op.Check(); err != nil {
		return op, err
	}
	op.dev = as[0].Device()
	for _, o := range given {
		if o == 0 || o&^allowed != 0 {
			return op, fmt.Errorf("%w: %s has no option %v", gpk.ErrUnsupported, name, o)
		}
		op.set |= o
	}
	if err := op.SameType(as...); err != nil {
		return op, err
	}
	if engines[as[0].DType()] == nil {
		return op, fmt.Errorf("%w: %v; linear algebra supports float32, float64, complex64 and complex128: Cast first", gpk.ErrDType, as[0].DType())
	}
	if shape == nil {
		return op, nil
	}
	return op, shape(as[0])
}

// one returns the result of f, or an array that carries err or the error of f.
func (op *operation) one(err error, f func() (*gpk.Array, error)) *gpk.Array {
	var x *gpk.Array
	if err == nil {
		x, err = f()
	}
	if err != nil {
		return op.fail(err)
	}
	return x
}

func (op *operation) has(o Option) bool { return op.set&o != 0 }

// fail returns an array that carries an error. If the error is that of an operation inside this package, its line of
// the program is removed, because op names the same line.
func (op *operation) fail(err error) *gpk.Array {
	var inner, outer *gpk.OpError
	if errors.As(err, &inner) && inner.Op != "linalg."+op.name && !errors.Is(op.Check(), err) &&
		errors.As(op.Wrap(inner.Err), &outer) && (inner.Site == outer.Site || within(inner.Site)) {
		err = fmt.Errorf("%s: %w", inner.Op, inner.Err)
	}
	return op.Failed(err)
}

// within reports whether a site is a line of this package outside its tests.
func within(site string) bool {
	return strings.HasPrefix(site, "linalg/") && !strings.Contains(site, "_test.go:")
}

// square returns ErrShape if a is not a stack of square matrices.
func square(a *gpk.Array) error {
	if err := stack(a); err != nil {
		return err
	}
	s := a.Shape()
	if n := len(s); s[n-1] != s[n-2] {
		return layout.Errorf("%v: the last two axes differ; the matrices must be square", s)
	}
	return nil
}

// stack returns ErrShape if a has fewer than two axes.
func stack(a *gpk.Array) error {
	if a.NDim() < 2 {
		return layout.Errorf("%v: at least two axes are needed, [..., rows, columns]", a.Shape())
	}
	return nil
}

// matrices is a stack of matrices in the host's memory.
type matrices[T number] struct {
	data       []T
	lead       []int
	batch      int
	rows, cols int
	lent       *cpu.Scratch[float64] // holds data; if nil, free does nothing
}

// newMatrices returns matrices of zeros.
func newMatrices[T number](lead []int, rows, cols int) (matrices[T], error) {
	m, err := uninitialized[T](lead, rows, cols)
	clear(m.data)
	return m, err
}

func uninitialized[T number](lead []int, rows, cols int) (matrices[T], error) {
	n, err := layout.Size(append(slices.Clone(lead), rows, cols))
	if err == nil {
		err = deviceapi.HostRoom(int64(n) * int64(unsafe.Sizeof(T(0))))
	}
	if err != nil {
		return matrices[T]{}, err
	}
	data, lent := scratch[T](n)
	return matrices[T]{data, slices.Clone(lead), product1(lead), rows, cols, &lent}, nil
}

// free returns the memory for reuse. If free is not called, the garbage collector frees it.
func (m matrices[T]) free() {
	if m.lent != nil {
		m.lent.Free()
	}
}

func product1(shape []int) int {
	n := 1
	for _, s := range shape {
		n *= s
	}
	return n
}

// triangle selects the elements of a matrix that a function reads.
type triangle int

const (
	allElements triangle = iota
	lowerElements
	upperElements
)

// read waits for the elements of a. If one that is read is not finite, its error has the index of the first.
func read[T number](name string, a *gpk.Array, which triangle) (matrices[T], error) {
	m, err := elements[T](a)
	if err != nil {
		return m, err
	}
	for i := range m.batch {
		x := m.at(i)
		if row, col := notFinite(x, which); row >= 0 {
			return m, fmt.Errorf("%w: %s%v is %v", gpk.ErrNonFinite, name, append(unravel(i, m.lead), row, col), x.at(row, col))
		}
	}
	return m, nil
}

// notFinite returns the place of the first element that is NaN or infinite, or -1.
func notFinite[T number](x matrix[T], which triangle) (row, col int) {
	if which == allElements && x.stride == x.cols && isFinite(x.data[:x.rows*x.cols]) {
		return -1, -1
	}
	for i := range x.rows {
		lo, hi := 0, x.cols
		switch which {
		case lowerElements:
			hi = min(i+1, x.cols)
		case upperElements:
			lo = min(i, x.cols)
		}
		elements := x.row(i)[lo:hi]
		if isFinite(elements) {
			continue
		}
		for j, v := range elements {
			if v-v != 0 {
				return i, lo + j
			}
		}
	}
	return -1, -1
}

// isFinite reports whether all elements are finite: x - x is 0 for these, and NaN otherwise.
func isFinite[T number](x []T) bool {
	var a, b, c, d T
	for ; len(x) >= 4; x = x[4:] {
		a, b, c, d = a+(x[0]-x[0]), b+(x[1]-x[1]), c+(x[2]-x[2]), d+(x[3]-x[3])
	}
	for _, v := range x {
		a += v - v
	}
	return a+b+c+d == 0
}

// at returns matrix i.
func (m matrices[T]) at(i int) matrix[T] {
	return dense(m.data[i*m.rows*m.cols:][:m.rows*m.cols], m.rows, m.cols)
}

// shape returns the shape of the stack.
func (m matrices[T]) shape() []int { return append(slices.Clone(m.lead), m.rows, m.cols) }

// unravel returns the index of element i of a shape.
func unravel(i int, shape []int) []int {
	at := make([]int, len(shape), len(shape)+2)
	for d := len(shape) - 1; d >= 0; d-- {
		at[d] = i % shape[d]
		i /= shape[d]
	}
	return at
}

// place returns the number of the matrix at place i of a result. own are the leading axes of the stack, and lead those
// of the result, to which own broadcasts.
func place(i int, lead, own []int) int {
	at := unravel(i, lead)[len(lead)-len(own):]
	n := 0
	for d, length := range own {
		n *= length
		if length > 1 {
			n += at[d]
		}
	}
	return n
}

// manyRows is the number of rows below which the matrices of a stack are computed in parallel. Larger ones are computed
// one after the other, each with all threads.
const manyRows = 192

// each calls f for every matrix of a stack. It returns the error of the first matrix for which f failed.
func each(batch, rows int, f func(i int) error) error {
	if batch == 1 || rows >= manyRows {
		for i := range batch {
			if err := f(i); err != nil {
				return err
			}
		}
		return nil
	}
	failed := make([]error, batch)
	cpu.Parallel(batch, 1+1<<12/max(1, rows*rows*rows), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			failed[i] = f(i)
		}
	})
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

// how returns the text for Explain: what was computed, and where.
func (op *operation) how(what string) string {
	if op.dev.Kind() == device.CPU {
		return what + " on the CPU"
	}
	return fmt.Sprintf("fallback: %s on the CPU, copied from %v and back, because %s", what, op.dev, op.because("there is no kernel for it"))
}

// because returns the reason for a fallback to the CPU: that of cuSOLVER, or other if there is none.
func (op *operation) because(other string) string {
	if op.refused != nil {
		return op.refused.Error()
	}
	return other
}

// result returns an array on the operands' device with a copy of data.
func result[T number | int64](op *operation, what string, data []T, shape []int) *gpk.Array {
	a := op.Result(dtype.Of[T](), shape, op.how(what), nil, func(s *device.Stream, dst device.View, _ []device.View) error {
		bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), len(data)*int(unsafe.Sizeof(T(0))))
		return s.Device().CopyFromHost(dst.Buffer, dst.Start(), bytes, s)
	})
	if err := gpk.Eval(a); err != nil {
		return op.fail(err)
	}
	return op.Own(a)
}

// filled calls f for every matrix of m, which f fills, and returns the array of m. rows is the number of rows of the
// operands' matrices. filled frees m.
func filled[T number](op *operation, what string, m matrices[T], rows int, f func(i int) error) (*gpk.Array, error) {
	if err := each(m.batch, rows, f); err != nil {
		return nil, err
	}
	return stacked(op, what, m), nil
}

// stacked returns m as an array, as result does, and frees m.
func stacked[T number](op *operation, what string, m matrices[T]) *gpk.Array {
	defer m.free()
	return result(op, what, m.data, m.shape())
}

// reals returns an array of type dt, Float32 or Float64. It rounds the numbers of data.
func reals(op *operation, what string, dt dtype.DType, data []float64, shape []int) *gpk.Array {
	if dt == dtype.Float64 {
		return result(op, what, data, shape)
	}
	narrow := make([]float32, len(data))
	for i, v := range data {
		narrow[i] = float32(v)
	}
	return result(op, what, narrow, shape)
}

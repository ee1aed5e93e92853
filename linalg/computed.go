package linalg

import (
	"errors"
	"slices"
	"unsafe"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/cpu"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/layout"
)

// input is an operand. A function reads the part of it that which names, and all elements of this part must be finite.
type input struct {
	name  string
	a     *gpk.Array
	which triangle
}

// source is a stack of matrices in the host's memory, with any strides.
type source[T number] struct {
	data    unsafe.Pointer
	lead    []int
	batch   int
	strides []int
	rows    int
	cols    int
	which   triangle
}

// errInput says that a matrix has NaN or infinite elements.
var errInput = errors.New("NaN or Inf")

// copyTo copies matrix i to x, which has no gaps. The error is errInput if an element that the function reads is not finite.
func (s source[T]) copyTo(x matrix[T], i int) error {
	if s.rows == 0 || s.cols == 0 {
		return nil
	}
	at := 0
	for d, j := range unravel(i, s.lead) {
		at += j * s.strides[d]
	}
	n := len(s.lead)
	from, rs, cs := unsafe.Add(s.data, at*int(unsafe.Sizeof(T(0)))), s.strides[n], s.strides[n+1]
	if cs == 1 && rs == s.cols {
		copy(x.data, unsafe.Slice((*T)(from), s.rows*s.cols))
	} else {
		dt := dtype.Of[T]()
		_ = cpu.Cast(dt, dt, []int{s.rows, s.cols}, from, []int{rs, cs}, pointer(x.data), []int{x.stride, 1})
	}
	if row, _ := notFinite(x, s.which); row >= 0 {
		return errInput
	}
	return nil
}

// computed returns the arrays of the given shapes that f writes. f reads the matrices of the inputs. The matrices that f writes are
// not initialized. On the CPU they are the memory of the arrays, so no stack of matrices is copied as a whole. If f fails and an
// input has an element that is not finite, the error is that of the first such element.
func computed[T number](op *operation, what string, shapes [][]int, inputs []input, f func(to []matrices[T], from []source[T]) error) ([]*gpk.Array, error) {
	for _, s := range shapes {
		n, err := layout.Size(s)
		if err == nil {
			err = deviceapi.HostRoom(int64(n) * int64(unsafe.Sizeof(T(0))))
		}
		if err != nil {
			return nil, err
		}
	}
	var results []*gpk.Array
	var err error
	if op.dev.Kind() == device.CPU {
		results, err = computedHere(op, what, shapes, inputs, f)
	} else {
		results, err = computedCopies(op, what, shapes, inputs, f)
	}
	if err == nil {
		return results, nil
	}
	for _, in := range inputs {
		m, bad := read[T](in.name, in.a, in.which)
		m.free()
		if bad != nil {
			return nil, bad
		}
	}
	return nil, err
}

func computedHere[T number](op *operation, what string, shapes [][]int, inputs []input, f func(to []matrices[T], from []source[T]) error) ([]*gpk.Array, error) {
	dt := dtype.Of[T]()
	parts, reads := make([]array.Part, len(shapes)), make([]*gpk.Array, len(inputs))
	for i, s := range shapes {
		parts[i] = array.Part{DType: dt, Shape: slices.Clone(s)}
	}
	for i, in := range inputs {
		reads[i] = in.a
	}
	var cause error // the error without the name of an operation
	results, err := op.Several(parts, op.how(what), reads, func(s *device.Stream, dst, reads []device.View) error {
		if s.Capturing() { // an error that a replay finds would be lost; reading the inputs in computed returns the reason
			cause = gpk.ErrUnsupported
			return cause
		}
		to, from := make([]matrices[T], len(dst)), make([]source[T], len(reads))
		buffers := make([]*device.Buffer, len(dst)+len(reads))
		for i, v := range dst {
			buffers[i] = v.Buffer
			to[i] = stackAt(unsafe.Slice((*T)(v.Ptr()), v.Layout.Size()), v.Layout.Shape)
		}
		for i, v := range reads {
			buffers[len(dst)+i] = v.Buffer
			from[i] = sourceAt[T](v.Ptr(), v.Layout, inputs[i].which)
		}
		err := s.Device().Launch(s, buffers[len(dst):], buffers[:len(dst)], func(int, uint64) error {
			cause = f(to, from)
			return nil
		})
		if cause != nil {
			return cause
		}
		return err
	})
	if cause != nil {
		return nil, cause
	}
	return results, err
}

// computedCopies is computed for arrays on a GPU, with copies of them in the host's memory.
func computedCopies[T number](op *operation, what string, shapes [][]int, inputs []input, f func(to []matrices[T], from []source[T]) error) ([]*gpk.Array, error) {
	to, from := make([]matrices[T], len(shapes)), make([]source[T], len(inputs))
	for i, in := range inputs {
		m, err := elements[T](in.a)
		if err != nil {
			return nil, err
		}
		defer m.free()
		from[i] = sourceAt[T](pointer(m.data), layout.Dense(m.shape()), in.which)
	}
	for i, s := range shapes {
		n := len(s) - 2
		m, err := uninitialized[T](s[:n], s[n], s[n+1])
		if err != nil {
			return nil, err
		}
		to[i] = m
	}
	if err := f(to, from); err != nil {
		return nil, err
	}
	results := make([]*gpk.Array, len(to))
	for i, m := range to {
		results[i] = stacked(op, what, m)
	}
	return results, nil
}

// only returns the result of a computation with one result.
func only(results []*gpk.Array, err error) (*gpk.Array, error) {
	if err != nil {
		return nil, err
	}
	return results[0], nil
}

func stackAt[T number](data []T, shape []int) matrices[T] {
	n := len(shape) - 2
	return matrices[T]{data: data, lead: shape[:n], batch: product1(shape[:n]), rows: shape[n], cols: shape[n+1]}
}

func sourceAt[T number](data unsafe.Pointer, l layout.Layout, which triangle) source[T] {
	n := len(l.Shape) - 2
	return source[T]{data: data, lead: l.Shape[:n], batch: product1(l.Shape[:n]), strides: l.Strides, rows: l.Shape[n], cols: l.Shape[n+1], which: which}
}

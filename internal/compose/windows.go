package compose

import "github.com/gpk-go/gpk/layout"

// Windows returns a view of sliding windows of a length along an axis, one every step elements; no step means 1. The
// axis counts the windows, and a new last axis runs through each: [n] gives [(n - length)/step + 1, length]. A window
// longer than the axis and a length or step below 1 are ErrShape. Windows that overlap cannot be written in place.
//
//gpk:row To other places | the same | all | a view of windows that slide along an axis, in a new last axis
func Windows[A Operand](o Operation[A], a A, length, axis int, step ...int) A {
	by, err := optional(step, 1, "the step")
	return viewChecked(o, a, err, func(l layout.Layout) (layout.Layout, error) { return l.Windows(length, by, axis) })
}

// AsStrided returns a view with a shape and with strides, in elements. It begins offset elements after the first
// element of a; no offset means 0. A view that reaches outside the memory between the first and the last element of
// a is ErrShape. If elements of the view share memory, it cannot be written in place.
//
//gpk:row To other places | the same | all | a view of any strides, whose bounds are checked
func AsStrided[A Operand](o Operation[A], a A, shape, strides []int, offset ...int) A {
	by, err := optional(offset, 0, "the offset")
	return viewChecked(o, a, err, func(l layout.Layout) (layout.Layout, error) { return l.Strided(shape, strides, by) })
}

// viewChecked returns a view of a. If an operand carries an error or err is not nil, the result carries that error.
func viewChecked[A Operand](o Operation[A], a A, err error, f func(layout.Layout) (layout.Layout, error)) A {
	if carried := o.Check(); carried != nil {
		err = carried
	}
	if err != nil {
		return o.Failed(err)
	}
	return o.View(a, f)
}

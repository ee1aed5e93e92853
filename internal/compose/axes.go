package compose

import (
	"slices"

	"github.com/gpk-go/gpk/layout"
)

// MoveAxis returns a view in which axis from is at position to. The other axes keep their order.
//
//gpk:row To other places | the same | all | a view with an axis at another place
func MoveAxis[A Operand](o Operation[A], a A, from, to int) A {
	from, to, err := axisPair(o, a, from, to)
	if err != nil {
		return o.Failed(err)
	}
	order := sequence(a.NDim())
	order = slices.Insert(slices.Delete(order, from, from+1), to, from)
	return permute(o, a, order)
}

// SwapAxes returns a view with two axes exchanged.
//
//gpk:row To other places | the same | all | a view with two axes exchanged
func SwapAxes[A Operand](o Operation[A], a A, i, j int) A {
	i, j, err := axisPair(o, a, i, j)
	if err != nil {
		return o.Failed(err)
	}
	order := sequence(a.NDim())
	order[i], order[j] = j, i
	return permute(o, a, order)
}

// axisPair checks the operands and returns two axes counted from 0.
func axisPair[A Operand](o Operation[A], a A, i, j int) (int, int, error) {
	err := o.Check()
	if err == nil {
		i, err = layout.Axis(i, a.NDim())
	}
	if err == nil {
		j, err = layout.Axis(j, a.NDim())
	}
	return i, j, err
}

// Flatten returns a copy of the elements in row-major order along one axis. Reshape(-1) returns a view if the
// strides allow it.
//
//gpk:row To other places | the same | all | a copy of the elements in row-major order along one axis
func Flatten[A Operand](o Operation[A], a A) A {
	if err := o.Check(); err != nil {
		return o.Failed(err)
	}
	return viewAs(o, o.Cast(a, a.DType()), layout.Dense([]int{a.Size()}))
}

// BroadcastArrays returns views of arrays, broadcast to one shape. Their types may differ.
//
//gpk:row To other places | the same, each | all | views of arrays, broadcast to one shape
func BroadcastArrays[A Operand](o Operation[A], as ...A) []A {
	err := o.Check()
	var shape []int
	for i, a := range as {
		if i == 0 && err == nil {
			shape = a.Shape()
		} else if err == nil {
			shape, err = layout.Broadcast(shape, a.Shape())
		}
	}
	return broadcast(o, err, shape, len(as), func(i int) A { return as[i] })
}

// broadcast returns views of n arrays, broadcast to one shape. After an error it returns n arrays that carry
// it.
func broadcast[A Operand](o Operation[A], err error, shape []int, n int, array func(i int) A) []A {
	if err == nil {
		_, err = layout.Size(shape)
	}
	if err != nil {
		return failures(o, err, n)
	}
	out := make([]A, n)
	for i := range out {
		out[i] = o.View(array(i), func(l layout.Layout) (layout.Layout, error) { return l.BroadcastTo(shape) })
	}
	return out
}

// Meshgrid returns the coordinates of a grid as views, one for each array, as NumPy's meshgrid with
// indexing="xy". For 1-D arrays of lengths n0, n1, n2, … each view has the shape [n1, n0, n2, …], and the
// first array changes along axis 1. 0-d arrays count as one element.
//
//gpk:row To other places | the same, each | all | views of the coordinates of a grid; the first array changes along axis 1, in MeshgridIJ along axis 0
func Meshgrid[A Operand](o Operation[A], as ...A) []A { return grid(o, as, true) }

// MeshgridIJ is Meshgrid with indexing="ij": the shape is [n0, n1, n2, …], and array i changes along axis i.
func MeshgridIJ[A Operand](o Operation[A], as ...A) []A { return grid(o, as, false) }

func grid[A Operand](o Operation[A], as []A, swapped bool) []A {
	err := o.Check()
	shape := make([]int, len(as))
	place := sequence(len(as)) // the axis of each array
	if swapped && len(as) > 1 {
		place[0], place[1] = 1, 0
	}
	for i, a := range as {
		switch {
		case err != nil:
		case a.NDim() > 1:
			err = layout.Errorf("array %d has shape %v; want at most one axis", i, a.Shape())
		default:
			shape[place[i]] = a.Size()
		}
	}
	return broadcast(o, err, shape, len(as), func(i int) A {
		narrow := slices.Repeat([]int{1}, len(as))
		narrow[place[i]] = as[i].Size()
		return reshape(o, as[i], narrow...)
	})
}

// sequence returns 0, 1, … n-1.
func sequence(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

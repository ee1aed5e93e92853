package compose

import "github.com/gpk-go/gpk/layout"

// Split returns n views of equal length along an axis. If n does not divide the length of
// the axis, the error is ErrShape; Chunk allows any length.
//
//gpk:row To other places | the same, n times | all | views of n equal parts along an axis
func Split[A Operand](o Operation[A], a A, n, axis int) []A {
	d, length, err := along(o, a, axis)
	if err == nil && (n < 1 || length%n != 0) {
		err = layout.Errorf("axis %[2]d of %[3]v does not divide into %[1]d equal parts", n, axis, a.Shape())
	}
	if err != nil {
		return failures(o, err, parts(n))
	}
	if n > maxParts {
		return failures(o, layout.Errorf("%d parts are more than %d", n, maxParts), 1)
	}
	at := make([]int, n-1)
	for i := range at {
		at[i] = (i + 1) * (length / n)
	}
	return cut(o, a, d, at)
}

// SplitAt returns the len(at) + 1 views of a along an axis that is cut before each index of at. Negative indices count
// from the end. An index outside the axis, or less than the previous one, is ErrShape.
//
//gpk:row To other places | the same, several times | all | views of the parts between indices along an axis
func SplitAt[A Operand](o Operation[A], a A, axis int, at ...int) []A {
	d, length, err := along(o, a, axis)
	cuts := make([]int, len(at))
	last := 0
	for i, x := range at {
		if cuts[i] = x; x < 0 {
			cuts[i] += length
		}
		if err == nil && (cuts[i] < last || cuts[i] > length) {
			err = layout.Errorf("cut %d of axis %d of %v lies outside the axis or before the previous cut, %d", x, axis, a.Shape(), last)
		}
		last = cuts[i]
	}
	if err != nil {
		return failures(o, err, parts(len(at)+1))
	}
	return cut(o, a, d, cuts)
}

// Chunk returns views of at most n parts of a along an axis. Each has the length of the
// axis divided by n, rounded up; the last may be shorter. An empty axis is one part.
//
//gpk:row To other places | the same, several times | all | views of at most n parts along an axis, the last the shortest
func Chunk[A Operand](o Operation[A], a A, n, axis int) []A {
	d, length, err := along(o, a, axis)
	if err == nil && n < 1 {
		err = layout.Errorf("%d parts of axis %d of %v; want at least one", n, axis, a.Shape())
	}
	if err != nil {
		return failures(o, err, parts(n))
	}
	size := length / n
	if length%n > 0 {
		size++
	}
	if size > 0 && length/size > maxParts {
		return failures(o, layout.Errorf("%d parts are more than %d", length/size, maxParts), 1)
	}
	var at []int
	for i := size; i < length; i += size {
		at = append(at, i)
	}
	return cut(o, a, d, at)
}

// maxParts is the maximum number of parts of an array.
const maxParts = 1 << 20

// parts returns the number of arrays that carry the error of an operation with n parts.
func parts(n int) int {
	if n < 1 || n > maxParts {
		return 1
	}
	return n
}

// Unstack returns a view of a for each index of an axis, without that axis. The axes of an array
// that carries an error are unknown, so the result is one array with this error.
//
//gpk:row To other places | the same, for each index | all | a view for each index of an axis, without that axis
func Unstack[A Operand](o Operation[A], a A, axis int) []A {
	d, length, err := along(o, a, axis)
	if err == nil && length > maxParts {
		err = layout.Errorf("%d parts are more than %d", length, maxParts)
	}
	if err != nil {
		return failures(o, err, 1)
	}
	out := make([]A, length)
	for i := range out {
		out[i] = o.View(a, func(l layout.Layout) (layout.Layout, error) {
			l, err := l.Slice(d, i, i+1, 1)
			if err != nil {
				return l, err
			}
			return l.Squeeze([]int{d})
		})
	}
	return out
}

// along checks an operation and returns an axis of a, counted from 0, and its length.
func along[A Operand](o Operation[A], a A, axis int) (d, length int, err error) {
	if err = o.Check(); err == nil {
		d, err = layout.Axis(axis, a.NDim())
	}
	if err == nil {
		length = a.Shape()[d]
	}
	return d, length, err
}

// cut returns the views between ascending indices along an axis.
func cut[A Operand](o Operation[A], a A, axis int, at []int) []A {
	out := make([]A, 0, len(at)+1)
	from := 0
	for _, to := range append(at[:len(at):len(at)], a.Shape()[axis]) {
		out = append(out, slice(o, a, axis, from, to))
		from = to
	}
	return out
}

// Edges returns the first n and the last n elements along each axis of a that has more than
// 2n, from axis d on. No intermediate array is larger than the result.
//
//gpk:step
func Edges[A Operand](o Operation[A], a A, d, n int) A {
	if d == a.NDim() {
		return a
	}
	length := a.Shape()[d]
	if length <= 2*n {
		return Edges(o, a, d+1, n)
	}
	return Concat(o, d, Edges(o, slice(o, a, d, 0, n), d+1, n), Edges(o, slice(o, a, d, length-n, length), d+1, n))
}

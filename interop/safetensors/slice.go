package safetensors

import (
	"fmt"
	"slices"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/interop/internal/site"
	"github.com/gpk-go/gpk/layout"
)

// runs locates the bytes of a part of a tensor: runs of length bytes at a distance of stride bytes.
// first is the offset of the first run from the end of the header.
type runs struct{ first, length, stride int64 }

// LoadSlice returns the elements start to stop-1 along an axis of a tensor, which are those of
// Slice(axis, start, stop) of Load's array. It reads only the bytes of these elements. Along the first
// axis they are consecutive. Along another axis, each index of the axes before it needs a separate
// read, so parts of a few bytes are slow. A negative axis counts from the end. An axis or a range
// outside the tensor's is ErrShape; other errors are those of Load.
func (f *File) LoadSlice(name string, axis, start, stop int, opts ...Option) (*gpk.Array, error) {
	a, err := f.loadOne(name, func(t tensor) (tensor, error) {
		part, err := t.slice(axis, start, stop)
		if err != nil {
			return part, t.in.wrap(name, err)
		}
		return part, nil
	}, opts)
	return a, site.Fail("safetensors", "LoadSlice", err)
}

// slice returns a part of a tensor along an axis.
func (t tensor) slice(axis, start, stop int) (tensor, error) {
	axis, err := layout.Axis(axis, len(t.shape))
	if err != nil {
		return t, err
	}
	n := t.shape[axis]
	if start < 0 || stop < start || stop > n {
		return t, fmt.Errorf("%w: the range %d:%d along axis %d of %v", gpk.ErrShape, start, stop, axis, t.shape)
	}
	e := *t.entry
	e.shape = slices.Clone(e.shape)
	e.shape[axis] = stop - start
	size := t.bytes()
	if size == 0 { // the other axes can have any length
		return tensor{entry: &e, in: t.in}, nil
	}
	// The header was checked: the product of the lengths is size, so no product overflows and the
	// divisions are exact.
	outer := int64(1)
	for _, d := range e.shape[:axis] {
		outer *= int64(d)
	}
	stride := size / outer
	element := stride / int64(n)
	e.end = e.begin + outer*int64(stop-start)*element
	return tensor{&e, t.in, &runs{e.begin + int64(start)*element, int64(stop-start) * element, stride}}, nil
}

// readAt reads bytes of a tensor, from offset off on.
func (t *tensor) readAt(dst []byte, off int64) error {
	start := t.in.head.start
	if t.runs == nil {
		return readFull(t.in.f, dst, start+t.begin+off)
	}
	if t.runs.length == t.runs.stride { // the part is the whole axis
		return readFull(t.in.f, dst, start+t.runs.first+off)
	}
	for len(dst) > 0 {
		within := off % t.runs.length
		n := min(int64(len(dst)), t.runs.length-within)
		if err := readFull(t.in.f, dst[:n], start+t.runs.first+off/t.runs.length*t.runs.stride+within); err != nil {
			return err
		}
		dst, off = dst[n:], off+n
	}
	return nil
}

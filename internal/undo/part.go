package undo

import (
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/layout"
)

// Part is a set of elements of a memory: a layout and an element type.
type Part struct {
	Layout layout.Layout
	DType  dtype.DType
}

// PartOf returns the part that a view reads.
func PartOf(v *device.View) Part { return Part{v.Layout, v.DType} }

// NBytes returns the number of bytes of the elements.
func (p *Part) NBytes() int64 { return int64(p.Layout.Size()) * int64(p.DType.Size()) }

// Span returns the range of bytes between the first and the last element.
func (p *Part) Span() (low, high int) {
	low, high = p.Layout.Span()
	return low * p.DType.Size(), high * p.DType.Size()
}

// Meets reports whether two parts of a memory may have an element in common. whole is the
// dense layout of the whole memory. A false positive only costs a copy.
func (p *Part) Meets(q *Part, whole *layout.Layout) bool {
	pl, ph := p.Span()
	ql, qh := q.Span()
	if pl >= qh || ql >= ph {
		return false
	}
	if p.DType != q.DType {
		return true
	}
	a, aOK := layout.BoxOf(&p.Layout, whole)
	b, bOK := layout.BoxOf(&q.Layout, whole)
	return !aOK || !bOK || a.Meets(&b, len(whole.Shape))
}

// In returns the view of the part in a buffer.
func (p *Part) In(buf *device.Buffer) device.View {
	return device.View{Buffer: buf, DType: p.DType, Layout: p.Layout}
}

// dense returns the view of a buffer that holds exactly the elements of the part.
func (p *Part) dense(buf *device.Buffer) device.View {
	return device.View{Buffer: buf, DType: p.DType, Layout: layout.Dense(p.Layout.Shape)}
}

// Parts is the set of parts of a memory that readers read.
type Parts struct {
	all  bool // every element
	list *[]Part
}

// maxParts is the largest number of parts that are tracked separately.
const maxParts = 8

// Clear removes all parts.
func (s *Parts) Clear() {
	s.all = false
	if s.list != nil {
		*s.list = (*s.list)[:0]
	}
}

// Add adds the elements of a layout.
func (s *Parts) Add(lay *layout.Layout, dt dtype.DType) {
	if s.all {
		return
	}
	if lay.Offset == 0 && lay.IsDense() {
		s.all = true
		return
	}
	if s.list == nil {
		s.list = new([]Part)
	}
	list := *s.list
	if slices.ContainsFunc(list, func(p Part) bool { return p.DType == dt && p.Layout.Equal(lay) }) {
		return
	}
	if s.all = len(list) == maxParts; !s.all {
		*s.list = append(list, Part{Layout: *lay, DType: dt})
	}
}

// Meet reports whether a part and the set may have an element in common. whole is the
// dense layout of the whole memory.
func (s *Parts) Meet(p *Part, whole *layout.Layout) bool {
	return s.all || s.list != nil && slices.ContainsFunc(*s.list, func(q Part) bool { return q.Meets(p, whole) })
}

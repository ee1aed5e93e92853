package ops

import (
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/layout"
)

// PadBy writes x to dst, surrounded by elements of x: widths[d] before and after it along axis d, which a mode chooses.
// It pads one axis after the other: what it adds along an axis repeats what it has added along the earlier ones. The
// caller has checked that no axis that becomes longer is empty.
func PadBy(s *device.Stream, dst, x device.View, widths [][2]int, mode layout.PadMode) error {
	inner := dst
	for d, w := range widths {
		inner.Layout = sliced(inner.Layout, d, w[0], w[0]+x.Layout.Shape[d])
	}
	if dst.Layout.Size() == 0 {
		return nil
	}
	if err := Cast(s, inner, x); err != nil {
		return err
	}
	for d, w := range widths {
		// The other axes have their borders up to d, and from d on their elements of x.
		b := border{s: s, axis: d, from: w[0], to: w[0] + x.Layout.Shape[d], mode: mode, line: dst}
		for e := d + 1; e < len(widths); e++ {
			b.line.Layout = sliced(b.line.Layout, e, widths[e][0], widths[e][0]+x.Layout.Shape[e])
		}
		if err := b.fill(); err != nil {
			return err
		}
	}
	return nil
}

// sliced returns the elements from start to stop along an axis, which contains them.
func sliced(l layout.Layout, axis, start, stop int) layout.Layout {
	l, _ = l.Slice(axis, start, stop, 1)
	return l
}

// border fills an axis of a view whose elements from `from` to `to` are known.
type border struct {
	s        *device.Stream
	line     device.View
	axis     int
	from, to int
	mode     layout.PadMode
}

func (b *border) fill() error {
	n, end := b.to-b.from, b.line.Layout.Shape[b.axis]
	if b.mode == layout.PadEdge {
		if err := b.repeat(0, b.from, b.from); err != nil {
			return err
		}
		return b.repeat(b.to, end, b.to-1)
	}
	period, mirrored := b.mode.Period(n)
	if count := min(end-b.to, mirrored); count > 0 {
		if err := b.mirror(b.to, b.to-1-(n-mirrored), count); err != nil {
			return err
		}
		b.to += count
	}
	if count := min(b.from, mirrored); count > 0 && b.to-b.from < period {
		if err := b.mirror(b.from-count, b.from+count-1+(n-mirrored), count); err != nil {
			return err
		}
		b.from -= count
	}
	// Each copy is as long as the known periods, so that their number is logarithmic.
	for b.to < end {
		known := (b.to - b.from) / period * period
		count := min(end-b.to, known)
		if err := b.copy(b.to, b.to-known, count); err != nil {
			return err
		}
		b.to += count
	}
	for b.from > 0 {
		known := (b.to - b.from) / period * period
		count := min(b.from, known)
		if err := b.copy(b.from-count, b.from-count+known, count); err != nil {
			return err
		}
		b.from -= count
	}
	return nil
}

// part returns the elements from start to stop along the axis.
func (b *border) part(start, stop int) device.View {
	v := b.line
	v.Layout = sliced(v.Layout, b.axis, start, stop)
	return v
}

// copy copies count elements.
func (b *border) copy(to, from, count int) error {
	return Cast(b.s, b.part(to, to+count), b.part(from, from+count))
}

// mirror copies count elements, from `from` on in falling order.
func (b *border) mirror(to, from, count int) error {
	source := b.part(from-count+1, from+1)
	source.Layout, _ = source.Layout.Flip([]int{b.axis})
	return Cast(b.s, b.part(to, to+count), source)
}

// repeat copies one element to the elements from start to stop.
func (b *border) repeat(start, stop, from int) error {
	if start == stop {
		return nil
	}
	to, source := b.part(start, stop), b.part(from, from+1)
	var err error
	if source.Layout, err = source.Layout.BroadcastTo(to.Layout.Shape); err != nil {
		return err
	}
	return Cast(b.s, to, source)
}

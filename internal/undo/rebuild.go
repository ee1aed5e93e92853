package undo

import (
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/ops"
)

// Rebuilding describes the part of an older version that one reader needs: a range of the
// bytes of the memory.
type Rebuilding struct {
	Low, High int
	Whole     bool // the range is the whole memory, and so serves every reader
	saved     []Saved
}

// alignment is the alignment of rebuilt elements in bytes. It is at least that of the
// original, so that the same kernels are chosen.
const alignment = 256

// Rebuild returns the range to rebuild for a reader of a part at a version. whole is the
// whole memory.
func (l *Log) Rebuild(version int, p, whole Part) Rebuilding {
	var r Rebuilding
	r.Low, r.High = p.Span()
	r.Low -= r.Low % alignment
	size := int(whole.NBytes())
	r.Whole = r.Low == 0 && r.High == size
	for _, s := range l.since(version) {
		if s.Meets(&p, &whole.Layout) {
			r.Whole = r.Whole || !s.Layout.IsDense() // only dense parts can be clipped to a range
			r.saved = append(r.saved, s)
		}
	}
	if r.Whole {
		r.Low, r.High, r.saved = 0, size, slices.Clone(l.since(version))
	}
	return r
}

// Into starts the work that writes the range, as it was at the version, to the beginning of
// buf, which must hold High - Low bytes. The memory and the saved elements must stay until
// that work has ended.
func (r *Rebuilding) Into(s *device.Stream, buf, memory *device.Buffer) error {
	d := s.Device()
	err := d.Copy(buf, 0, memory, int64(r.Low), int64(r.High-r.Low), s)
	for i := len(r.saved) - 1; i >= 0 && err == nil; i-- {
		p := &r.saved[i]
		if !p.Layout.IsDense() {
			err = ops.Cast(s, p.In(buf), p.dense(p.Buffer))
			continue
		}
		low, high := p.Span()
		from, to := max(low, r.Low), min(high, r.High)
		err = d.Copy(buf, int64(from-r.Low), p.Buffer, int64(from-low), int64(to-from), s)
	}
	return err
}

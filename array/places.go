package array

import (
	"cmp"
	"slices"
	"unsafe"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/observe"
	"github.com/gpk-go/gpk/internal/undo"
)

// place is a part of a storage that one piece of work writes in place: an argument of a
// kernel, or an output of a graph.
type place struct {
	to *Array
	undo.Part
	old  *contents
	kept *undo.Keep
}

// placesOf returns one place for each distinct storage of some arrays.
func placesOf(as []*Array) []*place {
	var out []*place
	for _, a := range as {
		i := slices.IndexFunc(out, func(p *place) bool { return p.to.st == a.st })
		if i < 0 {
			out = append(out, &place{to: a, Part: undo.Part{Layout: a.lay, DType: a.dt}})
		} else if p := out[i]; !p.Layout.Equal(&a.lay) {
			p.Part = undo.Part{DType: a.dt} // the whole storage: see preparePlaces
		}
	}
	return out
}

// beginWrite waits until nothing else writes to the storage of a place, and marks it as being written. In a capture,
// a storage from outside is stored first: the recording fixes only memory that exists and is not being written.
func (s *scheduler) beginWrite(p *place, rec *recording) error {
	return s.ready(func() error {
		if p.to.st.writing {
			return &unready{}
		}
		c, err := p.to.contents(rec)
		if err == nil && rec != nil && p.to.st.rec == nil {
			err = c.missing()
		}
		p.to.st.writing = err == nil
		return err
	})
}

// endWrites ends beginWrite. It frees the elements that were saved for a write that failed.
func (s *scheduler) endWrites(list ...*place) {
	for _, p := range list {
		p.to.st.writing = false
		p.kept.Free()
		p.old, p.kept = nil, nil
	}
	s.changed.Broadcast()
}

// next makes c the newest version of the place's memory, after the write.
func (p *place) next(c *contents) {
	m := p.old.mem
	m.commit(p.old, p.kept)
	p.kept, c.mem, c.version = nil, m, m.version
}

// show makes c the contents that the place's storage shows, in a capture or outside of one.
func (p *place) show(c *contents, rec *recording) {
	if rec != nil && p.to.st.rec == nil {
		rec.install(p.to.st, c, p.Part)
		return
	}
	p.to.st.cur = c
}

// writePlaces performs a piece of work that writes to places and reads other arrays. f is given the views of these.
// writePlaces acquires everything that the work needs before anything changes.
func (s *scheduler) writePlaces(c *call, stream *device.Stream, list []*place, reads []*Array, f func(reads []device.View) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := recordingOn(stream)
	ordered := slices.SortedFunc(slices.Values(list), func(a, b *place) int {
		return cmp.Compare(uintptr(unsafe.Pointer(a.to.st)), uintptr(unsafe.Pointer(b.to.st)))
	})
	for i, p := range ordered { // one order for all, so that writes do not deadlock
		if err := s.beginWrite(p, rec); err != nil {
			s.endWrites(ordered[:i]...)
			return err
		}
	}
	defer s.endWrites(ordered...)
	j := &job{}
	var views []device.View
	err := s.ready(func() (err error) {
		views, err = s.preparePlaces(j, rec, stream, list, reads)
		return err
	})
	if err != nil {
		return err
	}
	s.mu.Unlock()
	for _, p := range list {
		if err == nil {
			err = p.kept.Save(stream)
		}
	}
	if err == nil {
		op := observe.Begin(stream, c.name, c.site)
		err = f(views)
		op.Done(err)
	}
	s.mu.Lock()
	for _, p := range list {
		p.old.mem.busy = false
	}
	j.end()
	if err != nil {
		return err
	}
	for _, p := range list {
		next := &contents{origin: &origin{*c, "written by " + c.name}}
		p.next(next)
		p.show(next, rec)
	}
	return nil
}

// Write starts work on s that writes some operands of o in place and reads the others. f is given the buffers of all
// operands, in their order, and those that it writes. Arrays that were computed from the written ones before keep
// their values. If f returns an error, nothing was written.
func (o *Operation) Write(s *device.Stream, writes, reads []*Array, f func(all, written []*device.Buffer) error) error {
	list := placesOf(writes)
	return schedulerOf(s.Device()).writePlaces(&o.call, s, list, reads, func(views []device.View) error {
		all, written := make([]*device.Buffer, len(o.operands)), make([]*device.Buffer, len(list))
		for i := range list {
			written[i] = views[len(reads)+i].Buffer
		}
		for i, a := range o.operands {
			if r := slices.Index(reads, a); r >= 0 {
				all[i] = views[r].Buffer
			} else {
				all[i] = written[slices.IndexFunc(list, func(p *place) bool { return p.to.st == a.st })]
			}
		}
		return f(all, written)
	})
}

// preparePlaces pins the memories that the work uses, or returns the step that must come first. The mutex is held.
func (s *scheduler) preparePlaces(j *job, rec *recording, stream *device.Stream, list []*place, reads []*Array) (views []device.View, err error) {
	*j = job{}
	for _, a := range reads {
		v, err := j.find(a, rec)
		if err != nil {
			return nil, err
		}
		views = append(views, v)
	}
	for _, p := range list {
		if p.old, err = p.to.contents(rec); err == nil {
			err = p.old.missing()
		}
		if err != nil {
			return nil, err
		}
		m := p.old.mem
		if p.Layout.Strides == nil { // the whole memory
			p.Part = m.Part
		}
		if err := p.saveFirst(0, stream); err != nil {
			return nil, err
		}
		views = append(views, p.In(m.buf))
	}
	for _, p := range list {
		p.old.mem.busy = true
	}
	j.begin()
	return views, nil
}

package array

import (
	"cmp"
	"slices"
	"unsafe"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/layout"
)

// place is a part of a storage that one piece of work writes where it is: an argument
// of a kernel, or what a graph writes.
type place struct {
	to *Array
	part
	old  *contents
	kept *keep
}

// join has the place cover p too.
func (p *place) join(q *part) {
	if p.dt == q.dt && p.lay.Equal(&q.lay) {
		return
	}
	c := p.to.st.cur
	if p.old != nil {
		c = p.old
	}
	p.lay, p.dt = c.mem.lay, c.mem.dt
}

// placesOf lists the places of arrays, one a storage.
func placesOf(as []*Array) []*place {
	var out []*place
	for _, a := range as {
		i := slices.IndexFunc(out, func(p *place) bool { return p.to.st == a.st })
		if i < 0 {
			out = append(out, &place{to: a, part: part{a.lay, a.dt}})
		} else if p := out[i]; !p.lay.Equal(&a.lay) {
			p.part = part{layout.Layout{}, a.dt} // the whole storage: see prepare
		}
	}
	return out
}

// writePlaces does a piece of work that writes to places, and reads other arrays: f is
// given where those lie, and then the places. It has everything that it needs before
// anything changes.
func (s *scheduler) writePlaces(c *call, stream *device.Stream, list []*place, reads []*Array, f func(reads []device.View) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := recordingOn(stream)
	ordered := slices.SortedFunc(slices.Values(list), func(a, b *place) int {
		return cmp.Compare(uintptr(unsafe.Pointer(a.to.st)), uintptr(unsafe.Pointer(b.to.st)))
	})
	for i, p := range ordered { // in one order, so that nobody waits in a circle
		if err := s.beginWrite(p.to, rec); err != nil {
			endPlaces(ordered[:i])
			s.changed.Broadcast()
			return err
		}
	}
	defer func() {
		endPlaces(ordered)
		s.changed.Broadcast()
	}()
	var j *job
	var views []device.View
	err := s.ready(func() (err error) {
		j, views, err = s.preparePlaces(rec, stream, list, reads)
		return err
	})
	if err != nil {
		return err
	}
	s.mu.Unlock()
	for _, p := range list {
		if err == nil && p.kept != nil {
			err = p.kept.save(stream)
		}
	}
	if err == nil {
		err = f(views)
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
		m := p.old.mem
		m.commit(p.old, p.kept)
		p.kept = nil
		next := &contents{mem: m, version: m.version, origin: &origin{*c, "written by " + c.name}}
		if rec != nil && p.to.st.rec == nil {
			rec.install(p.to.st, next, p.part)
		} else {
			p.to.st.cur = next
		}
	}
	return nil
}

func endPlaces(list []*place) {
	for _, p := range list {
		p.to.st.writing = false
		if p.kept != nil {
			p.kept.buf.Free()
		}
		p.old, p.kept = nil, nil
	}
}

// preparePlaces says what is missing, or holds what the work uses. The mutex is held.
func (s *scheduler) preparePlaces(rec *recording, stream *device.Stream, list []*place, reads []*Array) (*job, []device.View, error) {
	j := &job{}
	var views []device.View
	for _, a := range reads {
		c, err := a.contents(rec)
		if err != nil {
			return nil, nil, err
		}
		v, err := j.locate(nil, &operand{of: c, view: device.View{DType: a.dt, Layout: a.lay}})
		if err != nil {
			return nil, nil, err
		}
		views = append(views, v)
	}
	for _, p := range list {
		c, err := p.to.contents(rec)
		if err != nil {
			return nil, nil, err
		}
		m := c.mem
		if m == nil {
			if err := c.err(); err != nil {
				return nil, nil, err
			}
			return nil, nil, &unready{node: c.node}
		}
		if m.busy || m.pins > 0 {
			return nil, nil, &unready{}
		}
		if p.lay.Strides == nil { // all of it
			p.part = part{m.lay, m.dt}
		}
		p.old = c
		if err := s.saveFirst(c, 0, p.part, &p.kept, stream); err != nil {
			return nil, nil, err
		}
		views = append(views, device.View{Buffer: m.buf, DType: p.dt, Layout: p.lay})
	}
	for _, p := range list {
		p.old.mem.busy = true
	}
	j.begin()
	return j, views, nil
}

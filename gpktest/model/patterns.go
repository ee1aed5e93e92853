package model

import (
	"fmt"
	"slices"

	gpk "github.com/gpk-go/gpk"
)

// The patterns below combine steps in ways that single random steps rarely do.

// wide builds an expression of more arrays than one kernel may read.
func (p *program) wide() {
	x := p.pick(func(h *handle) bool { return h.st.dt != gpk.Bool && len(h.at) > 0 })
	if x == nil {
		return
	}
	var parts []*handle
	for range 4 + p.rng.IntN(12) {
		y := p.pick(func(h *handle) bool {
			return h.st.dt == x.st.dt && h.st.dev == x.st.dev && slices.Equal(h.shape, x.shape)
		})
		if y == nil {
			return
		}
		if z := p.applyNumber(arithmetics[p.rng.IntN(3)], x.st.dt, y); z != nil {
			parts = append(parts, z)
		}
	}
	for len(parts) > 1 {
		if z := p.apply2(arithmetics[p.rng.IntN(3)], x.st.dt, parts[0], parts[1]); z != nil {
			parts = append(parts, z)
		}
		if parts = parts[2:]; p.rng.IntN(2) == 0 && len(p.handles) > maxHandles {
			p.handles = slices.Delete(p.handles, len(p.handles)-3, len(p.handles)-1)
		}
	}
}

// burst writes an array while several operations that read parts of it are pending.
func (p *program) burst() {
	x := p.pick(func(h *handle) bool {
		return !h.st.shared && h.st.dt != gpk.Bool && len(h.shape) > 0 && len(h.at) > 1 && !h.repeats()
	})
	if x == nil {
		return
	}
	var readers []*handle
	for range 6 + p.rng.IntN(14) {
		part := x
		if p.rng.IntN(3) > 0 {
			if part = p.slice(x); part == nil {
				continue
			}
		}
		switch k := p.rng.IntN(6); {
		case k < 3:
			if r := p.applyNumber(p.rule(x.st.dt), x.st.dt, part); r != nil {
				readers = append(readers, r)
			}
		case k == 3 && len(readers) > 0:
			if r := readers[p.rng.IntN(len(readers))]; r.usable() {
				p.say("gpk.ToSlice(%v)", r)
				p.check(r)
			}
		default:
			data, v := part.values(), p.small(x.st.dt)
			for i := range data {
				data[i] += v
			}
			c := constant(x.st.dt, v)
			p.write(part, data, x.st.bad, fmt.Sprintf("%v.AddInPlace(%v)", part, c), func() error { return part.a.AddInPlace(c) })
		}
	}
}

// softmax calls Softmax along an axis of length 1, whose result is 1.
func (p *program) softmax() {
	x := p.pick(func(h *handle) bool { return float(h.st.dt) && slices.Contains(h.shape, 1) })
	if x == nil {
		return
	}
	axis := slices.Index(x.shape, 1)
	p.result(x.st.dt, x.shape, slices.Repeat([]float64{1}, len(x.at)), fmt.Sprintf("%v.Softmax(%d)", x, axis), func() *gpk.Array { return x.a.Softmax(axis) }, x)
}

// exchange hands an array, which may be pending, to another program, or takes one. The
// program that made the array may still write the array's operands.
func (p *program) exchange() {
	s := p.shared
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.offered); n > 0 && p.rng.IntN(2) == 0 {
		h := s.offered[n-1]
		s.offered = s.offered[:n-1]
		own := p.newHandle(h.a, &store{id: h.st.id, dt: h.st.dt, data: h.st.data, shared: true, stored: true}, h.shape, h.at, nil)
		p.say("%v := %v of another program", own, h)
		return
	}
	free := func(st *store) bool { return !st.bad && !st.dead && st.scope == nil && st.dev == 0 }
	h := p.pick(func(h *handle) bool {
		for st := range h.st.reads {
			if !free(st) {
				return false
			}
		}
		return h.in == nil && free(h.st) && !h.st.shared && h.st.fixed == 0
	})
	if h == nil || len(s.offered) > 8 {
		return
	}
	h.st.shared = true
	for st := range h.st.reads {
		st.borrowed = true
	}
	p.say("// another program gets %v", h)
	s.offered = append(s.offered, &handle{name: h.name, a: h.a, shape: h.shape, at: h.at, st: &store{id: h.st.id, dt: h.st.dt, data: slices.Clone(h.st.data)}})
}

package model

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	gpk "github.com/gpk-go/gpk"
)

// scope is a gpk.Scope and its model.
type scope struct {
	s      *gpk.Scope
	id     int // scopes that were opened later have larger ones
	name   string
	closed bool
	kept   []*store
}

// newest returns the scope that was opened last.
func newest(a, b *scope) *scope {
	if a == nil || b != nil && b.id > a.id {
		return b
	}
	return a
}

func (p *program) evaluate() {
	x := p.pick(nil)
	if x == nil {
		return
	}
	p.say("gpk.Eval(%v)", x)
	err := p.try(func() error { return gpk.Eval(x.a) })
	if err != nil && !(x.st.bad && errors.Is(err, gpk.ErrShape)) {
		p.fail("Eval of %v: %v", x, err)
	}
	x.st.keepsMemory()
}

// fix asks for the buffer of an array, after which the array's memory must not move.
func (p *program) fix() {
	x := p.pick(func(h *handle) bool { return !h.st.bad && !h.st.shared })
	if x == nil {
		return
	}
	p.say("%v.Buffer()", x)
	if err := p.try(func() error { _, err := x.a.Buffer(); return err }); err != nil {
		p.fail("Buffer of %v: %v", x, err)
	}
	x.st.keepsMemory()
	x.st.fixed++
}

func (p *program) collect() {
	p.say("runtime.GC()")
	runtime.GC()
}

func (p *program) free() {
	p.restore()
	if h := p.choose(func(h *handle) bool { return !h.st.shared && !h.st.borrowed }); h != nil {
		p.freeHandle(h)
	}
}

func (p *program) freeHandle(h *handle) {
	p.restore()
	p.say("%v.Free()", h)
	p.counts.freed.Add(1)
	h.a.Free()
	h.st.dead = true
	p.gone(h.st)
}

// useDead uses a freed array, which must not change anything.
func (p *program) useDead() {
	if len(p.dead) == 0 {
		return
	}
	p.restore()
	x := p.dead[p.rng.IntN(len(p.dead))]
	expects := func(text string, err error) {
		if !errors.Is(err, gpk.ErrFreed) {
			p.fail("%s of the freed %v: %v", text, x, err)
		}
	}
	p.say("// use of the freed %v", x)
	_, err := fetch(x.a)
	expects("ToSlice", err)
	expects("Eval", gpk.Eval(x.a))
	expects("Eval of Clone", gpk.Eval(x.a.Clone()))
	expects("Err", x.a.Err())
	if x.repeats() || x.st.shared {
		return
	}
	expects("CopyFrom", x.a.CopyFrom(constant(x.st.dt, 1)))
	expects("FromSliceInto", uploadInto(x.a, x.st.dt, make([]float64, len(x.at))))
	y := p.choose(func(h *handle) bool {
		return h.st.dt == x.st.dt && h.st.dev == x.st.dev && slices.Equal(h.shape, x.shape) && !h.st.shared && !h.repeats() && !h.st.bad && !h.st.mayBeFreed
	})
	if y != nil {
		expects("Into", gpk.Into(y.a, x.a))
		expects("Into", gpk.Into(x.a, y.a))
		expects("CopyFrom", y.a.CopyFrom(x.a))
		p.use(y)
	}
}

func (p *program) openScope() {
	if len(p.scopes) >= 3 {
		return
	}
	p.lastID++
	s := &scope{s: gpk.NewScope(), id: p.lastID, name: fmt.Sprintf("s%d", p.step)}
	p.say("%s := gpk.NewScope()", s.name)
	p.scopes = append(p.scopes, s)
}

// open returns one of the open scopes, or nil.
func (p *program) open() *scope {
	if len(p.scopes) == 0 {
		return nil
	}
	return p.scopes[p.rng.IntN(len(p.scopes))]
}

func (p *program) enter() {
	s := p.open()
	if s == nil {
		return
	}
	x := p.pick(nil)
	if x == nil {
		return
	}
	if h := p.viewOf(x, x.shape, x.at, fmt.Sprintf("%s.In(%v)", s.name, x), func() *gpk.Array { return s.s.In(x.a) }); h != nil {
		h.in = newest(x.in, s)
	}
}

func (p *program) own() {
	s := p.open()
	if s == nil {
		return
	}
	x := p.pick(func(h *handle) bool { return !h.st.shared && !h.st.borrowed })
	if x == nil {
		return
	}
	p.say("%s.Own(%v)", s.name, x)
	err := s.s.Own(x.a).Err()
	switch of := x.st.scope; {
	case of != nil && of != s:
		if !errors.Is(err, gpk.ErrUnsupported) {
			p.fail("Own of %v, of %s: %v", x, of.name, err)
		}
	case err != nil && !(x.st.bad && errors.Is(err, gpk.ErrShape)):
		p.fail("Own of %v: %v", x, err)
	default:
		x.st.scope = s
	}
}

func (p *program) keep() {
	x := p.pick(func(h *handle) bool { return h.st.scope != nil })
	s := p.open()
	if x == nil || s == nil {
		return
	}
	if p.rng.IntN(8) > 0 {
		s = x.st.scope
	}
	p.say("%v = %s.Keep(%v)", x, s.name, x)
	a := s.s.Keep(x.a)
	err := a.Err()
	switch {
	case s != x.st.scope:
		if !errors.Is(err, gpk.ErrUnsupported) {
			p.fail("Keep of %v, of %s: %v", x, x.st.scope.name, err)
		}
	case err != nil && !(x.st.bad && errors.Is(err, gpk.ErrShape)):
		p.fail("Keep of %v: %v", x, err)
	default:
		s.kept = append(s.kept, x.st)
		x.st.scope, x.in, x.a = nil, nil, a
	}
}

// mayBeLost reports whether an intermediate result may be ErrFreed. It may have no handle
// any more.
func (st *store) mayBeLost() bool {
	if st.stored || !st.used {
		return false
	}
	for r := range st.reads {
		if !r.usable() {
			return true
		}
	}
	return st.mayBeFreed
}

func (p *program) closeScope() {
	s := p.open()
	if s == nil {
		return
	}
	p.restore()
	p.say("%s.Close()", s.name)
	bad := slices.ContainsFunc(s.kept, func(st *store) bool { return st.bad })
	lost := slices.ContainsFunc(s.kept, (*store).mayBeLost)
	err := s.s.Close()
	if err != nil && !(bad && errors.Is(err, gpk.ErrShape)) && !(lost && errors.Is(err, gpk.ErrFreed)) {
		p.fail("Close of %s: %v", s.name, err)
	}
	if err := s.s.Close(); !errors.Is(err, gpk.ErrFreed) {
		p.fail("a second Close of %s: %v", s.name, err)
	}
	for _, st := range s.kept {
		if !st.mayBeLost() {
			st.keepsMemory()
		}
	}
	s.closed = true
	p.scopes = slices.DeleteFunc(p.scopes, func(x *scope) bool { return x == s })
	var list []*store
	for _, h := range p.handles {
		for st := range h.st.reads {
			if st.scope == s {
				list = append(list, st)
			}
		}
	}
	p.gone(list...)
}

package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	gpk "github.com/gpk-go/gpk"
)

// shared holds the state that concurrent programs share: arrays that are only read, and
// arrays that are written under a lock.
type shared struct {
	read    []*handle
	written []*locked

	mu      sync.Mutex
	offered []*handle // arrays that one program hands to another
}

// locked is an array that every program reads and writes.
type locked struct {
	mu sync.RWMutex
	h  *handle
}

func newShared(w *world, seed uint64) *shared {
	p := &program{world: w, seed: seed, rng: rand.New(rand.NewPCG(seed, 2))}
	s := &shared{}
	for i, dt := range []gpk.DType{gpk.Float32, gpk.Float32, gpk.Int32, gpk.Bool} {
		shape := []int{[]int{1, 3, 5}[p.rng.IntN(3)], []int{1, 4, 8}[p.rng.IntN(3)]}
		p.step, p.made = -1-i, 0
		data := p.data(dt, size(shape))
		s.read = append(s.read, p.fresh(upload(dt, data, shape), dt, shape, data))
	}
	// These are pending when the programs begin.
	for i, h := range s.read[:3] {
		p.step, p.made = -10-i, 0
		data := h.values()
		for j := range data {
			data[j] += 2
		}
		s.read = append(s.read, p.fresh(h.a.Add(2), h.st.dt, h.shape, data, h))
	}
	for i := range 3 {
		p.step, p.made = -20-i, 0
		shape := []int{[]int{1, 3, 64}[i], 4}
		data := p.data(gpk.Float32, size(shape))
		s.written = append(s.written, &locked{h: p.fresh(upload(gpk.Float32, data, shape), gpk.Float32, shape, data)})
	}
	return s
}

// join gives a program its own models of the arrays that are only read.
func (s *shared) join(p *program) {
	for _, h := range s.read {
		own := *h
		own.st = &store{id: h.st.id, dt: h.st.dt, data: h.st.data, shared: true, stored: true}
		own.name = fmt.Sprintf("shared%d", -h.id)
		p.handles = append(p.handles, &own)
	}
}

// check compares the arrays after all programs have ended.
func (s *shared) check() error {
	for _, l := range s.written {
		got, err := fetch(l.h.a)
		if err != nil || !slices.Equal(got, l.h.values()) {
			return fmt.Errorf("%v, %w; want %v", got, err, l.h.values())
		}
	}
	return nil
}

func (s *shared) free() {
	for _, h := range s.read {
		h.a.Free()
	}
	for _, l := range s.written {
		l.h.a.Free()
	}
	s.offered = nil // dropped, and not freed: the collector finds them
}

// useShared reads or writes an array that other programs read and write.
func (p *program) useShared() {
	if p.shared == nil {
		return
	}
	l := p.shared.written[p.rng.IntN(len(p.shared.written))]
	switch p.rng.IntN(4) {
	case 0:
		l.mu.Lock()
		defer l.mu.Unlock()
		p.writeShared(l.h)
	case 1:
		l.mu.RLock()
		defer l.mu.RUnlock()
		got, err := fetch(l.h.a)
		if want := l.h.values(); err != nil || !slices.Equal(got, want) {
			p.fail("a shared array reads %v, %v; want %v", got, err, want)
		}
	default:
		l.mu.RLock()
		defer l.mu.RUnlock()
		own := *l.h
		own.name = fmt.Sprintf("written%d", -l.h.id)
		own.st = &store{id: l.h.st.id, dt: l.h.st.dt, data: l.h.st.data, shared: true, stored: true}
		if p.rng.IntN(2) == 0 {
			p.applyNumber(arithmetics[p.rng.IntN(3)], gpk.Float32, &own)
		} else if y := p.fitting(&own, gpk.Float32); y != nil {
			p.apply2(arithmetics[p.rng.IntN(3)], gpk.Float32, &own, y)
		}
	}
}

// writeShared writes all or a part of an array. Its lock is held.
func (p *program) writeShared(h *handle) {
	v, data := p.small(gpk.Float32), h.values()
	part, n := h.a, len(data)
	if p.rng.IntN(2) == 0 {
		part, n = part.Slice(0, 0, 1), h.shape[1]
	}
	y := p.pick(func(y *handle) bool {
		return y.st.dt == gpk.Float32 && y.st.dev == 0 && !y.st.bad && slices.Equal(y.shape, h.shape)
	})
	for i := range data[:n] {
		if data[i] += v; y != nil && n == len(data) {
			data[i] = y.values()[i]
		}
	}
	if !rounded(gpk.Float32, data) {
		p.say("a shared array = 3")
		if err := h.a.CopyFrom(3); err != nil {
			p.fail("CopyFrom to a shared array: %v", err)
		}
		copy(h.st.data, slices.Repeat([]float64{3}, len(data)))
		return
	}
	err := error(nil)
	if y != nil && n == len(data) {
		p.say("written%d.CopyFrom(%v)", -h.id, y)
		p.use(y)
		err = h.a.CopyFrom(y.a)
	} else {
		p.say("written%d, its first %d: AddInPlace(%v)", -h.id, n, v)
		err = part.AddInPlace(v)
	}
	if err != nil {
		p.fail("a write to a shared array: %v", err)
	}
	copy(h.st.data, data)
}

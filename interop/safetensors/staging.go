package safetensors

import (
	"fmt"
	"sync"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

// The staging memory of a File for a GPU: at most 64 MiB of pinned memory, allocated at
// first use and freed by Close. One goroutine reads 3 to 10 GB/s of cached pages, and the
// bus moves 55 GB/s. An H200 with 16 processors receives 40 GB/s through 8 slots and 44
// GB/s through 16 (benchmark/results/gpk-safetensors_h200_2026-11-24.txt).
const (
	slotBytes = 4 << 20
	maxSlots  = 16
)

// stagings is the staging memory of a File.
type stagings struct {
	mu     sync.Mutex
	of     map[*device.Device]*staging
	closed bool
}

// on returns the staging memory for a device.
func (s *stagings) on(dev *device.Device) *staging {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.of[dev]
	if g == nil {
		g = &staging{dev: dev, closed: s.closed}
		g.changed.L = &g.mu
		if s.of == nil {
			s.of = map[*device.Device]*staging{}
		}
		s.of[dev] = g
	}
	return g
}

// close frees all staging memory. A slot in use is freed when it is given back.
func (s *stagings) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, g := range s.of {
		g.close()
	}
}

// staging is the pinned memory for one device.
type staging struct {
	dev *device.Device

	mu      sync.Mutex
	changed sync.Cond
	made    int
	idle    []slot
	closed  bool
}

// slot is a piece of slotBytes bytes of host memory.
type slot struct {
	b    []byte
	free func()
}

// take waits for a slot.
func (g *staging) take() (slot, error) {
	g.mu.Lock()
	for len(g.idle) == 0 && g.made == maxSlots && !g.closed {
		g.changed.Wait()
	}
	if g.closed {
		g.mu.Unlock()
		return slot{}, fmt.Errorf("%w: the file was closed", gpk.ErrFreed)
	}
	if n := len(g.idle); n > 0 {
		s := g.idle[n-1]
		g.idle = g.idle[:n-1]
		g.mu.Unlock()
		return s, nil
	}
	g.made++
	g.mu.Unlock()
	b, free, err := g.dev.AllocPinned(slotBytes)
	if err != nil { // ordinary memory also works, but is slower
		b, free = make([]byte, slotBytes), func() {}
	}
	return slot{b, free}, nil
}

func (g *staging) give(s slot) {
	g.mu.Lock()
	closed := g.closed
	if !closed {
		g.idle = append(g.idle, s)
		g.changed.Signal()
	}
	g.mu.Unlock()
	if closed {
		s.free()
	}
}

func (g *staging) close() {
	g.mu.Lock()
	idle := g.idle
	g.idle, g.closed = nil, true
	g.changed.Broadcast()
	g.mu.Unlock()
	for _, s := range idle {
		s.free()
	}
}

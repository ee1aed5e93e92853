package cufft

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/devicetest"
)

// tables stands for cuFFT on a device with memory for the tables of room plans.
type tables struct {
	mu   sync.Mutex
	room int
	last int
	live map[int]bool
}

func (m *tables) make(uintptr, *Problem) (id int, work int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.live) >= m.room {
		return 0, 0, library.Failure("cufftXtMakePlanMany", allocFailed, "")
	}
	m.last++
	m.live[m.last] = true
	return m.last, 0, nil
}

func (m *tables) end(_ uintptr, id int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.live, id)
}

func (m *tables) has(p *Plan) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.live[p.id]
}

// TestPlansMakeRoom checks that if there is no memory for the tables of a plan, exactly
// the cached plans without references are destroyed.
func TestPlansMakeRoom(t *testing.T) {
	const room = 4
	d := devicetest.NewFake(device.Info{Name: "fake", Kind: device.CUDA, SM: 90, TotalMemory: 1 << 30}, device.CapabilitiesOf(90))
	m := &tables{room: room, live: map[int]bool{}}
	k := &planCache{dev: d, make: m.make, end: m.end, plans: map[Problem]*Plan{}}
	problem := func(n int) Problem { return Problem{Rank: 1, N: [MaxRank]int{n}, Batch: 1} }

	used, err := k.planOf(problem(0)) // as a graph would
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n < room; n++ {
		if _, err := k.planOf(problem(n)); err != nil {
			t.Fatal(err)
		}
	}
	more := []*Plan{used}
	for n := room; n < 2*room-1; n++ { // as many as there is room for beside the used one
		plan, err := k.planOf(problem(n))
		for begun := time.Now(); err != nil && time.Since(begun) < 20*time.Second; { // Go's cleanups may be late
			plan, err = k.planOf(problem(n))
		}
		if err != nil {
			t.Fatal(err)
		}
		more = append(more, plan)
	}
	_, err = k.planOf(problem(2 * room))
	if !errors.Is(err, device.ErrOutOfMemory) || !isAllocFailed(err) {
		t.Errorf("with no room for any plan: %v", err)
	}
	for _, p := range more {
		if !m.has(p) {
			t.Errorf("plan %d, which is used, was ended", p.id)
		}
	}
	runtime.KeepAlive(more)
}

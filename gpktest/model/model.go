// Package model runs random programs on arrays and on plain Go slices, and compares the
// two after every step.
//
// The slices define the right result: an operation copies the elements that its operands
// have on its line, a write changes the elements of a storage and of all its views, and
// nothing else changes an element. All numbers are chosen so that every result is exact,
// so elements are compared bit for bit.
//
// If a program fails, it is run again without some of its steps, as long as it still
// fails. The remaining steps are printed as the calls of a Go program.
package model

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpk-go/gpk/device"
)

// Options sets the length and the kind of a run.
type Options struct {
	// Devices are the devices that arrays lie on. The first becomes the default
	// device while the model runs. Values are copied between the devices.
	Devices []*device.Device
	// Seed is the seed of the first program; 0 takes one from the clock.
	Seed uint64
	// Steps is the number of steps to run; 0 means as many as fit in Time.
	Steps int
	// Time ends the run if Steps is 0; 0 means one second.
	Time time.Duration
	// Length is the number of steps of a program; 0 means 300.
	Length int
	// Goroutines is the number of programs that run at once and share some of their
	// arrays; 0 means 1.
	Goroutines int
	// CollectEachStep runs Go's garbage collector at each step of a program.
	CollectEachStep bool
	// GCPercent is passed to debug.SetGCPercent while the model runs; 0 leaves the
	// setting unchanged.
	GCPercent int
	// StarveEach is n if no memory can be allocated during every n-th step, or 0 for no
	// step. It needs one goroutine.
	StarveEach int
	// FailEach is n if launches fail during every n-th step, or 0 for no step. It needs
	// one goroutine.
	FailEach int
}

// counts holds the numbers of steps, programs, reads and so on of a run.
type counts struct{ steps, programs, reads, writes, freed, starved, refused, skipped, replays atomic.Int64 }

// Run runs programs until one fails or enough steps were run.
func Run(t *testing.T, o Options) {
	t.Helper()
	if o.Seed == 0 {
		o.Seed = uint64(time.Now().UnixNano())
	}
	if o.Length == 0 {
		o.Length = 300
	}
	if o.Time == 0 {
		o.Time = time.Second
	}
	if o.Goroutines == 0 {
		o.Goroutines = 1
	}
	if len(o.Devices) == 0 {
		o.Devices = []*device.Device{device.Default()}
	}
	defer device.SetDefault(device.SetDefault(o.Devices[0]))
	if o.GCPercent != 0 {
		defer debug.SetGCPercent(debug.SetGCPercent(o.GCPercent))
	}
	w := &world{Options: o, t: t, counts: &counts{}}
	if err := w.open(); err != nil {
		t.Fatal(err)
	}
	defer w.close()
	begun := time.Now()
	for seed := o.Seed; w.wants(begun); seed++ {
		if !w.round(seed) {
			return
		}
	}
	c := w.counts
	t.Logf("seed %d, %d steps of %d programs in %.1f s: %d reads, %d writes, %d arrays freed, %d replays, %d steps without memory, %d with failing launches, %d calls skipped as not exact",
		o.Seed, c.steps.Load(), c.programs.Load(), time.Since(begun).Seconds(), c.reads.Load(), c.writes.Load(), c.freed.Load(), c.replays.Load(), c.starved.Load(), c.refused.Load(), c.skipped.Load())
}

// world holds the state that the programs of a run share.
type world struct {
	Options
	t       *testing.T
	streams [][]*device.Stream // streams of each device
	*counts
}

func (w *world) open() error {
	for _, d := range w.Devices {
		if err := d.Err(); err != nil {
			return err
		}
		list := []*device.Stream{d.DefaultStream()}
		for range 2 {
			s, err := d.NewStream()
			if err != nil {
				return err
			}
			list = append(list, s)
		}
		w.streams = append(w.streams, list)
	}
	return nil
}

func (w *world) close() {
	for _, list := range w.streams {
		for _, s := range list[1:] {
			if err := s.Close(); err != nil {
				w.t.Error(err)
			}
		}
	}
}

// wants reports whether the run should continue.
func (w *world) wants(begun time.Time) bool {
	if w.Options.Steps > 0 {
		return w.counts.steps.Load() < int64(w.Options.Steps)
	}
	return time.Since(begun) < w.Time
}

// round runs one program, or one per goroutine at once. It reports whether all agree with
// the model.
func (w *world) round(seed uint64) bool {
	w.settle()
	runtime.GC() // what earlier rounds have dropped does not hide what this one leaves
	runtime.GC()
	before, routines := w.inUse(nil), runtime.NumGoroutine()
	steps := make([]int, w.Length)
	for i := range steps {
		steps[i] = i
	}
	var failed []*program
	if w.Goroutines == 1 {
		if p := w.run(seed, steps, nil); p.failure != nil {
			failed = append(failed, w.shrink(p))
		}
	} else {
		shared := newShared(w, seed)
		list := make([]*program, w.Goroutines)
		var wg sync.WaitGroup
		for g := range list {
			wg.Go(func() { list[g] = w.run(seed<<8+uint64(g), steps, shared) })
		}
		wg.Wait()
		if err := shared.check(); err != nil {
			w.t.Errorf("seed %d: a shared array: %v", seed, err)
			return false
		}
		for _, p := range list {
			if p.failure != nil {
				failed = append(failed, p)
			}
		}
		shared.free()
	}
	for _, p := range failed {
		w.t.Errorf("seed %d: %v\n%s", seed, p.failure, p.text(400))
	}
	if len(failed) > 0 {
		return false
	}
	if err := w.left(before, routines); err != nil {
		w.t.Errorf("seed %d: %v", seed, err)
		return false
	}
	return true
}

// inUse returns the bytes in use on each device. If they are more than expected, it
// collects garbage first.
func (w *world) inUse(expected []int64) []int64 {
	var out []int64
	end := time.Now().Add(time.Minute)
	for i := 0; i < 100 || time.Now().Before(end); i++ {
		out = out[:0]
		over := false
		for k, d := range w.Devices {
			out = append(out, d.Pool().InUse)
			over = over || expected != nil && out[k] > expected[k]
		}
		if !over {
			break
		}
		w.settle()
		runtime.GC()
		if i > 2 {
			time.Sleep(time.Millisecond)
		}
	}
	return out
}

// left returns an error if memory or goroutines remain after all arrays are gone.
func (w *world) left(before []int64, routines int) error {
	after := w.inUse(before)
	for i, d := range w.Devices {
		if after[i] > before[i] {
			return fmt.Errorf("%v: %d bytes are in use after everything was freed, %d before: %+v", d, after[i], before[i], d.LiveBuffers(0))
		}
	}
	for _, d := range w.Devices {
		if d.Kind() == device.CUDA { // kernels are compiled in the background
			return nil
		}
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if runtime.NumGoroutine() <= routines {
			return nil
		}
	}
	return fmt.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), routines)
}

// run runs the steps with these numbers of the program of a seed.
func (w *world) run(seed uint64, steps []int, shared *shared) (p *program) {
	p = newProgram(w, seed, steps, shared)
	w.counts.programs.Add(1)
	stop := p.watch()
	defer stop()
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(*failure)
			if !ok {
				f = &failure{fmt.Errorf("panic: %v\n%s", r, debug.Stack())}
			}
			p.failure = f.error
			p.restore()
		}
	}()
	p.run()
	return p
}

// failure is the value that a program panics with.
type failure struct{ error }

// shrink runs a failing program without some of its steps, as long as it fails.
func (w *world) shrink(p *program) *program {
	if errors.Is(p.failure, errStuck) {
		return p
	}
	end := time.Now().Add(20 * time.Second)
	try := func(steps []int) bool {
		if time.Now().After(end) {
			return false
		}
		for range 2 {
			q := w.run(p.seed, steps, nil)
			if q.failure != nil {
				p = q
				return true
			}
		}
		return false
	}
	for before := len(p.steps) + 1; len(p.steps) < before; {
		before = len(p.steps)
		for size := before; size > 0; size /= 2 {
			for at := 0; at < len(p.steps); {
				upto := min(at+size, len(p.steps))
				if !try(append(append([]int{}, p.steps[:at]...), p.steps[upto:]...)) {
					at = upto
				}
			}
		}
	}
	return p
}

// text returns the last lines of a program.
func (p *program) text(n int) string {
	lines := p.lines
	if len(lines) > n {
		lines = append([]string{fmt.Sprintf("... %d lines", len(lines)-n)}, lines[len(lines)-n:]...)
	}
	return "\t" + strings.Join(lines, "\n\t")
}

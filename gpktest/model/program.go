package model

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/devicetest"
)

// program is a random program. What a step does depends on the seed and on the number
// of the step, so that steps can be left out.
type program struct {
	*world
	seed   uint64
	steps  []int
	rng    *rand.Rand // random numbers of the step
	step   int
	made   int // handles made in the step
	shared *shared

	lens    []int // the lengths of axes
	looks   int   // number of steps in 16 after which any array is read
	handles []*handle
	dead    []*handle // handles of freed arrays
	scopes  []*scope
	graphs  []*graph
	lastID  int // last number given to a scope

	starved bool
	failing bool // launches fail
	limits  []int64
	lines   []string
	failure error
	now     atomic.Int64 // the time of the last step
}

// Limits of a program.
const (
	maxHandles  = 20
	maxElements = 4096
)

func newProgram(w *world, seed uint64, steps []int, shared *shared) *program {
	p := &program{world: w, seed: seed, steps: steps, shared: shared, rng: rand.New(rand.NewPCG(seed, 1<<40))}
	for range 3 {
		p.lens = append(p.lens, []int{1, 2, 3, 4, 5, 8, 17}[p.rng.IntN(7)])
	}
	if p.rng.IntN(12) == 0 {
		p.lens[p.rng.IntN(3)] = []int{0, 64, 300}[p.rng.IntN(3)]
	}
	p.looks = []int{0, 1, 4, 16}[p.rng.IntN(4)]
	p.now.Store(time.Now().UnixNano())
	return p
}

// fail ends the program.
func (p *program) fail(format string, args ...any) {
	panic(&failure{fmt.Errorf(format, args...)})
}

// say adds a line to the program's text, before the call.
func (p *program) say(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

// note adds a remark to the last line.
func (p *program) note(format string, args ...any) {
	if n := len(p.lines); n > 0 && !strings.Contains(p.lines[n-1], "//") {
		p.lines[n-1] += " // " + fmt.Sprintf(format, args...)
	}
}

// errStuck is the failure of a program whose step does not end.
var errStuck = errors.New("stuck")

// stuckAfter is the longest time that a step may take.
const stuckAfter = time.Minute

// watch ends the test if a step takes too long.
func (p *program) watch() (stop func()) {
	// The runtime may keep a stopped timer, and the variables of its function, for as
	// long as the timer's processor is idle. So the function does not refer to p.
	var watched atomic.Pointer[program]
	watched.Store(p)
	t := time.AfterFunc(stuckAfter, func() {
		for {
			p := watched.Load()
			if p == nil {
				return
			}
			if time.Since(time.Unix(0, p.now.Load())) > stuckAfter {
				p.stuck()
			}
			time.Sleep(time.Second)
		}
	})
	return func() { t.Stop(); watched.Store(nil) }
}

// stuck ends the test with the last lines of the program and all stacks.
func (p *program) stuck() {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	fmt.Fprintf(os.Stderr, "seed %d: %v\n%s\n%s\n", p.seed, errStuck, p.text(60), buf)
	os.Exit(2)
}

// run runs the steps, and then frees everything.
func (p *program) run() {
	if p.shared != nil {
		p.shared.join(p)
	}
	for n, i := range p.steps {
		p.rng = rand.New(rand.NewPCG(p.seed, uint64(i)))
		p.step, p.made = i, 0
		p.now.Store(time.Now().UnixNano())
		p.counts.steps.Add(1)
		if p.StarveEach > 0 && i%p.StarveEach == p.StarveEach-1 {
			p.starve()
		}
		if p.FailEach > 0 && i%p.FailEach == p.FailEach-1 {
			p.failLaunches()
		}
		p.one()
		p.restore()
		if p.CollectEachStep {
			runtime.GC()
		}
		p.look()
		if n%40 == 39 {
			p.checkAll()
		}
		for len(p.handles) > maxHandles {
			p.drop()
		}
	}
	p.rng = rand.New(rand.NewPCG(p.seed, 1<<41))
	p.step, p.made = 1<<30, 0
	p.say("// the end")
	p.checkAll()
	p.finish()
}

// one runs one step.
func (p *program) one() {
	kinds := []struct {
		weight int
		run    func()
	}{
		{8, p.leaf},
		{22, p.binary},
		{14, p.withNumber},
		{8, p.unary},
		{4, p.compare},
		{4, p.ternary},
		{4, p.cast},
		{6, p.reduce},
		{2, p.cumSum},
		{4, p.matMul},
		{3, p.concat},
		{4, p.take},
		{2, p.order},
		{3, p.copies},
		{2, p.line},
		{1, p.fan},
		{2, p.wide},
		{3, p.burst},
		{1, p.softmax},
		{6, p.exchange},
		{20, p.view},
		{16, p.arithmetic},
		{12, p.copyFrom},
		{4, p.fromSliceInto},
		{8, p.into},
		{4, p.refused},
		{3, p.evaluate},
		{1, p.fix},
		{3, p.move},
		{3, p.useDead},
		{4, p.free},
		{2, p.forget},
		{1, p.collect},
		{2, p.openScope},
		{5, p.enter},
		{2, p.own},
		{3, p.keep},
		{2, p.closeScope},
		{1, p.capture},
		{3, p.replay},
		{1, p.freeGraph},
		{6, p.useShared},
	}
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	n := p.rng.IntN(total)
	for _, k := range kinds {
		if n -= k.weight; n < 0 {
			k.run()
			return
		}
	}
}

// finish frees half of the arrays and drops the others, closes the scopes and frees
// the graphs.
func (p *program) finish() {
	for len(p.scopes) > 0 {
		p.closeScope()
	}
	for len(p.graphs) > 0 {
		p.freeGraph()
	}
	for i, h := range slices.Clone(p.handles) {
		if i%2 == 0 && !h.st.shared && !h.st.borrowed {
			h.a.Free()
		}
	}
	p.handles, p.dead = nil, nil
	p.world.settle()
}

// settle makes each device forget the newest pending operation.
func (w *world) settle() {
	for _, d := range w.Devices {
		b, err := d.Alloc(4, nil)
		if err != nil {
			w.t.Error(err)
			continue
		}
		x := gpk.Add(gpk.Mul(bufferArray(b), 0), 1)
		if err := gpk.Eval(x); err != nil {
			w.t.Error(err)
		}
		x.Free()
		b.Free()
	}
}

// starve has allocations fail until restore, or until the first call that finds this.
func (p *program) starve() {
	p.limits = p.limits[:0]
	for _, d := range p.Devices {
		p.limits = append(p.limits, d.Pool().Limit)
		if err := d.Trim(); err != nil {
			p.fail("Trim: %v", err)
		}
		limit := int64(1)
		if p.rng.IntN(4) == 0 { // a few allocations succeed
			limit = d.Pool().InUse + int64(64*p.rng.IntN(4)) + 1
		}
		d.SetMemoryLimit(limit)
	}
	p.starved = true
}

// errRefused is the error of a launch that the model lets fail.
var errRefused = fmt.Errorf("%w: a launch that the model lets fail", device.ErrDevice)

// failLaunches makes all launches fail, or every second one.
func (p *program) failLaunches() {
	all, odd := p.rng.IntN(2) == 0, false
	for _, d := range p.Devices {
		devicetest.FailLaunches(d, func() error {
			if odd = !odd; all || odd {
				return errRefused
			}
			return nil
		})
	}
	p.failing = true
}

// restore undoes starve and failLaunches.
func (p *program) restore() {
	if p.failing {
		p.failing = false
		for _, d := range p.Devices {
			devicetest.FailLaunches(d, nil)
		}
	}
	if p.starved {
		p.starved = false
		for i, d := range p.Devices {
			d.SetMemoryLimit(p.limits[i])
		}
	}
}

// try calls f. If f fails because of starve or failLaunches, it restores memory and
// launches and calls f again; the failed call must not have changed anything.
func (p *program) try(f func() error) error {
	err := p.hop(f)
	switch {
	case p.starved && errors.Is(err, device.ErrOutOfMemory):
		p.note("had no memory: once more")
		p.counts.starved.Add(1)
	case p.failing && errors.Is(err, errRefused):
		p.note("a launch failed: once more")
		p.counts.refused.Add(1)
	default:
		return err
	}
	p.restore()
	p.checkStored()
	return p.hop(f)
}

// array calls f, and again after restore if it ran out of memory.
func (p *program) array(f func() *gpk.Array) (a *gpk.Array) {
	_ = p.try(func() error { a = f(); return a.Err() })
	return a
}

package fft

import (
	"sync"

	"github.com/gpk-go/gpk/internal/cpu"
)

// plan transforms lines of n elements. It is made once for each length and type.
type plan[C number] struct {
	n       int
	stages  []stage[C]
	chirped *bluestein[C] // nil if the stages compute the transform
	// turns returns e^(-pi i k / n) for k <= n, for lines of 2 n real numbers.
	turns func() []C
}

type planKey struct {
	n      int
	double bool
}

// plans holds the most recently used plans.
var plans struct {
	sync.Mutex
	of map[planKey]any
}

const (
	maxPlans    = 64      // maximum number of plans that are kept
	largestKept = 1 << 20 // plans of longer lines are not kept; a plan takes 16 to 120 bytes an element
)

// planOf returns the plan for lines of n > 0 elements.
func planOf[C number](n int) *plan[C] {
	_, double := any(C(0)).(complex128)
	key := planKey{n, double}
	plans.Lock()
	p, ok := plans.of[key].(*plan[C])
	plans.Unlock()
	if ok {
		return p
	}
	p = newPlan[C](n)
	if n > largestKept {
		return p
	}
	plans.Lock()
	defer plans.Unlock()
	if plans.of == nil || len(plans.of) >= maxPlans {
		plans.of = map[planKey]any{}
	}
	plans.of[key] = p
	return p
}

func newPlan[C number](n int) *plan[C] {
	p := &plan[C]{n: n, turns: sync.OnceValue(func() []C {
		turns := make([]C, n+1)
		for k := range turns {
			turns[k] = C(root(k, 2*n))
		}
		return turns
	})}
	list := factors(n)
	if list == nil {
		p.chirped = newBluestein[C](n)
		return p
	}
	s := 1
	for _, f := range list {
		m := n / (s * f)
		p.stages = append(p.stages, newStage[C](f, s, m))
		s *= f
	}
	return p
}

// scratch returns the number of elements of memory that transform needs besides the line.
func (p *plan[C]) scratch() int {
	if p.chirped != nil {
		return 2 * p.chirped.of.n
	}
	return p.n
}

// begin returns the memory to which the caller writes the elements of a line, so that transform
// leaves the result in line. It is line itself or the scratch memory.
func (p *plan[C]) begin(line, scratch []C) []C {
	if p.chirped == nil && len(p.stages)%2 == 1 {
		return scratch[:p.n]
	}
	return line
}

// manyElements is the smallest length of a line that all threads compute together.
const manyElements = 1 << 13

// transform transforms the elements in the memory that begin returned, and leaves the result in
// line. With alone, it may use all threads.
func (p *plan[C]) transform(line, scratch []C, alone bool) {
	if p.chirped != nil {
		p.chirped.transform(line, scratch, alone)
		return
	}
	p.transformFrom(p.begin(line, scratch), line, scratch, alone)
}

// transformFrom is transform of the elements x. x is the memory that begin returned, or memory that is only read. A plan without
// stages needs the former.
func (p *plan[C]) transformFrom(x, line, scratch []C, alone bool) {
	y, other := line, scratch[:p.n]
	if len(p.stages)%2 == 0 {
		y, other = other, y
	}
	for i := range p.stages {
		g := &p.stages[i]
		if alone && p.n >= manyElements {
			units := g.m * g.s / 4 // the assembly takes four butterflies or more
			cpu.Parallel(units, manyElements/16/g.p, func(lo, hi int) {
				lo, hi = 4*lo, 4*hi
				if hi == 4*units {
					hi = g.m * g.s
				}
				g.run(x, y, lo, hi)
			})
		} else {
			g.run(x, y, 0, g.m*g.s)
		}
		x, y, other = y, other, y
	}
}

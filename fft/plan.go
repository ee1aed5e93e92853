package fft

import (
	"sync"

	"github.com/gpk-go/gpk/internal/cpu"
)

// plan transforms lines of n elements. It is made once for a length and type.
type plan[C number] struct {
	n       int
	stages  []stage[C]
	chirped *bluestein[C] // nil where stages do
}

// stage is one factor of Stockham's algorithm (Van Loan, Computational Frameworks for the Fast
// Fourier Transform, 1992, section 1.7), decimation in frequency. With s the product of the
// factors before, m = n/(s p) and w = e^(-2 pi i / (m p)),
//
//	y[s (p k + t) + q] = w^(k t) sum over j of x[s (k + m j) + q] e^(-2 pi i j t / p)
//
// for k < m, q < s and t < p.
type stage[C number] struct {
	p, s, m int
	twiddle []C // w^(k t), t from 1: p-1 numbers a k. Of a first stage of 4, m numbers a t
	roots   []C // e^(-2 pi i j / p)
	// vector says that the assembly computes the stage. All cuts of a stage are then multiples of
	// four butterflies, so that the bits do not depend on them.
	vector bool
}

type planKey struct {
	n      int
	double bool
}

// plans holds the plans of the lengths used last.
var plans struct {
	sync.Mutex
	of map[planKey]any
}

const (
	maxPlans    = 64      // plans that are kept
	largestKept = 1 << 20 // elements of a line whose plan is kept; it takes 16 to 100 bytes an element
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
	p := &plan[C]{n: n}
	list := factors(n)
	if list == nil {
		p.chirped = newBluestein[C](n)
		return p
	}
	s := 1
	for _, f := range list {
		m := n / (s * f)
		g := stage[C]{p: f, s: s, m: m}
		g.setTwiddles()
		for j := range f {
			g.roots = append(g.roots, C(root(j, f)))
		}
		p.stages = append(p.stages, g)
		s *= f
	}
	return p
}

func (g *stage[C]) setTwiddles() {
	p, m := g.p, g.m
	g.vector = vector && p == 4 && (g.s%4 == 0 || g.s == 1 && m%4 == 0)
	g.twiddle = make([]C, (p-1)*m)
	for k := range m {
		for t := 1; t < p; t++ {
			at := k*(p-1) + t - 1
			if p == 4 && g.s == 1 {
				at = (t-1)*m + k
			}
			g.twiddle[at] = C(root(k*t, m*p))
		}
	}
}

// scratch is the number of elements of memory that transform needs beside the line.
func (p *plan[C]) scratch() int {
	if p.chirped != nil {
		return 2 * p.chirped.of.n
	}
	return p.n
}

// begin returns where the elements of a line belong so that transform leaves the result in
// line: in line itself, or in the scratch memory.
func (p *plan[C]) begin(line, scratch []C) []C {
	if p.chirped == nil && len(p.stages)%2 == 1 {
		return scratch[:p.n]
	}
	return line
}

// manyElements is the length from which on all threads work on one line.
const manyElements = 1 << 13

// transform replaces what begin's result holds by its transform, in line. With alone, it may use
// all threads.
func (p *plan[C]) transform(line, scratch []C, alone bool) {
	if p.chirped != nil {
		p.chirped.transform(line, scratch, alone)
		return
	}
	x, y := line, scratch[:p.n]
	if len(p.stages)%2 == 1 {
		x, y = y, x
	}
	for i := range p.stages {
		g := &p.stages[i]
		if alone && p.n >= manyElements {
			cpu.Parallel(g.m*g.s, manyElements/4/g.p, func(lo, hi int) { g.run(x, y, lo, hi) })
		} else {
			g.run(x, y, 0, g.m*g.s)
		}
		x, y = y, x
	}
}

// run computes the butterflies lo to hi, number k s + q of the stage.
func (g *stage[C]) run(x, y []C, lo, hi int) {
	for lo < hi {
		k, q := lo/g.s, lo%g.s
		n := min(g.s-q, hi-lo)
		switch {
		case g.s == 1 && g.p == 4:
			g.first4(x, y, lo, hi)
			return
		case g.p == 4:
			g.run4(x, y, k, q, n)
		case g.p == 2:
			g.run2(x, y, k, q, n)
		case g.p == 3:
			g.run3(x, y, k, q, n)
		default:
			g.runAny(x, y, k, q, n)
		}
		lo += n
	}
}

// in returns n elements from the butterfly (k, q) of one of a stage's p inputs.
func (g *stage[C]) in(x []C, j, k, q, n int) []C { return x[g.s*(k+g.m*j)+q:][:n] }

// out is in for its outputs.
func (g *stage[C]) out(y []C, t, k, q, n int) []C { return y[g.s*(g.p*k+t)+q:][:n] }

func (g *stage[C]) run2(x, y []C, k, q, n int) {
	x0, x1 := g.in(x, 0, k, q, n), g.in(x, 1, k, q, n)
	y0, y1 := g.out(y, 0, k, q, n), g.out(y, 1, k, q, n)
	w := g.twiddle[k]
	for i, a := range x0 {
		b := x1[i]
		y0[i] = a + b
		y1[i] = (a - b) * w
	}
}

func (g *stage[C]) run3(x, y []C, k, q, n int) {
	x0, x1, x2 := g.in(x, 0, k, q, n), g.in(x, 1, k, q, n), g.in(x, 2, k, q, n)
	y0, y1, y2 := g.out(y, 0, k, q, n), g.out(y, 1, k, q, n), g.out(y, 2, k, q, n)
	w1, w2 := g.twiddle[2*k], g.twiddle[2*k+1]
	half, turn := C(complex(-0.5, 0)), C(complex(0, -0.8660254037844386)) // -1/2, -i sqrt(3)/2
	for i, a := range x0 {
		sum, diff := x1[i]+x2[i], (x1[i]-x2[i])*turn
		mid := a + sum*half
		y0[i] = a + sum
		y1[i] = (mid + diff) * w1
		y2[i] = (mid - diff) * w2
	}
}

func (g *stage[C]) runAny(x, y []C, k, q, n int) {
	p := g.p
	var in [largestFactor]C
	w := g.twiddle[k*(p-1):][:p-1]
	for i := q; i < q+n; i++ {
		var sum C
		for j := range p {
			in[j] = x[g.s*(k+g.m*j)+i]
			sum += in[j]
		}
		y[g.s*p*k+i] = sum
		for t := 1; t < p; t++ {
			sum, e := in[0], 0
			for j := 1; j < p; j++ {
				if e += t; e >= p {
					e -= p
				}
				sum += in[j] * g.roots[e]
			}
			y[g.s*(p*k+t)+i] = sum * w[t-1]
		}
	}
}

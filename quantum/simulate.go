package quantum

import "github.com/gpk-go/gpk/internal/cpu"

// number is the set of types in which states are computed: float32 for complex64 states,
// float64 for complex128.
type number interface{ float32 | float64 }

// spread is a function that runs f on parts of 0 … n-1.
type spread func(n int, f func(lo, hi int))

// inline is a spread that runs everything in the caller's goroutine.
func inline(n int, f func(lo, hi int)) { f(0, n) }

// minSpread is the minimum number of amplitudes for another goroutine.
const minSpread = 1 << 14

// across is a spread over several goroutines. Parts begin at multiples of minSpread.
func across(n int, f func(lo, hi int)) { cpu.Parallel(n, minSpread, f) }

// simulator runs a program on one sample after another. Real and imaginary parts are in two
// planes; a real program has only the first.
type simulator[T number] struct {
	p        *program
	spread   spread
	angles   []float64
	half     []float64 // half angles or whole angles; see p.turns
	sin, cos []float64 // their sines and cosines
	factors  [4]T      // scratch for a doubling
	re, im   []T       // the state
	re2, im2 []T       // scratch for linear steps
	fr, fi   []T       // phases of a diagonal step
	lr, li   []T       // phases of one of its bits
	fixed    fixedPhases[T]
	stop     func() bool // polled between steps
}

type planes[T number] struct{ re, im []T }

// fixedPhases are the phases of a program's constant diagonals, which its simulators share.
type fixedPhases[T number] map[*diagonal]*planes[T]

// maxFixedQubits is the largest state for which constant phases are stored.
const maxFixedQubits = 22

// fixedDiagonals lists the diagonals whose phases are stored.
func (p *program) fixedDiagonals() (list []*diagonal) {
	for _, o := range p.ops {
		if o.kind == stepDiagonal && o.diag.constant && p.qubits <= maxFixedQubits {
			list = append(list, o.diag)
		}
	}
	return list
}

func newFixedPhases[T number](p *program) fixedPhases[T] {
	fixed := fixedPhases[T]{}
	for _, d := range p.fixedDiagonals() {
		m := newSimulator(p, fixed, inline)
		m.constants()
		m.phases(d)
		fixed[d] = &planes[T]{m.fr, m.fi}
	}
	return fixed
}

func newSimulator[T number](p *program, fixed fixedPhases[T], spread spread) *simulator[T] {
	room := make([]float64, len(p.angles.angles)+3*len(p.turns))
	take := func(n int) (part []float64) {
		part, room = room[:n:n], room[n:]
		return part
	}
	n := len(p.turns)
	return &simulator[T]{p: p, spread: spread, angles: take(len(p.angles.angles)), half: take(n), sin: take(n), cos: take(n), fixed: fixed}
}

// constants evaluates the constant angles and leaves the others.
func (m *simulator[T]) constants() {
	for i, a := range m.p.angles.angles {
		if a.isConst() {
			m.angles[i] = a.constant()
		}
	}
}

// run computes the state of sample x into re and im, planes of 2^qubits; for a real program
// im is nil. It returns the first angle that is not finite, or -1.
func (m *simulator[T]) run(x []float64, re, im []T) (bad int) {
	if bad := m.p.angles.evaluate(x, m.angles); bad >= 0 {
		return bad
	}
	m.p.evaluateAngles(m.angles, m.half, m.sin, m.cos)
	m.re, m.im = re, im
	m.product()
	for i := range m.p.ops {
		if m.stop != nil && m.stop() {
			return -1
		}
		switch o := &m.p.ops[i]; o.kind {
		case stepLocal:
			m.local(&o.local)
		case stepControlled:
			m.controlled(o)
		case stepDiagonal:
			m.diagonal(o.diag)
		case stepLinear:
			m.linear(o.rows)
		}
	}
	return -1
}

// product writes the product of the start's 2-vectors, times the program's phase, which is a
// sign if the amplitudes are real. Each position doubles the product of the lower ones.
func (m *simulator[T]) product() {
	re, im, e := m.re, m.im, complex128(1)
	if m.p.phase >= 0 {
		e = phase(m.angles[m.p.phase])
	}
	re[0] = T(real(e))
	if im != nil {
		im[0] = T(imag(e))
	}
	for p := range m.p.start {
		h := 1 << p
		a, b := m.p.start[p].vector(m.sin, m.cos)
		m.factors = [4]T{T(real(a)), T(imag(a)), T(real(b)), T(imag(b))}
		if h < minSpread { // avoids the allocation of a closure
			double(re[:h], im, re[h:2*h], h, &m.factors)
			continue
		}
		m.spread(h, func(lo, hi int) {
			double(m.re[lo:hi], m.im[min(lo, len(m.im)):], m.re[h+lo:h+hi], h, &m.factors)
		})
	}
}

package model

import (
	"fmt"
	"math"
	"slices"

	gpk "github.com/gpk-go/gpk"
)

// multipliable reports whether products of the numbers, and their sums, are exact, even
// if the operands of a product are rounded to 11 bits.
func multipliable(dt gpk.DType, x, y []float64, k int) bool {
	if !float(dt) {
		return true
	}
	var most [2]float64
	for i, list := range [][]float64{x, y} {
		for _, v := range list {
			if v *= 8; v != math.Trunc(v) || math.Abs(v) > 1024 {
				return false
			}
			most[i] = max(most[i], math.Abs(v))
		}
	}
	return most[0]*most[1]*float64(k) <= 1<<24
}

func (p *program) matMul() {
	two := func(h *handle) bool { return len(h.shape) == 2 && len(h.at) > 0 && h.st.dt != gpk.Bool }
	x := p.pick(two)
	if x == nil {
		return
	}
	y := p.pick(func(h *handle) bool {
		return two(h) && h.st.dt == x.st.dt && h.st.dev == x.st.dev && h.shape[0] == x.shape[1]
	})
	turned := y == nil
	if turned {
		y = p.pick(func(h *handle) bool {
			return two(h) && h.st.dt == x.st.dt && h.st.dev == x.st.dev && h.shape[1] == x.shape[1]
		})
	}
	if y == nil {
		return
	}
	a, b := x.values(), y.values()
	m, k := x.shape[0], x.shape[1]
	n, text := y.shape[1], fmt.Sprintf("%v.MatMul(%v)", x, y)
	if turned {
		n, text = y.shape[0], fmt.Sprintf("%v.MatMul(%v.T())", x, y)
	}
	if m*n > maxElements || !multipliable(x.st.dt, a, b, k) {
		return
	}
	out := make([]float64, m*n)
	for i := range m {
		for j := range n {
			for l := range k {
				at := l*n + j
				if turned {
					at = j*k + l
				}
				out[i*n+j] += a[i*k+l] * b[at]
			}
		}
	}
	p.result(x.st.dt, []int{m, n}, out, text, func() *gpk.Array {
		if turned {
			return x.a.MatMul(y.a.T())
		}
		return x.a.MatMul(y.a)
	}, x, y)
}

// concat joins two arrays.
func (p *program) concat() {
	x := p.pick(func(h *handle) bool { return len(h.shape) > 0 })
	if x == nil {
		return
	}
	axis := p.rng.IntN(len(x.shape))
	y := p.pick(func(h *handle) bool {
		if h.st.dt != x.st.dt || h.st.dev != x.st.dev || len(h.shape) != len(x.shape) {
			return false
		}
		for d, n := range h.shape {
			if d != axis && n != x.shape[d] {
				return false
			}
		}
		return true
	})
	if y == nil {
		return
	}
	shape := slices.Clone(x.shape)
	shape[axis] += y.shape[axis]
	var out []float64
	inner := size(shape[axis+1:])
	a, b := x.values(), y.values()
	na, nb := inner*x.shape[axis], inner*y.shape[axis]
	for range size(shape[:axis]) {
		out = append(append(out, a[:na]...), b[:nb]...)
		a, b = a[na:], b[nb:]
	}
	p.result(x.st.dt, shape, out, fmt.Sprintf("gpk.Concat(%d, %v, %v)", axis, x, y), func() *gpk.Array { return gpk.Concat(axis, x.a, y.a) }, x, y)
}

// take calls Take; sometimes an index is out of range.
func (p *program) take() {
	x := p.pick(func(h *handle) bool { return len(h.shape) > 0 && len(h.at) > 0 })
	if x == nil {
		return
	}
	axis := p.rng.IntN(len(x.shape))
	n := x.shape[axis]
	ix := p.pick(func(h *handle) bool {
		return h.st.dt == gpk.Int64 && h.st.dev == x.st.dev && len(h.shape) == 1 && len(h.at) > 0 && len(h.at) <= 8 && p.rng.IntN(3) == 0
	})
	if ix == nil {
		if x.st.dev != 0 {
			return
		}
		data := make([]float64, 1+p.rng.IntN(4))
		for i := range data {
			data[i] = float64(p.rng.IntN(2*n) - n)
		}
		if p.rng.IntN(4) == 0 {
			data[p.rng.IntN(len(data))] = float64(n + p.rng.IntN(3))
		}
		ix = p.result(gpk.Int64, []int{len(data)}, data, fmt.Sprintf("gpk.FromSlice(%v)", data), func() *gpk.Array { return upload(gpk.Int64, data, []int{len(data)}) })
		if ix == nil {
			return
		}
	}
	places, bad := ix.values(), false
	for i, v := range places {
		if v < 0 {
			v += float64(n)
		}
		if v < 0 || v >= float64(n) {
			bad, v = true, 0
		}
		places[i] = v
	}
	a, inner := x.values(), size(x.shape[axis+1:])
	shape := slices.Concat([]int{}, x.shape[:axis], ix.shape, x.shape[axis+1:])
	var out []float64
	for o := range size(x.shape[:axis]) {
		for _, v := range places {
			at := (o*n + int(v)) * inner
			out = append(out, a[at:at+inner]...)
		}
	}
	p.takes(x, ix, axis, shape, out, bad && !ix.st.bad)
}

// takes calls Take with indices that may be out of range.
func (p *program) takes(x, ix *handle, axis int, shape []int, out []float64, bad bool) {
	was := ix.st.bad
	ix.st.bad = ix.st.bad || bad // the result inherits it
	h := p.result(x.st.dt, shape, out, fmt.Sprintf("gpk.Take(%v, %v, %d)", x, ix, axis), func() *gpk.Array { return gpk.Take(x.a, ix.a, axis) }, x, ix)
	ix.st.bad = was
	if h != nil && bad {
		p.note("an index is out of range")
	}
}

// copies are operations that only move elements.
func (p *program) copies() {
	x := p.pick(nil)
	if x == nil {
		return
	}
	out := x.values()
	switch p.rng.IntN(4) {
	case 0:
		if x.layout().IsDense() {
			p.viewOf(x, x.shape, x.at, fmt.Sprintf("%v.Contiguous()", x), func() *gpk.Array { return x.a.Contiguous() })
			return
		}
		p.result(x.st.dt, x.shape, out, fmt.Sprintf("%v.Contiguous()", x), func() *gpk.Array { return x.a.Contiguous() }, x)
	case 1:
		if len(x.shape) == 0 {
			return
		}
		var twice []float64
		shape := slices.Clone(x.shape)
		n := len(shape) - 1
		shape[n] *= 2
		for _, v := range out {
			twice = append(twice, v, v)
		}
		p.result(x.st.dt, shape, twice, fmt.Sprintf("%v.Repeat(2, %d)", x, n), func() *gpk.Array { return x.a.Repeat(2, n) }, x)
	case 2:
		p.result(x.st.dt, append([]int{2}, x.shape...), slices.Concat(out, out), fmt.Sprintf("gpk.Stack(0, %v, %v)", x, x), func() *gpk.Array { return gpk.Stack(0, x.a, x.a) }, x)
	default:
		p.result(x.st.dt, x.shape, out, fmt.Sprintf("%v.Clone()", x), func() *gpk.Array { return x.a.Clone() }, x)
	}
}

// line builds a chain that is too long for one kernel.
func (p *program) line() {
	x := p.pick(func(h *handle) bool { return h.st.dt != gpk.Bool })
	for range 4 + p.rng.IntN(20) {
		if x == nil {
			return
		}
		r := arithmetics[p.rng.IntN(3)]
		if y := p.fitting(x, x.st.dt); y != nil && p.rng.IntN(3) == 0 {
			x = p.apply2(r, x.st.dt, x, y)
		} else {
			x = p.applyNumber(r, x.st.dt, x)
		}
		if n := len(p.handles); n > maxHandles && p.rng.IntN(2) == 0 {
			p.handles = slices.Delete(p.handles, n-2, n-1) // the program keeps only the last
		}
	}
}

// fan makes more pending arrays than a device may have.
func (p *program) fan() {
	x := p.pick(func(h *handle) bool { return h.st.dt != gpk.Bool && len(h.at) < 64 })
	if x == nil {
		return
	}
	n := 66 + p.rng.IntN(8)
	kept, lines := len(p.handles), len(p.lines)
	for range n {
		p.applyNumber(arithmetics[0], x.st.dt, x)
	}
	if len(p.handles) == kept {
		return
	}
	p.lines = append(p.lines[:lines], fmt.Sprintf("%v to %v := %v.Add(number)", p.handles[kept], p.handles[len(p.handles)-1], x))
	for _, h := range slices.Clone(p.handles[kept:]) {
		if p.rng.IntN(16) == 0 {
			p.say("gpk.ToSlice(%v)", h)
			p.check(h)
		}
	}
	p.handles = slices.Delete(p.handles, kept+p.rng.IntN(8), len(p.handles))
}

// move copies an array to another device.
func (p *program) move() {
	if len(p.Devices) < 2 {
		return
	}
	x := p.pick(func(h *handle) bool { return !h.st.bad })
	if x == nil {
		return
	}
	to := p.rng.IntN(len(p.Devices))
	text, call := fmt.Sprintf("%v.To(device %d)", x, to), func() *gpk.Array { return x.a.To(p.Devices[to]) }
	if to == x.st.dev {
		p.viewOf(x, x.shape, x.at, text, call)
		return
	}
	if h := p.result(x.st.dt, x.shape, x.values(), text, call, x); h != nil {
		h.st.dev = to
		h.st.keepsMemory()
	}
}

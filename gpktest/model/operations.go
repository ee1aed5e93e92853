package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	gpk "github.com/gpk-go/gpk"
)

// rule1 is an operation on one number.
type rule1 struct {
	name string
	f    func(x float64) float64
	call func(a *gpk.Array) *gpk.Array
}

var unaries = []rule1{
	{"Neg", func(x float64) float64 { return -x }, gpk.Neg},
	{"Abs", math.Abs, gpk.Abs},
	{"Square", func(x float64) float64 { return x * x }, gpk.Square},
	{"ReLU", func(x float64) float64 { return math.Max(x, 0) }, gpk.ReLU},
	{"Floor", math.Floor, gpk.Floor},
}

func (p *program) unary() {
	x := p.pick(nil)
	if x == nil {
		return
	}
	r := unaries[p.rng.IntN(len(unaries))]
	if x.st.dt == gpk.Bool {
		r = rule1{"Not", func(x float64) float64 { return 1 - x }, gpk.Not}
	}
	out := x.values()
	for i, v := range out {
		out[i] = r.f(v)
	}
	p.result(x.st.dt, x.shape, out, fmt.Sprintf("%v.%s()", x, r.name), func() *gpk.Array { return r.call(x.a) }, x)
}

// ternary calls Where or Clamp.
func (p *program) ternary() {
	if p.rng.IntN(2) == 0 {
		x := p.pick(func(h *handle) bool { return h.st.dt != gpk.Bool })
		if x == nil {
			return
		}
		out := x.values()
		lo, hi := float64(-p.rng.IntN(8)-1), float64(1+p.rng.IntN(8))
		for i, v := range out {
			out[i] = min(max(v, lo), hi)
		}
		a, b := constant(x.st.dt, lo), constant(x.st.dt, hi)
		p.result(x.st.dt, x.shape, out, fmt.Sprintf("%v.Clamp(%v, %v)", x, a, b), func() *gpk.Array { return x.a.Clamp(a, b) }, x)
		return
	}
	c := p.pick(func(h *handle) bool { return h.st.dt == gpk.Bool })
	if c == nil {
		return
	}
	x := p.pick(func(h *handle) bool {
		return h.st.dt != gpk.Bool && h.st.dev == c.st.dev && together(h.shape, c.shape) != nil
	})
	if x == nil {
		return
	}
	shape := together(x.shape, c.shape)
	y := p.pick(func(h *handle) bool {
		return h.st.dt == x.st.dt && h.st.dev == c.st.dev && together(h.shape, shape) != nil
	})
	if y != nil && p.rng.IntN(3) > 0 {
		if shape = together(y.shape, shape); size(shape) > maxElements {
			return
		}
		on, out, other := c.stretched(shape), x.stretched(shape), y.stretched(shape)
		for i := range out {
			if on[i] == 0 {
				out[i] = other[i]
			}
		}
		p.result(x.st.dt, shape, out, fmt.Sprintf("gpk.Where(%v, %v, %v)", c, x, y), func() *gpk.Array { return gpk.Where(c.a, x.a, y.a) }, c, x, y)
		return
	}
	if size(shape) > maxElements {
		return
	}
	v := p.small(x.st.dt)
	on, out, k := c.stretched(shape), x.stretched(shape), constant(x.st.dt, v)
	for i := range out {
		if on[i] == 0 {
			out[i] = v
		}
	}
	p.result(x.st.dt, shape, out, fmt.Sprintf("gpk.Where(%v, %v, %v)", c, x, k), func() *gpk.Array { return gpk.Where(c.a, x.a, k) }, c, x)
}

func (p *program) cast() {
	x := p.pick(nil)
	if x == nil {
		return
	}
	to, out := types[p.rng.IntN(len(types))], x.values()
	for i, v := range out {
		switch {
		case to == gpk.Bool:
			out[i] = truth(v != 0)
		case !float(to):
			out[i] = math.Trunc(v)
		}
	}
	p.result(to, x.shape, out, fmt.Sprintf("%v.Cast(%v)", x, to), func() *gpk.Array { return x.a.Cast(to) }, x)
}

// summable reports whether sums of numbers are exact in any order.
func summable(dt gpk.DType, data []float64) bool {
	if !float(dt) {
		return true
	}
	sum := 0.0
	for _, v := range data {
		v *= 64
		if v != math.Trunc(v) {
			return false
		}
		sum += math.Abs(v)
	}
	return sum <= 1<<24
}

// lines splits elements into those that agree in all axes but some: the results are in
// row-major order of the other axes.
func lines(data []float64, shape []int, set []bool) (out [][]float64, rest []int) {
	rest = []int{}
	for d, n := range shape {
		if !set[d] {
			rest = append(rest, n)
		}
	}
	out = make([][]float64, size(rest))
	for i, v := range data {
		k, stride, left := 0, 1, i
		for d := len(shape) - 1; d >= 0; d-- {
			at := left % shape[d]
			left /= shape[d]
			if !set[d] {
				k += at * stride
				stride *= shape[d]
			}
		}
		out[k] = append(out[k], v)
	}
	return out, rest
}

// reduce reduces an array over some axes.
func (p *program) reduce() {
	x := p.pick(func(h *handle) bool { return len(h.at) > 0 })
	if x == nil || len(x.at) == 0 {
		return
	}
	set, axes := make([]bool, len(x.shape)), []int(nil)
	for d := range set {
		if p.rng.IntN(2) == 0 {
			set[d] = true
			axes = append(axes, d)
		}
	}
	if len(axes) == 0 { // no axes means all
		for d := range set {
			set[d] = true
		}
	}
	dt, data := x.st.dt, x.values()
	parts, shape := lines(data, x.shape, set)
	out := make([]float64, len(parts))
	each := func(f func(v []float64) float64) {
		for i, v := range parts {
			out[i] = f(v)
		}
	}
	name, call := "Sum", gpk.Sum
	switch k := p.rng.IntN(4); {
	case dt == gpk.Bool && k < 2:
		name, call = "Any", gpk.Any
		each(func(v []float64) float64 { return slices.Max(v) })
	case k == 0:
		name, call = "Max", gpk.Max
		each(func(v []float64) float64 { return slices.Max(v) })
	case k == 1 && len(x.shape) > 0:
		axis := p.rng.IntN(len(x.shape))
		for d := range set {
			set[d] = d == axis
		}
		parts, shape = lines(data, x.shape, set)
		out = make([]float64, len(parts))
		each(func(v []float64) float64 { return float64(slices.Index(v, slices.Max(v))) })
		p.result(gpk.Int64, shape, out, fmt.Sprintf("%v.ArgMax(%d)", x, axis), func() *gpk.Array { return x.a.ArgMax(axis) }, x)
		return
	default:
		if !summable(dt, data) {
			return
		}
		each(func(v []float64) (s float64) {
			for _, y := range v {
				s += y
			}
			return s
		})
		if !float(dt) {
			dt = gpk.Int64
		}
	}
	p.result(dt, shape, out, fmt.Sprintf("%v.%s(%v)", x, name, axes), func() *gpk.Array { return call(x.a, axes...) }, x)
}

// along returns the elements of each line along an axis, and how they go back.
func along(x *handle, axis int) (parts [][]float64, back func(parts [][]float64, n int) ([]float64, []int)) {
	set := make([]bool, len(x.shape))
	set[axis] = true
	parts, _ = lines(x.values(), x.shape, set)
	return parts, func(parts [][]float64, n int) ([]float64, []int) {
		shape := slices.Clone(x.shape)
		shape[axis] = n
		inner := size(shape[axis+1:])
		out := make([]float64, size(shape))
		for i := range out {
			k := i/(inner*max(n, 1))*inner + i%inner
			out[i] = parts[k][i/inner%n]
		}
		return out, shape
	}
}

func (p *program) cumSum() {
	x := p.pick(func(h *handle) bool { return len(h.shape) > 0 && len(h.at) > 0 })
	if x == nil || !summable(x.st.dt, x.values()) {
		return
	}
	axis, dt := p.rng.IntN(len(x.shape)), x.st.dt
	parts, back := along(x, axis)
	for _, v := range parts {
		for i := 1; i < len(v); i++ {
			v[i] += v[i-1]
		}
	}
	if !float(dt) {
		dt = gpk.Int64
	}
	out, shape := back(parts, x.shape[axis])
	p.result(dt, shape, out, fmt.Sprintf("%v.CumSum(%d)", x, axis), func() *gpk.Array { return x.a.CumSum(axis) }, x)
}

// order calls Sort or TopK.
func (p *program) order() {
	x := p.pick(func(h *handle) bool { return len(h.shape) > 0 && len(h.at) > 0 && !h.st.bad })
	if x == nil {
		return
	}
	axis := p.rng.IntN(len(x.shape))
	parts, back := along(x, axis)
	if p.rng.IntN(2) == 0 {
		falling := p.rng.IntN(2) == 0
		for _, v := range parts {
			slices.Sort(v)
			if falling {
				slices.Reverse(v)
			}
		}
		out, shape := back(parts, x.shape[axis])
		p.result(x.st.dt, shape, out, fmt.Sprintf("%v.Sort(%d, %v)", x, axis, falling), func() *gpk.Array { return x.a.Sort(axis, falling) }, x)
		return
	}
	k := 1 + p.rng.IntN(x.shape[axis])
	places := make([][]float64, len(parts))
	for i, v := range parts {
		ix := make([]int, len(v))
		for j := range ix {
			ix[j] = j
		}
		slices.SortStableFunc(ix, func(a, b int) int { return cmp.Compare(v[b], v[a]) })
		parts[i] = nil
		for _, j := range ix[:k] {
			parts[i] = append(parts[i], v[j])
			places[i] = append(places[i], float64(j))
		}
	}
	out, shape := back(parts, k)
	where, _ := back(places, k)
	var indices *gpk.Array
	h := p.result(x.st.dt, shape, out, fmt.Sprintf("%v.TopK(%d, %d)", x, k, axis), func() (a *gpk.Array) { a, indices = x.a.TopK(k, axis); return a }, x)
	if h != nil {
		h.st.keepsMemory()
		x.st.keepsMemory()
		p.fresh(indices, gpk.Int64, shape, where, x).st.keepsMemory()
	}
}

package model

import (
	"errors"
	"fmt"
	"math"
	"slices"

	gpk "github.com/gpk-go/gpk"
)

// types are the element types of the model.
var types = []gpk.DType{gpk.Float32, gpk.Float32, gpk.Float64, gpk.Int32, gpk.Int64, gpk.Bool}

func float(dt gpk.DType) bool { return dt == gpk.Float32 || dt == gpk.Float64 }

// maxValue bounds the numbers.
const maxValue = 1 << 20

// rounded rounds results to a type. It returns false if a number is too large, NaN or -0: the
// model avoids such results.
func rounded(dt gpk.DType, data []float64) bool {
	for i, v := range data {
		switch {
		case dt == gpk.Float32:
			v = float64(float32(v))
		case !float(dt):
			v += 0 // -0 is 0
		}
		if !(math.Abs(v) <= maxValue) || v == 0 && math.Signbit(v) {
			return false
		}
		data[i] = v
	}
	return true
}

// result calls an operation whose elements are data, unless those are not exact.
func (p *program) result(dt gpk.DType, shape []int, data []float64, text string, f func() *gpk.Array, from ...*handle) *handle {
	if !rounded(dt, data) || len(data) > maxElements {
		p.counts.skipped.Add(1)
		return nil
	}
	bad := slices.ContainsFunc(from, func(h *handle) bool { return h.st.bad })
	if bad && len(data) == 0 {
		return nil
	}
	p.say("%s := %s // %v %v", p.nextName(), text, dt, shape)
	a := p.array(f)
	h := p.fresh(a, dt, shape, data, from...)
	if err := a.Err(); err != nil && !(bad && errors.Is(err, gpk.ErrShape)) {
		p.fail("%v: %v", h, err)
	}
	if !slices.Equal(a.Shape(), shape) || a.DType() != dt {
		p.fail("%v is %v %v; want %v %v", h, a.DType(), a.Shape(), dt, shape)
	}
	return h
}

// data returns small numbers of a type, not 0.
func (p *program) data(dt gpk.DType, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		v := float64(1 + p.rng.IntN(8))
		switch {
		case dt == gpk.Bool:
			out[i] = float64(p.rng.IntN(2))
			continue
		case float(dt) && p.rng.IntN(2) == 0:
			v /= 2
		}
		if p.rng.IntN(2) == 0 {
			v = -v
		}
		out[i] = v
	}
	return out
}

func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// shape returns a random shape that broadcasts with the shapes of the program's other arrays.
func (p *program) shape() []int {
	shape := slices.Clone(p.lens[p.rng.IntN(3):])
	if p.rng.IntN(3) == 0 {
		shape[p.rng.IntN(len(shape))] = 1
	}
	return shape
}

// leaf makes an array of data.
func (p *program) leaf() {
	dt, shape := types[p.rng.IntN(len(types))], p.shape()
	n := size(shape)
	if n > maxElements {
		return
	}
	switch k := p.rng.IntN(8); {
	case k == 0:
		p.result(dt, shape, make([]float64, n), fmt.Sprintf("gpk.Zeros(%v, %v)", dt, shape), func() *gpk.Array { return gpk.Zeros(dt, shape...) })
	case k == 1 && dt != gpk.Bool:
		v := 1 + p.rng.IntN(4)
		p.result(dt, shape, slices.Repeat([]float64{float64(v)}, n), fmt.Sprintf("gpk.Full(%v, %d, %v)", dt, v, shape), func() *gpk.Array { return gpk.Full(dt, v, shape...) })
	case k == 2 && dt != gpk.Bool:
		n := shape[len(shape)-1]
		data := make([]float64, n)
		for i := range data {
			data[i] = float64(i)
		}
		p.result(dt, []int{n}, data, fmt.Sprintf("gpk.Arange(%v, %d)", dt, n), func() *gpk.Array { return gpk.Arange(dt, n) })
	default:
		data := p.data(dt, n)
		p.result(dt, shape, slices.Clone(data), fmt.Sprintf("gpk.FromSlice(%v, %v)", clip(data), shape), func() *gpk.Array { return upload(dt, data, shape) })
	}
}

// stretched are the elements broadcast to a shape.
func (h *handle) stretched(shape []int) []float64 {
	return gather(h.values(), h.shape, shape)
}

// gather broadcasts elements of a shape to another.
func gather[T any](data []T, from, shape []int) []T {
	out := make([]T, size(shape))
	skip := len(shape) - len(from)
	for i := range out {
		k, rest, stride := 0, i, 1
		for d := len(shape) - 1; d >= 0; d-- {
			at := rest % shape[d]
			rest /= shape[d]
			if d >= skip {
				if n := from[d-skip]; n > 1 {
					k += at * stride
				}
				stride *= from[d-skip]
			}
		}
		out[i] = data[k]
	}
	return out
}

// together returns the shape that two shapes broadcast to; nil if they do not broadcast.
func together(a, b []int) []int {
	out := make([]int, max(len(a), len(b)))
	for i := range out {
		x, y := 1, 1
		if j := len(a) - len(out) + i; j >= 0 {
			x = a[j]
		}
		if j := len(b) - len(out) + i; j >= 0 {
			y = b[j]
		}
		switch {
		case x == y || y == 1:
			out[i] = x
		case x == 1:
			out[i] = y
		default:
			return nil
		}
	}
	return out
}

// fitting returns a handle of a type that broadcasts together with a shape.
func (p *program) fitting(x *handle, dt gpk.DType) *handle {
	return p.pick(func(h *handle) bool {
		return h.st.dt == dt && h.st.dev == x.st.dev && together(h.shape, x.shape) != nil && size(together(h.shape, x.shape)) <= maxElements
	})
}

// rule2 is an operation on two numbers.
type rule2 struct {
	name string
	f    func(x, y float64) float64
	call func(a, b any) *gpk.Array
}

var arithmetics = []rule2{
	{"Add", func(x, y float64) float64 { return x + y }, gpk.Add},
	{"Add", func(x, y float64) float64 { return x + y }, gpk.Add},
	{"Sub", func(x, y float64) float64 { return x - y }, gpk.Sub},
	{"Mul", func(x, y float64) float64 { return x * y }, gpk.Mul},
	{"Maximum", math.Max, gpk.Maximum},
	{"Minimum", math.Min, gpk.Minimum},
	{"Div", func(x, y float64) float64 { return x / y }, gpk.Div},
}

var comparisons = []rule2{
	{"Lt", func(x, y float64) float64 { return truth(x < y) }, gpk.Lt},
	{"Ge", func(x, y float64) float64 { return truth(x >= y) }, gpk.Ge},
	{"Eq", func(x, y float64) float64 { return truth(x == y) }, gpk.Eq},
	{"Ne", func(x, y float64) float64 { return truth(x != y) }, gpk.Ne},
}

var logic = []rule2{
	{"And", func(x, y float64) float64 { return truth(x != 0 && y != 0) }, gpk.And},
	{"Or", func(x, y float64) float64 { return truth(x != 0 || y != 0) }, gpk.Or},
	{"Xor", func(x, y float64) float64 { return truth(x != y) }, gpk.Xor},
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// rule returns an operation on a type, and the type of its result.
func (p *program) rule(dt gpk.DType) rule2 {
	if dt == gpk.Bool {
		return logic[p.rng.IntN(len(logic))]
	}
	n := len(arithmetics)
	if !float(dt) {
		n-- // no Div
	}
	return arithmetics[p.rng.IntN(n)]
}

// binary applies a random operation to two arrays.
func (p *program) binary() {
	x := p.pick(nil)
	if x == nil {
		p.leaf()
		return
	}
	if y := p.fitting(x, x.st.dt); y != nil {
		p.apply2(p.rule(x.st.dt), x.st.dt, x, y)
	}
}

func (p *program) apply2(r rule2, dt gpk.DType, x, y *handle) *handle {
	shape := together(x.shape, y.shape)
	out, other := x.stretched(shape), y.stretched(shape)
	for i := range out {
		out[i] = r.f(out[i], other[i])
	}
	return p.result(dt, shape, out, fmt.Sprintf("%v.%s(%v)", x, r.name, y), func() *gpk.Array { return r.call(x.a, y.a) }, x, y)
}

// constant converts a number to a Go value that gpk's functions take for the type.
func constant(dt gpk.DType, v float64) any {
	switch {
	case dt == gpk.Bool:
		return v != 0
	case float(dt):
		return v
	}
	return int(v)
}

// small returns a power of two that the type represents.
func (p *program) small(dt gpk.DType) float64 {
	if dt == gpk.Bool {
		return float64(p.rng.IntN(2))
	}
	v := []float64{1, 2, 4, -1, -2, 0.5}[p.rng.IntN(6)]
	if !float(dt) {
		v = math.Ceil(v)
	}
	return v
}

// withNumber applies a random operation to an array and a number.
func (p *program) withNumber() {
	if x := p.pick(nil); x != nil {
		p.applyNumber(p.rule(x.st.dt), x.st.dt, x)
	}
}

func (p *program) applyNumber(r rule2, dt gpk.DType, x *handle) *handle {
	v, out := p.small(x.st.dt), x.values()
	c := constant(x.st.dt, v)
	if r.name == "Sub" && p.rng.IntN(2) == 0 {
		for i := range out {
			out[i] = v - out[i]
		}
		return p.result(dt, x.shape, out, fmt.Sprintf("gpk.Sub(%v, %v)", c, x), func() *gpk.Array { return gpk.Sub(c, x.a) }, x)
	}
	for i := range out {
		out[i] = r.f(out[i], v)
	}
	return p.result(dt, x.shape, out, fmt.Sprintf("%v.%s(%v)", x, r.name, c), func() *gpk.Array { return r.call(x.a, c) }, x)
}

// compare makes an array of Bool.
func (p *program) compare() {
	x := p.pick(func(h *handle) bool { return h.st.dt != gpk.Bool })
	if x == nil {
		return
	}
	r := comparisons[p.rng.IntN(len(comparisons))]
	if y := p.fitting(x, x.st.dt); y != nil && p.rng.IntN(2) == 0 {
		p.apply2(r, gpk.Bool, x, y)
		return
	}
	p.applyNumber(r, gpk.Bool, x)
}

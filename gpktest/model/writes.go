package model

import (
	"errors"
	"fmt"
	"slices"

	gpk "github.com/gpk-go/gpk"
)

// write calls a function that writes data to an array. bad is set if the elements are
// computed from an array that has failed.
func (p *program) write(to *handle, data []float64, bad bool, text string, f func() error) {
	if !rounded(to.st.dt, data) {
		p.counts.skipped.Add(1)
		return
	}
	st := to.st
	if (bad || st.bad) && len(to.at) == 0 {
		return
	}
	p.say("%s", text)
	p.counts.writes.Add(1)
	covers, repeats := to.covers(), to.repeats()
	p.use(to)
	err := p.try(f)
	switch {
	case repeats, bad && (!covers || st.fixed > 0), !bad && st.bad && !covers:
		if !errors.Is(err, gpk.ErrShape) {
			p.fail("%s: %v; want an error of shape", text, err)
		}
		p.note("an error")
		return
	case err != nil:
		p.fail("%s: %v", text, err)
	case bad:
		p.note("now %v has failed", to)
	default:
		for i, k := range to.at {
			st.data[k] = data[i]
		}
	}
	st.bad = bad
	st.keepsMemory()
}

// target picks an array to write to.
func (p *program) target(fits func(h *handle) bool) *handle {
	x := p.pick(func(h *handle) bool { return !h.st.shared && (fits == nil || fits(h)) })
	if x != nil && x.repeats() && p.rng.IntN(8) > 0 {
		return nil
	}
	if x != nil && len(x.shape) > 0 && p.rng.IntN(3) == 0 {
		if v := p.slice(x); v != nil {
			return v
		}
	}
	return x
}

// source picks an array whose elements are broadcast to another.
func (p *program) source(to *handle, same bool) *handle {
	y := p.pick(func(h *handle) bool {
		if h.st.dt != to.st.dt || h.st.dev != to.st.dev {
			return false
		}
		if same {
			return slices.Equal(h.shape, to.shape)
		}
		return slices.Equal(together(h.shape, to.shape), to.shape)
	})
	return y
}

// arithmetic applies an operation in place.
func (p *program) arithmetic() {
	x := p.target(func(h *handle) bool { return h.st.dt != gpk.Bool })
	if x == nil {
		return
	}
	r := []rule2{
		{"Add", func(x, y float64) float64 { return x + y }, nil},
		{"Sub", func(x, y float64) float64 { return x - y }, nil},
		{"Mul", func(x, y float64) float64 { return x * y }, nil},
		{"Div", func(x, y float64) float64 { return x / y }, nil},
	}[p.rng.IntN(4)]
	if r.name == "Div" && !float(x.st.dt) {
		return
	}
	call := map[string]func(a *gpk.Array, b any) error{
		"Add": gpk.AddInPlace, "Sub": gpk.SubInPlace, "Mul": gpk.MulInPlace, "Div": gpk.DivInPlace,
	}[r.name]
	data := x.values()
	y := p.source(x, false)
	if y == nil || p.rng.IntN(3) == 0 {
		v := p.small(x.st.dt)
		c := constant(x.st.dt, v)
		for i := range data {
			data[i] = r.f(data[i], v)
		}
		p.write(x, data, x.st.bad, fmt.Sprintf("%v.%sInPlace(%v)", x, r.name, c), func() error { return call(x.a, c) })
		return
	}
	other := y.stretched(x.shape)
	for i := range data {
		data[i] = r.f(data[i], other[i])
	}
	if y.st != x.st {
		p.use(y)
	}
	p.write(x, data, x.st.bad || y.st.bad, fmt.Sprintf("%v.%sInPlace(%v)", x, r.name, y), func() error { return call(x.a, y.a) })
}

func (p *program) copyFrom() {
	x := p.target(nil)
	if x == nil {
		return
	}
	y := p.source(x, false)
	if y != nil && p.rng.IntN(4) == 0 { // an array to which there is no other reference
		if z := p.applyNumber(p.rule(x.st.dt), x.st.dt, y); z != nil {
			y = z
		}
	}
	if y == nil || p.rng.IntN(4) == 0 {
		v := p.small(x.st.dt)
		c := constant(x.st.dt, v)
		p.write(x, slices.Repeat([]float64{v}, len(x.at)), false, fmt.Sprintf("%v.CopyFrom(%v)", x, c), func() error { return x.a.CopyFrom(c) })
		return
	}
	if len(p.Devices) > 1 && p.rng.IntN(4) == 0 {
		if z := p.fromElsewhere(x, false); z != nil {
			y = z
		}
	}
	if y.st != x.st {
		p.use(y)
	}
	p.write(x, y.stretched(x.shape), y.st.bad, fmt.Sprintf("%v.CopyFrom(%v)", x, y), func() error { return x.a.CopyFrom(y.a) })
}

// fromElsewhere picks a source on another device.
func (p *program) fromElsewhere(to *handle, same bool) *handle {
	return p.pick(func(h *handle) bool {
		return h.st.dt == to.st.dt && h.st.dev != to.st.dev && !h.st.bad &&
			(same && slices.Equal(h.shape, to.shape) || !same && slices.Equal(together(h.shape, to.shape), to.shape))
	})
}

func (p *program) fromSliceInto() {
	x := p.target(nil)
	if x == nil {
		return
	}
	data := p.data(x.st.dt, len(x.at))
	p.write(x, slices.Clone(data), false, fmt.Sprintf("gpk.FromSliceInto(%v, %v)", x, clip(data)), func() error { return uploadInto(x.a, x.st.dt, data) })
}

// into calls Into, often with a source that reads the destination.
func (p *program) into() {
	x := p.target(nil)
	if x == nil {
		return
	}
	y := p.source(x, true)
	if len(p.Devices) > 1 && p.rng.IntN(6) == 0 {
		if z := p.fromElsewhere(x, true); z != nil {
			y = z
		}
	}
	if p.rng.IntN(3) == 0 {
		y = p.applyNumber(p.rule(x.st.dt), x.st.dt, x)
	}
	if y == nil {
		return
	}
	if p.rng.IntN(3) == 0 && x.st.dt == y.st.dt && x.st.dev == y.st.dev {
		if z := p.apply2(p.rule(x.st.dt), x.st.dt, y, x); z != nil {
			y = z
		}
	}
	if y.st != x.st {
		p.use(y)
	}
	p.write(x, y.values(), y.st.bad, fmt.Sprintf("gpk.Into(%v, %v)", x, y), func() error { return gpk.Into(x.a, y.a) })
}

// refused makes invalid calls, which return errors on their lines and change nothing.
func (p *program) refused() {
	x := p.pick(func(h *handle) bool { return !h.st.shared })
	if x == nil {
		return
	}
	wrong := gpk.Float32
	if x.st.dt == wrong {
		wrong = gpk.Int32
	}
	longer := append([]int{7}, x.shape...)
	expects := func(want error, text string, f func() error) {
		p.say("%s // refused", text)
		if err := f(); !errors.Is(err, want) {
			p.fail("%s: %v; want %v", text, err, want)
		}
	}
	other := gpk.Ones(wrong)
	if x.st.dev == 0 {
		expects(gpk.ErrDType, fmt.Sprintf("%v.CopyFrom(gpk.Ones(%v))", x, wrong), func() error { return x.a.CopyFrom(gpk.Ones(wrong, x.shape...)) })
		expects(gpk.ErrDType, fmt.Sprintf("gpk.Into(%v, gpk.Ones(%v, %v))", x, wrong, x.shape), func() error { return gpk.Into(x.a, gpk.Ones(wrong, x.shape...)) })
		expects(gpk.ErrShape, fmt.Sprintf("%v.CopyFrom(gpk.Ones(%v, %v))", x, x.st.dt, longer), func() error { return x.a.CopyFrom(gpk.Ones(x.st.dt, longer...)) })
		if x.st.dt != gpk.Bool {
			expects(gpk.ErrDType, fmt.Sprintf("%v.AddInPlace(gpk.Ones(%v))", x, wrong), func() error { return x.a.AddInPlace(other) })
			expects(gpk.ErrShape, fmt.Sprintf("%v.MulInPlace(gpk.Ones(%v, %v))", x, x.st.dt, longer), func() error { return x.a.MulInPlace(gpk.Ones(x.st.dt, longer...)) })
			expects(gpk.ErrDType, fmt.Sprintf("%v.Add(gpk.Ones(%v))", x, wrong), func() error { return x.a.Add(other).Err() })
		}
	}
	if !float(x.st.dt) {
		expects(gpk.ErrDType, fmt.Sprintf("%v.DivInPlace(2)", x), func() error { return x.a.DivInPlace(2) })
		expects(gpk.ErrDType, fmt.Sprintf("%v.CopyFrom(0.5)", x), func() error { return x.a.CopyFrom(0.5) })
	}
	expects(gpk.ErrShape, fmt.Sprintf("uploadInto(%v, too much)", x), func() error { return uploadInto(x.a, x.st.dt, make([]float64, len(x.at)+1)) })
	if y := p.pick(func(h *handle) bool { return h.st.dev != x.st.dev && h.st.dt == x.st.dt }); y != nil {
		expects(gpk.ErrDevice, fmt.Sprintf("%v.Maximum(%v)", x, y), func() error {
			if together(x.shape, y.shape) == nil {
				return gpk.ErrDevice
			}
			return x.a.Maximum(y.a).Err()
		})
	}
}

package model

import (
	"errors"
	"fmt"
	"slices"

	gpk "github.com/gpk-go/gpk"
)

// viewOf calls a function that returns a view: element i of the view is element at[i] of
// the store.
func (p *program) viewOf(x *handle, shape, at []int, text string, f func() *gpk.Array) *handle {
	if len(at) > maxElements || x.st.bad && len(at) == 0 {
		return nil
	}
	p.say("%s := %s // view %v", p.nextName(), text, shape)
	a := p.array(f)
	h := p.newHandle(a, x.st, shape, at, x.in)
	if err := a.Err(); err != nil && !(x.st.bad && errors.Is(err, gpk.ErrShape)) {
		p.fail("%v: %v", h, err)
	}
	if !slices.Equal(a.Shape(), shape) {
		p.fail("%v is %v; want %v", h, a.Shape(), shape)
	}
	return h
}

// moved are the elements of a view whose index ix is from(ix) of x.
func (h *handle) moved(shape []int, from func(ix []int)) []int {
	at := make([]int, size(shape))
	ix := make([]int, 8)
	for i := range at {
		ix = ix[:len(shape)]
		left := i
		for d := len(shape) - 1; d >= 0; d-- {
			ix[d] = left % shape[d]
			left /= shape[d]
		}
		from(ix)
		k := 0
		for d, n := range h.shape {
			k = k*n + ix[d]
		}
		at[i] = h.at[k]
	}
	return at
}

// view makes a view of an array.
func (p *program) view() {
	x := p.pick(nil)
	if x == nil {
		p.leaf()
		return
	}
	n := len(x.shape)
	switch k := p.rng.IntN(10); {
	case k < 4 && n > 0:
		p.slice(x)
	case k == 4 && n >= 2:
		shape := slices.Clone(x.shape)
		shape[n-1], shape[n-2] = shape[n-2], shape[n-1]
		at := x.moved(shape, func(ix []int) { ix[n-1], ix[n-2] = ix[n-2], ix[n-1] })
		p.viewOf(x, shape, at, fmt.Sprintf("%v.T()", x), func() *gpk.Array { return x.a.T() })
	case k == 5 && n > 0:
		axis := p.rng.IntN(n)
		at := x.moved(x.shape, func(ix []int) { ix[axis] = x.shape[axis] - 1 - ix[axis] })
		p.viewOf(x, x.shape, at, fmt.Sprintf("%v.Flip(%d)", x, axis), func() *gpk.Array { return x.a.Flip(axis) })
	case k == 6:
		p.reshape(x)
	case k == 7:
		p.broadcast(x)
	case k == 8:
		i := p.rng.IntN(3)
		s := p.streams[x.st.dev][i]
		p.viewOf(x, x.shape, x.at, fmt.Sprintf("%v.On(stream %d)", x, i), func() *gpk.Array { return x.a.On(s) })
	case slices.Contains(x.shape, 1):
		shape := slices.DeleteFunc(slices.Clone(x.shape), func(n int) bool { return n == 1 })
		p.viewOf(x, shape, x.at, fmt.Sprintf("%v.Squeeze()", x), func() *gpk.Array { return x.a.Squeeze() })
	case n < 4:
		axis := p.rng.IntN(n + 1)
		shape := slices.Insert(slices.Clone(x.shape), axis, 1)
		p.viewOf(x, shape, x.at, fmt.Sprintf("%v.Unsqueeze(%d)", x, axis), func() *gpk.Array { return x.a.Unsqueeze(axis) })
	}
}

func (p *program) slice(x *handle) *handle {
	axis := p.rng.IntN(len(x.shape))
	n := x.shape[axis]
	start, stop, step := p.rng.IntN(n+1), p.rng.IntN(n+1), 1+p.rng.IntN(2)
	if start > stop {
		start, stop = stop, start
	}
	if n > 0 && p.rng.IntN(4) == 0 {
		start, stop, step = p.rng.IntN(n), p.rng.IntN(n)-1, -step
		if stop > start {
			start, stop = stop, start
		}
	}
	var some []int
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		some = append(some, i)
	}
	if len(some) == 0 && p.rng.IntN(8) > 0 {
		return nil
	}
	if stop < 0 {
		stop -= n
	}
	shape := slices.Clone(x.shape)
	shape[axis] = len(some)
	at := x.moved(shape, func(ix []int) { ix[axis] = some[ix[axis]] })
	text := fmt.Sprintf("%v.Slice(%d, %d, %d, %d)", x, axis, start, stop, step)
	return p.viewOf(x, shape, at, text, func() *gpk.Array { return x.a.Slice(axis, start, stop, step) })
}

func (p *program) reshape(x *handle) {
	shape, rest := []int{}, len(x.at)
	if rest == 0 {
		shape = []int{0}
	}
	for rest > 1 && len(shape) < 2 {
		d := 1 + p.rng.IntN(rest)
		for rest%d != 0 {
			d--
		}
		shape, rest = append(shape, d), rest/d
	}
	if rest > 1 {
		shape = append(shape, rest)
	}
	text, call := fmt.Sprintf("%v.Reshape(%v)", x, shape), func() *gpk.Array { return x.a.Reshape(shape...) }
	if _, ok := x.layout().Reshape(shape); ok {
		p.viewOf(x, shape, x.at, text, call)
		return
	}
	p.result(x.st.dt, shape, x.values(), text, call, x)
}

func (p *program) broadcast(x *handle) {
	shape := slices.Clone(x.shape)
	for d := range shape {
		if shape[d] == 1 {
			shape[d] = p.lens[p.rng.IntN(3)]
		}
	}
	if len(shape) < 3 && p.rng.IntN(2) == 0 {
		shape = append([]int{p.lens[p.rng.IntN(3)]}, shape...)
	}
	if size(shape) > maxElements {
		return
	}
	p.viewOf(x, shape, gather(x.at, x.shape, shape), fmt.Sprintf("%v.BroadcastTo(%v)", x, shape), func() *gpk.Array { return x.a.BroadcastTo(shape...) })
}

package model

import (
	"errors"
	"fmt"
	"math"
	"slices"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/layout"
)

// store is the model of the storage that an array shares with its views.
type store struct {
	id   int
	dt   gpk.DType
	dev  int
	data []float64

	shared   bool // other programs have it too, so it is only read
	borrowed bool // another program has an array that was computed from it, so it is not freed
	bad      bool // it has failed: an index of Take was out of range
	fixed    int  // number of reasons why writes must not move it
	scope    *scope
	dead     bool // it was freed

	// stored is set if the elements are certainly in memory. An intermediate result that
	// is not stored may be ErrFreed once one of its operands is freed.
	stored     bool
	used       bool // an operation may have it as a step
	mayBeFreed bool // reading it may return ErrFreed
	lost       bool // reading it returns ErrFreed; a write may still give it new contents
	reads      map[*store]bool
}

// handle is an array and its model.
type handle struct {
	id    int
	name  string
	a     *gpk.Array
	st    *store
	shape []int
	at    []int // the elements of the store
	in    *scope
}

// newHandle lists an array.
func (p *program) newHandle(a *gpk.Array, st *store, shape, at []int, in *scope) *handle {
	h := &handle{id: p.step<<8 | p.made, a: a, st: st, shape: slices.Clone(shape), at: at, in: in}
	h.name = fmt.Sprintf("v%d", h.id)
	if h.id&255 == 0 {
		h.name = fmt.Sprintf("v%d", p.step)
	} else {
		h.name = fmt.Sprintf("v%d_%d", p.step, h.id&255)
	}
	p.made++
	p.handles = append(p.handles, h)
	return h
}

// nextName returns the name of the next handle.
func (p *program) nextName() string {
	if p.made == 0 {
		return fmt.Sprintf("v%d", p.step)
	}
	return fmt.Sprintf("v%d_%d", p.step, p.made)
}

// fresh adds an array with memory of its own, computed from others.
func (p *program) fresh(a *gpk.Array, dt gpk.DType, shape []int, data []float64, from ...*handle) *handle {
	st := &store{id: p.step<<8 | p.made, dt: dt, data: data}
	at := make([]int, len(data))
	for i := range at {
		at[i] = i
	}
	if len(from) > 0 {
		st.dev = from[0].st.dev
		st.reads = map[*store]bool{}
	} else {
		st.stored = true // it cannot lose what it reads
	}
	for _, h := range from {
		st.bad = st.bad || h.st.bad
		st.scope = newest(st.scope, newest(h.in, h.st.scope))
		p.use(h)
		st.reads[h.st] = true
		for r := range h.st.reads {
			st.reads[r] = true
		}
	}
	return p.newHandle(a, st, shape, at, nil)
}

// use notes that an operation reads a handle.
func (p *program) use(h *handle) {
	if !h.st.stored && !h.st.shared {
		h.st.used = true
	}
}

// keepsMemory notes that the elements are in memory.
func (st *store) keepsMemory() {
	st.stored, st.used, st.mayBeFreed = true, false, false
	clear(st.reads)
}

// gone records that stores were freed. Results that read them and are not stored may be
// lost.
func (p *program) gone(list ...*store) {
	for _, h := range p.handles {
		if h.st.stored || !h.st.used || h.st.dead {
			continue
		}
		for _, st := range list {
			h.st.mayBeFreed = h.st.mayBeFreed || h.st.reads[st]
		}
	}
	p.bury()
}

// bury moves the handles that can no longer be used.
func (p *program) bury() {
	p.handles = slices.DeleteFunc(p.handles, func(h *handle) bool {
		if h.usable() {
			return false
		}
		if !h.st.lost {
			p.dead = append(p.dead, h)
		}
		return true
	})
	if n := len(p.dead); n > 4 {
		p.dead = slices.Clone(p.dead[n-4:])
	}
}

func (h *handle) usable() bool {
	return !h.st.dead && (h.in == nil || !h.in.closed) && (h.st.scope == nil || !h.st.scope.closed)
}

// values are the elements in row-major order, a copy.
func (h *handle) values() []float64 {
	out := make([]float64, len(h.at))
	for i, k := range h.at {
		out[i] = h.st.data[k]
	}
	return out
}

// repeats reports whether two elements are one.
func (h *handle) repeats() bool { return h.layout().Repeats() }

// covers reports whether the handle is a view of its whole store.
func (h *handle) covers() bool { return len(h.at) == len(h.st.data) && !h.repeats() }

func (h *handle) layout() layout.Layout {
	return layout.Layout{Shape: h.a.Shape(), Strides: h.a.Strides(), Offset: h.a.Offset()}
}

func (h *handle) String() string { return h.name }

// pick returns a handle for which fits is true, or nil. The choice depends little on the
// other handles, so that earlier steps can be left out.
func (p *program) pick(fits func(h *handle) bool) *handle {
	for range 4 {
		h := p.choose(fits)
		if h == nil || p.ready(h) {
			return h
		}
	}
	return nil
}

func (p *program) choose(fits func(h *handle) bool) (best *handle) {
	salt, most := p.rng.Uint64()|1, uint64(0)
	since := math.MinInt
	if salt>>60 < 8 { // rather a late one, so that chains grow
		since = p.step - 10
	}
	for i := 0; i < 2 && best == nil; i++ {
		for _, h := range p.handles {
			if h.step() < since {
				continue
			}
			score := (uint64(h.id)*0x9E3779B97F4A7C15 ^ salt) * 0xD6E8FEB86659FD93
			score ^= score >> 32
			if score >= most && (fits == nil || fits(h)) {
				best, most = h, score
			}
		}
		since = math.MinInt
	}
	return best
}

// ready settles whether a handle that may be lost is.
func (p *program) ready(h *handle) bool {
	if !h.st.mayBeFreed {
		return true
	}
	p.say("gpk.Eval(%v)", h)
	switch err := p.try(func() error { return gpk.Eval(h.a) }); {
	case err == nil, h.st.bad && errors.Is(err, gpk.ErrShape):
		h.st.keepsMemory()
		return true
	case errors.Is(err, gpk.ErrFreed):
		p.note("lost")
		h.st.dead, h.st.lost = true, true
		p.gone(h.st)
	default:
		p.fail("Eval of %v: %v", h, err)
	}
	return false
}

// drop forgets an array, or frees it.
func (p *program) drop() {
	h := p.choose(func(h *handle) bool { return h.step() != p.step || p.rng.IntN(4) == 0 })
	if h == nil {
		h = p.handles[0]
	}
	if p.rng.IntN(3) == 0 && !h.st.shared && !h.st.borrowed {
		p.freeHandle(h)
		return
	}
	p.say("%v = nil", h)
	p.handles = slices.DeleteFunc(p.handles, func(x *handle) bool { return x == h })
}

func (p *program) forget() {
	if len(p.handles) > 4 {
		p.drop()
	}
}

// step returns the number of the step that made a handle.
func (h *handle) step() int { return h.id >> 8 }

// check compares an array with its model.
func (p *program) check(h *handle) {
	p.counts.reads.Add(1)
	if !h.layout().IsDense() {
		p.use(h) // a copy of it is read on a GPU
	}
	var got []float64
	err := p.try(func() (err error) { got, err = fetch(h.a); return err })
	switch {
	case err == nil && h.st.bad:
		p.fail("%v, %v %v, reads %v; want the error of a bad index", h, h.st.dt, h.shape, got)
	case h.st.bad && errors.Is(err, gpk.ErrShape):
		return
	case h.st.mayBeFreed && errors.Is(err, gpk.ErrFreed):
		p.note("lost")
		h.st.dead, h.st.lost = true, true
		p.gone(h.st)
		return
	case err != nil:
		p.fail("%v, %v %v, reads the error %v; want %v", h, h.st.dt, h.shape, err, h.values())
	}
	if !slices.Equal(h.a.Shape(), h.shape) || h.a.DType() != h.st.dt {
		p.fail("%v is %v %v; want %v %v", h, h.a.DType(), h.a.Shape(), h.st.dt, h.shape)
	}
	want := h.values()
	for i := range want {
		if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
			p.fail("%v, %v %v, reads %v; want %v (element %d: %v; want %v)\n%s", h, h.st.dt, h.shape, clip(got), clip(want), i, got[i], want[i], h.a.Explain())
		}
	}
	h.st.keepsMemory()
}

// clip shortens a list that is printed.
func clip(v []float64) []float64 { return v[:min(len(v), 64)] }

// look reads an array that is stored already, and sometimes any.
func (p *program) look() {
	if h := p.choose(func(h *handle) bool { return h.st.stored && !h.st.bad }); h != nil {
		p.check(h)
	}
	if p.rng.IntN(16) < p.looks {
		if h := p.choose(nil); h != nil {
			p.say("gpk.ToSlice(%v)", h)
			p.check(h)
		}
	}
}

// checkStored compares the elements in memory with the model, and starts no work.
func (p *program) checkStored() {
	for _, h := range slices.Clone(p.handles) {
		if h.st.stored && h.usable() {
			p.check(h)
		}
	}
}

func (p *program) checkAll() {
	p.say("// read all")
	list := slices.Clone(p.handles)
	p.rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	for _, h := range list {
		if h.usable() {
			p.say("gpk.ToSlice(%v)", h)
			p.check(h)
		}
	}
}

// bufferArray returns an array over existing memory.
func bufferArray(b *device.Buffer) *gpk.Array { return array.FromBuffer(b, gpk.Float32, 1) }

// number is a Go type of elements.
type number interface {
	float32 | float64 | int32 | int64
}

// fetch reads an array.
func fetch(a *gpk.Array) ([]float64, error) {
	switch a.DType() {
	case gpk.Float32:
		return fetchAs[float32](a)
	case gpk.Float64:
		return fetchAs[float64](a)
	case gpk.Int32:
		return fetchAs[int32](a)
	case gpk.Int64:
		return fetchAs[int64](a)
	}
	b, err := gpk.ToSlice[bool](a)
	out := make([]float64, len(b))
	for i, v := range b {
		if v {
			out[i] = 1
		}
	}
	return out, err
}

func fetchAs[T interface {
	number
	gpk.Elem
}](a *gpk.Array,
) ([]float64, error) {
	v, err := gpk.ToSlice[T](a)
	out := make([]float64, len(v))
	for i := range v {
		out[i] = float64(v[i])
	}
	return out, err
}

func converted[T number](data []float64) []T {
	out := make([]T, len(data))
	for i, v := range data {
		out[i] = T(v)
	}
	return out
}

func bools(data []float64) []bool {
	out := make([]bool, len(data))
	for i, v := range data {
		out[i] = v != 0
	}
	return out
}

// upload makes an array of data.
func upload(dt gpk.DType, data []float64, shape []int) *gpk.Array {
	switch dt {
	case gpk.Float32:
		return gpk.FromSlice(converted[float32](data), shape...)
	case gpk.Float64:
		return gpk.FromSlice(data, shape...)
	case gpk.Int32:
		return gpk.FromSlice(converted[int32](data), shape...)
	case gpk.Int64:
		return gpk.FromSlice(converted[int64](data), shape...)
	}
	return gpk.FromSlice(bools(data), shape...)
}

// uploadInto writes data into an array.
func uploadInto(a *gpk.Array, dt gpk.DType, data []float64) error {
	switch dt {
	case gpk.Float32:
		return gpk.FromSliceInto(a, converted[float32](data))
	case gpk.Float64:
		return gpk.FromSliceInto(a, data)
	case gpk.Int32:
		return gpk.FromSliceInto(a, converted[int32](data))
	case gpk.Int64:
		return gpk.FromSliceInto(a, converted[int64](data))
	}
	return gpk.FromSliceInto(a, bools(data))
}

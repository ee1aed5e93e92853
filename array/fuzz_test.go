package array

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/layout"
)

// FuzzChains runs a program of views, arithmetic, writes and reads on arrays
// and on plain Go slices, once with everything started on its own line and
// once as gpk chooses, and compares bits.
func FuzzChains(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		cpu, err := device.Open("cpu")
		if err != nil {
			t.Fatal(err)
		}
		defer device.SetDefault(device.SetDefault(cpu))
		defer eager.Store(eager.Load())
		for _, e := range []bool{true, false} {
			eager.Store(e)
			s := script(data)
			if s.pick(2) == 0 {
				(&program[float32]{T: t, script: s, divides: true}).run()
			} else {
				(&program[int32]{T: t, script: s}).run()
			}
		}
	})
}

// A script reads the choices of a program from the fuzzer's input; behind the
// end of it every choice is the first.
type script []byte

func (s *script) pick(n int) int {
	if len(*s) == 0 {
		return 0
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return int(b) % n
}

// flip is a choice between two.
func (s *script) flip() bool { return s.pick(2) == 1 }

func (s *script) shape() []int {
	out := make([]int, s.pick(4))
	for i := range out {
		out[i] = s.pick(6)
	}
	return out
}

type number32 interface{ float32 | int32 }

// memory is what the arrays that are views of each other share.
type memory[T number32] struct {
	data  []T
	taken bool // an operation may have taken it before it was stored
	stale bool // and then an input may have been written
}

// twin is an array beside what it should be: element number i, in row-major
// order, is mem.data[at[i]].
type twin[T number32] struct {
	a     *Array
	mem   *memory[T]
	shape []int
	at    []int
}

// A program is one run of a script.
type program[T number32] struct {
	*testing.T
	script
	divides bool
	pool    []twin[T]
	log     []string
}

const (
	mostTwins    = 10
	mostElements = 1 << 11
	mostSteps    = 40
)

func (p *program[T]) run() {
	p.add(p.source())
	for range mostSteps {
		if len(p.script) == 0 || p.Failed() {
			break
		}
		p.step(p.pool[p.pick(len(p.pool))])
	}
	for _, x := range slices.Backward(slices.Clone(p.pool)) {
		p.compare(x)
	}
	for _, x := range p.pool {
		x.a.Free()
	}
	if p.Failed() {
		p.Logf("eager %v:\n%s", eager.Load(), p.log)
	}
}

func (p *program[T]) note(format string, args ...any) {
	p.log = append(p.log, fmt.Sprintf(format, args...)+"\n")
}

// add keeps a twin, instead of an older one where there are many.
func (p *program[T]) add(x twin[T]) {
	if err := x.a.Err(); err != nil {
		p.Errorf("%v: %v", p.log, err)
		return
	}
	if len(p.pool) < mostTwins {
		p.pool = append(p.pool, x)
		return
	}
	p.pool[p.pick(mostTwins)] = x
}

// fresh is a dense array of data, and made the array that should equal it.
func fresh[T number32](made *Array, shape []int, data []T) twin[T] {
	at := make([]int, len(data))
	for i := range at {
		at[i] = i
	}
	return twin[T]{a: made, mem: &memory[T]{data: data}, shape: shape, at: at}
}

func (p *program[T]) values(n int) []T {
	data := make([]T, n)
	for i := range data {
		data[i] = T(p.pick(256)-128) / T(1+2*p.pick(2))
	}
	return data
}

func (p *program[T]) source() twin[T] {
	shape := p.shape()
	data := p.values(elements(shape))
	p.note("source %v", shape)
	return fresh(FromSlice(data, shape...), shape, data)
}

func elements(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func unravel(shape []int, i int) []int {
	ix := make([]int, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		ix[d], i = i%shape[d], i/shape[d]
	}
	return ix
}

func position(shape, ix []int) int {
	n := 0
	for d, i := range ix {
		n = n*shape[d] + i
	}
	return n
}

// dense are the elements in row-major order.
func (x twin[T]) dense() []T {
	out := make([]T, len(x.at))
	for i, at := range x.at {
		out[i] = x.mem.data[at]
	}
	return out
}

// view is x seen through another shape, whose index ix is from(ix) of x.
func (x twin[T]) view(a *Array, shape []int, from func(ix []int) []int) twin[T] {
	y := twin[T]{a: a, mem: x.mem, shape: shape, at: []int{}}
	for i := range elements(shape) {
		y.at = append(y.at, x.at[position(x.shape, from(unravel(shape, i)))])
	}
	return y
}

// stretched is x broadcast to shape, and whether it can be.
func (x twin[T]) stretched(a *Array, shape []int) (twin[T], bool) {
	skip := len(shape) - len(x.shape)
	if skip < 0 {
		return x, false
	}
	for d, n := range x.shape {
		if n != 1 && n != shape[skip+d] {
			return x, false
		}
	}
	return x.view(a, shape, func(ix []int) []int {
		old := slices.Clone(ix[skip:])
		for d, n := range x.shape {
			old[d] %= max(n, 1)
		}
		return old
	}), true
}

// compare reads an array and drops it and its views where it may be stale.
func (p *program[T]) compare(x twin[T]) {
	got, err := ToSlice[T](x.a)
	if errors.Is(err, ErrStale) && x.mem.stale && !eager.Load() {
		p.drop(x.mem)
		return
	}
	if err != nil {
		p.Errorf("%v: %v", p.log, err)
		return
	}
	want := x.dense()
	if !slices.Equal(x.a.Shape(), x.shape) || len(got) != len(want) {
		p.Errorf("%v: the shape is %v, want %v", p.log, x.a.Shape(), x.shape)
		return
	}
	for i := range want {
		if !sameBits(got[i], want[i]) {
			p.Errorf("element %v is %v, want %v", unravel(x.shape, i), got[i], want[i])
			return
		}
	}
}

// sameBits compares two numbers; one NaN is as good as another.
func sameBits[T number32](a, b T) bool {
	x, y := float64(a), float64(b)
	return a == b && math.Signbit(x) == math.Signbit(y) || math.IsNaN(x) && math.IsNaN(y)
}

func (p *program[T]) drop(m *memory[T]) {
	p.pool = slices.DeleteFunc(p.pool, func(x twin[T]) bool { return x.mem == m })
	if len(p.pool) == 0 {
		p.add(p.source())
	}
}

// usable settles whether x can be computed: one that was taken and whose
// inputs may have been written is read, and left where it answers ErrStale.
func (p *program[T]) usable(x twin[T]) bool {
	if x.mem.stale && !eager.Load() {
		if err := Eval(x.a); errors.Is(err, ErrStale) {
			p.drop(x.mem)
			return false
		}
		x.mem.stale, x.mem.taken = false, false
	}
	return true
}

// wrote says that memory was written: what had been taken may now be stale.
func (p *program[T]) wrote() {
	for _, x := range p.pool {
		x.mem.stale = x.mem.stale || x.mem.taken
	}
}

// took says that an operation used arrays, which it may have computed as a
// part of itself, not stored.
func (p *program[T]) took(xs ...twin[T]) {
	for _, x := range xs {
		x.mem.taken = true
	}
}

// step makes one choice: x is the array that it is about.
func (p *program[T]) step(x twin[T]) {
	if !p.usable(x) {
		return
	}
	y := p.pool[p.pick(len(p.pool))]
	if !p.usable(y) || !slices.ContainsFunc(p.pool, func(z twin[T]) bool { return z.mem == x.mem }) {
		return
	}
	switch p.pick(8) {
	case 0:
		p.add(p.source())
	case 1, 2:
		p.look(x)
	case 3:
		p.reshape(x)
	case 4:
		p.unary(x)
	case 5:
		p.binary(x, y)
	case 6:
		p.write(x, y)
	case 7:
		p.other(x, y)
	}
}

// look makes a view.
func (p *program[T]) look(x twin[T]) {
	n := len(x.shape)
	switch p.pick(6) {
	case 0:
		p.note("T of %v", x.shape)
		if n < 2 {
			p.add(x.view(x.a.T(), x.shape, func(ix []int) []int { return ix }))
			return
		}
		shape := slices.Clone(x.shape)
		shape[n-1], shape[n-2] = shape[n-2], shape[n-1]
		p.add(x.view(x.a.T(), shape, func(ix []int) []int {
			old := slices.Clone(ix)
			old[n-1], old[n-2] = old[n-2], old[n-1]
			return old
		}))
	case 1:
		axes := make([]int, n)
		for i := range axes {
			axes[i] = i
		}
		for i := range axes {
			j := i + p.pick(n-i)
			axes[i], axes[j] = axes[j], axes[i]
		}
		p.note("Transpose %v of %v", axes, x.shape)
		shape := make([]int, n)
		for i, a := range axes {
			shape[i] = x.shape[a]
		}
		p.add(x.view(x.a.Transpose(axes...), shape, func(ix []int) []int {
			old := make([]int, n)
			for i, a := range axes {
				old[a] = ix[i]
			}
			return old
		}))
	case 2, 3:
		if n == 0 {
			return
		}
		axis := p.pick(n)
		length := x.shape[axis]
		start, stop, step := p.pick(length+1), p.pick(length+1), 1+p.pick(3)
		if p.flip() && length > 0 {
			start, stop, step = p.pick(length), p.pick(length+1)-1, -step
		}
		var taken []int
		for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
			taken = append(taken, i)
		}
		if stop < 0 {
			stop -= length // what stands before the first
		}
		p.note("Slice(%d, %d, %d, %d) of %v", axis, start, stop, step, x.shape)
		shape := slices.Clone(x.shape)
		shape[axis] = len(taken)
		p.add(x.view(x.a.Slice(axis, start, stop, step), shape, func(ix []int) []int {
			old := slices.Clone(ix)
			old[axis] = taken[ix[axis]]
			return old
		}))
	case 4:
		shape := x.shape
		for range p.pick(2) {
			shape = append([]int{1 + p.pick(3)}, shape...)
		}
		shape = slices.Clone(shape)
		for d := range x.shape {
			if at := len(shape) - n + d; shape[at] == 1 {
				shape[at] = p.pick(4)
			}
		}
		p.note("BroadcastTo %v of %v", shape, x.shape)
		if elements(shape) > mostElements {
			return
		}
		y, ok := x.stretched(x.a.BroadcastTo(shape...), shape)
		if !ok {
			p.Fatalf("%v does not reach %v", x.shape, shape)
		}
		p.add(y)
	case 5:
		axis := p.pick(n + 1)
		p.note("Unsqueeze(%d) of %v, Squeeze of that", axis, x.shape)
		shape := slices.Insert(slices.Clone(x.shape), axis, 1)
		y := x.view(x.a.Unsqueeze(axis), shape, func(ix []int) []int { return slices.Delete(slices.Clone(ix), axis, axis+1) })
		if p.flip() {
			p.add(y)
			return
		}
		p.add(x.view(y.a.Squeeze(axis), x.shape, func(ix []int) []int { return ix }))
	}
}

// reshape is a view where strides allow it: whether they do is layout's to
// say, and tested there.
func (p *program[T]) reshape(x twin[T]) {
	shape, rest := []int{}, len(x.at)
	if rest == 0 {
		shape = append(p.shape(), 0)
	}
	for rest > 1 && len(shape) < 4 {
		d := 1 + p.pick(rest)
		for rest%d != 0 {
			d--
		}
		shape, rest = append(shape, d), rest/d
	}
	if rest > 1 {
		shape = append(shape, rest)
	}
	p.note("Reshape %v of %v", shape, x.shape)
	p.took(x)
	asked := slices.Clone(shape)
	if len(x.at) > 0 && len(shape) > 0 && p.flip() {
		asked[p.pick(len(asked))] = -1
	}
	made := x.a.Reshape(asked...)
	if _, ok := x.a.lay.Reshape(shape); ok {
		p.add(twin[T]{a: made, mem: x.mem, shape: shape, at: x.at})
		return
	}
	p.add(fresh(made, shape, x.dense()))
}

func (p *program[T]) unary(x twin[T]) {
	c := T(p.pick(9) - 4)
	out := x.dense()
	var made *Array
	each := func(f func(T) T) {
		for i, v := range out {
			out[i] = f(v)
		}
	}
	what := p.pick(9)
	switch what {
	case 0:
		made = x.a.Neg()
		each(func(v T) T { return -v })
	case 1:
		made = x.a.ReLU()
		each(func(v T) T { return max(v, 0) })
	case 2:
		made = x.a.Add(c)
		each(func(v T) T { return v + c })
	case 3:
		made = x.a.Mul(c)
		each(func(v T) T { return v * c })
	case 4:
		made = Sub(c, x.a)
		each(func(v T) T { return c - v })
	case 5:
		made = x.a.Sub(c)
		each(func(v T) T { return v - c })
	case 6:
		made = x.a.Clone()
	case 7:
		made = x.a.Cast(dtype.Float64).Cast(x.a.DType())
	case 8:
		if made = x.a.Contiguous(); made == x.a {
			return
		}
	}
	p.note("unary %d, %v, of %v", what, c, x.shape)
	p.took(x)
	p.add(fresh(made, x.shape, out))
}

func (p *program[T]) binary(x, y twin[T]) {
	what := p.pick(4)
	if what == 3 && !p.divides {
		what = 0
	}
	p.note("binary %d of %v, %v", what, x.shape, y.shape)
	f, made := func(a, b T) T { return a + b }, x.a.Add
	switch what {
	case 1:
		f, made = func(a, b T) T { return a - b }, x.a.Sub
	case 2:
		f, made = func(a, b T) T { return a * b }, x.a.Mul
	case 3:
		f, made = func(a, b T) T { return a / b }, x.a.Div
	}
	shape, fits := together(x.shape, y.shape)
	if !fits {
		if err := made(y.a).Err(); !errors.Is(err, layout.ErrShape) {
			p.Errorf("%v with %v: %v", x.shape, y.shape, err)
		}
		return
	}
	if elements(shape) > mostElements {
		return
	}
	p.took(x, y)
	a, _ := x.stretched(nil, shape)
	b, _ := y.stretched(nil, shape)
	out, other := a.dense(), b.dense()
	for i := range out {
		out[i] = f(out[i], other[i])
	}
	p.add(fresh(made(y.a), shape, out))
}

// together is the shape that two shapes broadcast to.
func together(a, b []int) ([]int, bool) {
	out := make([]int, max(len(a), len(b)))
	for i := range out {
		x, y := 1, 1
		if j := len(a) - len(out) + i; j >= 0 {
			x = a[j]
		}
		if j := len(b) - len(out) + i; j >= 0 {
			y = b[j]
		}
		if x != y && x != 1 && y != 1 {
			return nil, false
		}
		if out[i] = x; x == 1 {
			out[i] = y
		}
	}
	return out, true
}

// write changes memory: of x, and of every view of it.
func (p *program[T]) write(x, y twin[T]) {
	if x.a.lay.Repeats() {
		return
	}
	c := T(p.pick(9) - 4)
	var err error
	what := p.pick(6)
	src, fits := y.stretched(nil, x.shape)
	if what >= 2 && what <= 4 && !fits {
		what = 0
	}
	was, other := x.dense(), src.dense()
	p.note("write %d, %v, into %v from %v", what, c, x.shape, y.shape)
	f := func(int) T { return 0 }
	p.took(y)
	switch what {
	case 0:
		f = func(i int) T { return was[i] + c }
		err = x.a.AddInPlace(c).Err()
	case 1:
		f = func(i int) T { return was[i] * c }
		err = x.a.MulInPlace(c).Err()
	case 2:
		f = func(i int) T { return was[i] + other[i] }
		err = x.a.AddInPlace(y.a).Err()
	case 3:
		f = func(i int) T { return was[i] * other[i] }
		err = x.a.MulInPlace(y.a).Err()
	case 4:
		f = func(i int) T { return other[i] }
		if slices.Equal(x.shape, y.shape) && p.flip() {
			err = Into(x.a, y.a)
		} else {
			err = x.a.CopyFrom(y.a).Err()
		}
	case 5:
		data := p.values(len(x.at))
		f = func(i int) T { return data[i] }
		err = FromSliceInto(x.a, data)
	}
	if err != nil {
		p.Errorf("%v: %v", p.log, err)
		return
	}
	for i, at := range x.at {
		x.mem.data[at] = f(i)
	}
	x.mem.taken = false
	p.wrote()
}

func (p *program[T]) other(x, y twin[T]) {
	switch p.pick(5) {
	case 0:
		p.note("read %v", x.shape)
		p.compare(x)
	case 1:
		p.note("Eval %v", x.shape)
		if err := Eval(x.a); err != nil {
			p.Errorf("%v: %v", p.log, err)
		}
	case 2:
		if len(x.shape) == 0 || len(x.shape) != len(y.shape) {
			return
		}
		axis := p.pick(len(x.shape))
		shape := slices.Clone(x.shape)
		for d := range shape {
			if d != axis && shape[d] != y.shape[d] {
				return
			}
		}
		p.note("Concat(%d) of %v, %v", axis, x.shape, y.shape)
		if shape[axis] += y.shape[axis]; elements(shape) > mostElements {
			return
		}
		p.took(x, y)
		out := make([]T, elements(shape))
		for i := range out {
			ix, part := unravel(shape, i), x
			if ix[axis] >= x.shape[axis] {
				ix[axis] -= x.shape[axis]
				part = y
			}
			out[i] = part.mem.data[part.at[position(part.shape, ix)]]
		}
		p.add(fresh(Concat(axis, x.a, y.a), shape, out))
	case 3:
		if p.divides || len(x.shape) == 0 {
			return // the order of a floating-point sum is its own
		}
		axis := p.pick(len(x.shape))
		p.note("Sum(%d) of %v", axis, x.shape)
		p.took(x)
		shape := slices.Delete(slices.Clone(x.shape), axis, axis+1)
		sums := make([]int64, elements(shape))
		for i, at := range x.at {
			ix := slices.Delete(unravel(x.shape, i), axis, axis+1)
			sums[position(shape, ix)] += int64(x.mem.data[at])
		}
		out := make([]T, len(sums))
		for i, v := range sums {
			out[i] = T(min(max(v, math.MinInt32), math.MaxInt32))
		}
		p.add(fresh(x.a.Sum(axis).Cast(x.a.DType()), shape, out))
	case 4:
		p.note("Free %v", x.shape)
		x.a.Free()
		if _, err := ToSlice[T](x.a); !errors.Is(err, device.ErrFreed) {
			p.Errorf("after Free: %v", err)
		}
		p.wrote()
		p.drop(x.mem)
	}
}

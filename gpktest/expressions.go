package gpktest

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/ops"
)

// expressions asks for so many random expressions. A GPU compiles kernels for each.
var expressions = flag.Int("gpktest.expressions", 0, "how many random expressions are tried; 0: 5,000 on the CPU, 300 on a GPU, and 60 in a short run")

// testExpressions computes random programs twice, once with everything open for
// as long as it can be and once with every operation started on its line: the two
// agree bit for bit.
func testExpressions(t *testing.T, s *suite) {
	n := *expressions
	if n == 0 {
		switch n = 300; {
		case quick():
			n = 60
		case s.dev.Kind() == device.CPU:
			n = 5000
		}
	}
	compared, stale := 0, 0
	for range n {
		seed := s.rng.Uint64()
		eager := newScript(seed)
		eager.eager = true
		eager.run()
		lazy := newScript(seed)
		lazy.kinds = eager.kinds
		lazy.run()
		if len(lazy.results) != len(eager.results) {
			t.Fatalf("seed %#x: %d results, %d of them eagerly", seed, len(lazy.results), len(eager.results))
		}
		for i, got := range lazy.results {
			want := eager.results[i]
			switch {
			case want.err != nil:
				t.Fatalf("seed %#x: result %d, eagerly: %v\n%s", seed, i, want.err, eager.text)
			case got.err != nil && got.doubtful && errors.Is(got.err, gpk.ErrStale):
				stale++
			case got.err != nil:
				t.Fatalf("seed %#x: result %d: %v\n%s", seed, i, got.err, lazy.text)
			default:
				compared++
				if k := differ(got.value, want.value); k >= 0 {
					t.Fatalf("seed %#x: result %d, %v %v, differs at element %d: %v, eagerly %v\n%s\n%s", seed, i, got.value.dt, got.value.shape, k, got.value.at(k), want.value.at(k), got.plan, lazy.text)
				}
			}
		}
	}
	t.Logf("%d programs, %d results compared, %d stale ones", n, compared, stale)
	if compared < 2*n {
		t.Errorf("only %d results of %d programs could be compared", compared, n)
	}
}

// at returns an element for printing.
func (x tensor) at(i int) any {
	if exact(x.dt) {
		return x.ints[i]
	}
	return x.values[i]
}

// differ returns the first element whose bits differ, NaN aside; -1 for none.
func differ(x, y tensor) int {
	if x.dt != y.dt || !slices.Equal(x.shape, y.shape) {
		return 0
	}
	same := func(a, b float64) bool {
		return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
	}
	for i := range x.ints {
		if x.ints[i] != y.ints[i] {
			return i
		}
	}
	for i := range x.values {
		if !same(real(x.values[i]), real(y.values[i])) || !same(imag(x.values[i]), imag(y.values[i])) {
			return i
		}
	}
	return -1
}

// script is a random program: what it does depends on its seed alone.
type script struct {
	rng     *rand.Rand
	eager   bool
	shape   []int // that operands are broadcast to
	vars    []*variable
	stores  int
	results []result
	text    string
	kinds   []kind // of the variables, as they were made eagerly: an error has none
}

// kind is an element type and a shape.
type kind struct {
	dt    gpk.DType
	shape []int
}

// variable is an array of a script.
type variable struct {
	a        *gpk.Array
	name     string
	dt       gpk.DType
	shape    []int
	store    int          // whose memory it shows
	reads    map[int]bool // what it was computed from
	doubtful bool         // one of these was changed since: it may be stale
	view     bool         // of elements that repeat
	depth    int
}

// result is what a script read.
type result struct {
	value    tensor
	err      error
	doubtful bool
	plan     string
}

func newScript(seed uint64) *script {
	p := &script{rng: rand.New(rand.NewPCG(seed, 1))}
	p.shape = make([]int, 1+p.rng.IntN(3))
	for d := range p.shape {
		p.shape[d] = []int{1, 2, 3, 5, 8, 16, 17, 31}[p.rng.IntN(8)]
	}
	switch p.rng.IntN(16) {
	case 0:
		p.shape = []int{p.shape[0], 1500 + p.rng.IntN(1500)} // rows longer than a block
	case 1:
		p.shape = []int{2000 + p.rng.IntN(2000), p.shape[0]}
	}
	return p
}

// say notes a line of the program, for a failure's message.
func (p *script) say(format string, args ...any) { p.text += fmt.Sprintf("  "+format+"\n", args...) }

// add makes a variable, and starts it where the script is eager.
func (p *script) add(v *variable, from ...*variable) *variable {
	v.reads, v.name = map[int]bool{}, fmt.Sprintf("v%d", len(p.vars))
	for _, x := range from {
		for k := range x.reads {
			v.reads[k] = true
		}
		v.reads[x.store] = true
		v.doubtful = v.doubtful || x.doubtful
		v.depth = max(v.depth, x.depth+1)
	}
	if p.eager {
		p.kinds = append(p.kinds, kind{v.a.DType(), v.a.Shape()})
		if err := gpk.Eval(v.a); err != nil {
			p.results = append(p.results, result{err: err})
		}
	}
	v.dt, v.shape = p.kinds[len(p.vars)].dt, p.kinds[len(p.vars)].shape
	p.vars = append(p.vars, v)
	return v
}

// fresh is a variable with memory of its own.
func (p *script) fresh(a *gpk.Array, from ...*variable) *variable {
	p.stores++
	return p.add(&variable{a: a, store: p.stores}, from...)
}

// leaf is an array of data: of the script's shape or broadcast to it.
func (p *script) leaf(dt gpk.DType) *variable {
	shape := slices.Clone(p.shape)
	for d := range shape {
		if p.rng.IntN(4) == 0 {
			shape[d] = 1
		}
	}
	if p.rng.IntN(4) == 0 {
		shape = shape[p.rng.IntN(len(shape)+1):]
	}
	s := suite{rng: p.rng}
	v := p.fresh(s.random(dt, shape...).array())
	p.say("%s = %v %v", v.name, dt, shape)
	return v
}

// pick returns a variable that may be used, of a type where it is not Invalid, or a
// new leaf.
func (p *script) pick(dt gpk.DType) *variable {
	var some []*variable
	for _, v := range p.vars {
		if v.a != nil && v.depth < 12 && (dt == dtype.Invalid || v.dt == dt) && fitsShape(v.shape, p.shape) {
			some = append(some, v)
		}
	}
	if len(some) > 0 && p.rng.IntN(6) > 0 {
		// Rather a late one, so that chains grow.
		return some[max(p.rng.IntN(len(some)), p.rng.IntN(len(some)))]
	}
	if dt == dtype.Invalid {
		dt = everyType[p.rng.IntN(len(everyType))]
	}
	return p.leaf(dt)
}

var everyType = []gpk.DType{
	gpk.Float32, gpk.Float32, gpk.Float64, gpk.Float16, gpk.BFloat16, gpk.BFloat16,
	gpk.Int8, gpk.Uint8, gpk.Int32, gpk.Int64, gpk.Bool, gpk.Complex64, gpk.Complex128,
}

// fitsShape reports whether a shape is broadcast to another by itself.
func fitsShape(shape, to []int) bool {
	skip := len(to) - len(shape)
	if skip < 0 {
		return false
	}
	for i, n := range shape {
		if n != 1 && n != to[skip+i] {
			return false
		}
	}
	return true
}

// run runs the script.
func (p *script) run() {
	steps := 6 + p.rng.IntN(14)
	for range steps {
		switch k := p.rng.IntN(24); {
		case k < 15:
			p.operation()
		case k < 17:
			p.view()
		case k < 18:
			p.reduction()
		case k < 19:
			p.along()
		case k < 21:
			p.write()
		case k < 22:
			p.into()
		case k < 23:
			p.read(p.pick(dtype.Invalid))
		default:
			p.free()
		}
	}
	for _, i := range p.rng.Perm(len(p.vars)) {
		if v := p.vars[i]; v.a != nil {
			p.read(v)
		}
	}
	for _, v := range p.vars {
		v.a.Free()
	}
}

// operation is an element-wise operation on what there is.
func (p *script) operation() {
	if p.rng.IntN(6) == 0 {
		x, to := p.pick(dtype.Invalid), everyType[p.rng.IntN(len(everyType))]
		v := p.fresh(x.a.Cast(to), x)
		p.say("%s = %s.Cast(%v)", v.name, x.name, to)
		return
	}
	row := &ops.Table[p.rng.IntN(len(ops.Table))]
	for row.Kind != ops.Unary && row.Kind != ops.Binary && row.Kind != ops.Ternary {
		row = &ops.Table[p.rng.IntN(len(ops.Table))]
	}
	x := p.pick(dtype.Invalid)
	if row.Kind == ops.Ternary {
		p.ternary(row, x)
		return
	}
	if !slices.Contains(row.Types, x.dt) {
		x = p.pick(row.Types[p.rng.IntN(len(row.Types))])
	}
	if row.Kind == ops.Unary {
		v := p.fresh(method(x.a, row.Op), x)
		p.say("%s = %s.%v()", v.name, x.name, row.Op)
		return
	}
	y, other := p.operand(x.dt)
	if y == nil {
		if f := numberFirst[row.Op]; f != nil && p.rng.IntN(3) == 0 {
			v := p.fresh(f(other, x.a), x)
			p.say("%s = %v(%v, %s)", v.name, row.Op, other, x.name)
			return
		}
		v := p.fresh(method(x.a, row.Op, other), x)
		p.say("%s = %s.%v(%v)", v.name, x.name, row.Op, other)
		return
	}
	v := p.fresh(method(x.a, row.Op, other), x, y)
	p.say("%s = %s.%v(%s)", v.name, x.name, row.Op, y.name)
}

var numberFirst = map[expr.Op]func(a, b any) *gpk.Array{
	expr.Sub: gpk.Sub, expr.Div: gpk.Div, expr.Pow: gpk.Pow, expr.Lt: gpk.Lt, expr.Maximum: gpk.Maximum, expr.Shl: gpk.Shl,
}

// operand is a second operand: a variable, or a number.
func (p *script) operand(dt gpk.DType) (*variable, any) {
	if p.rng.IntN(3) > 0 {
		y := p.pick(dt)
		return y, y.a
	}
	if dt == gpk.Bool {
		return nil, p.rng.IntN(2) == 0
	}
	if exact(dt) {
		return nil, p.rng.IntN(5)
	}
	return nil, float64(p.rng.IntN(17)-8) / 4
}

func (p *script) ternary(row *ops.Row, x *variable) {
	if row.Op == expr.Where {
		c, y := p.pick(gpk.Bool), x
		z, other := p.operand(y.dt)
		from := []*variable{c, y}
		if z != nil {
			from = append(from, z)
		}
		v := p.fresh(gpk.Where(c.a, y.a, other), from...)
		p.say("%s = Where(%s, %s, %v)", v.name, c.name, y.name, from[2:])
		return
	}
	if !slices.Contains(row.Types, x.dt) {
		x = p.pick(row.Types[p.rng.IntN(len(row.Types))])
	}
	lo, low := p.operand(x.dt)
	hi, high := p.operand(x.dt)
	from := []*variable{x}
	for _, v := range []*variable{lo, hi} {
		if v != nil {
			from = append(from, v)
		}
	}
	v := p.fresh(x.a.Clamp(low, high), from...)
	p.say("%s = %s.Clamp(%v)", v.name, x.name, from[1:])
}

// String names a variable in a line.
func (v *variable) String() string { return v.name }

// method calls the method of an operation.
func method(a *gpk.Array, op expr.Op, args ...any) *gpk.Array {
	in := make([]reflect.Value, len(args))
	for i, x := range args {
		in[i] = reflect.ValueOf(x)
	}
	return reflect.ValueOf(a).MethodByName(op.String()).Call(in)[0].Interface().(*gpk.Array)
}

// view is a view of a variable, which later operations read or write.
func (p *script) view() {
	x := p.pick(dtype.Invalid)
	n := len(x.shape)
	a, how := x.a, ""
	axis := 0
	if n > 0 {
		axis = p.rng.IntN(n)
	}
	switch k := p.rng.IntN(6); {
	case k == 0 || n == 0:
		a, how = a.BroadcastTo(p.shape...), "BroadcastTo"
	case k == 1:
		a, how = a.Unsqueeze(axis).Squeeze(axis), "Unsqueeze.Squeeze"
	case k == 2:
		a, how = a.Transpose(), "Transpose"
	case k == 3 && x.shape[axis] > 1:
		a, how = a.Slice(axis, x.shape[axis]-1, -x.shape[axis]-1, -1), fmt.Sprintf("Slice(%d, backwards)", axis)
	case k == 4 && x.shape[axis] > 1:
		a, how = a.Slice(axis, 1, x.shape[axis], 2), fmt.Sprintf("Slice(%d, 1, end, 2)", axis)
	default:
		a, how = a.Reshape(append([]int{1}, x.shape...)...).Reshape(x.shape...), "Reshape"
	}
	v := p.add(&variable{a: a, store: x.store, view: x.view || how == "BroadcastTo"}, x)
	delete(v.reads, x.store)
	p.say("%s = %s.%s", v.name, x.name, how)
}

func (p *script) reduction() {
	row := &ops.Table[p.rng.IntN(len(ops.Table))]
	for row.Kind != ops.Reduction {
		row = &ops.Table[p.rng.IntN(len(ops.Table))]
	}
	x := p.pick(dtype.Invalid)
	if !slices.Contains(row.Types, x.dt) {
		x = p.pick(row.Types[p.rng.IntN(len(row.Types))])
	}
	var axes []any
	for d := range x.shape {
		if p.rng.IntN(2) == 0 {
			axes = append(axes, d)
		}
	}
	if row.Op == expr.ArgMax || row.Op == expr.ArgMin {
		if len(x.shape) == 0 {
			return
		}
		axes = []any{p.rng.IntN(len(x.shape))}
	}
	v := p.fresh(method(x.a, row.Op, axes...), x)
	p.say("%s = %s.%v(%v)", v.name, x.name, row.Op, axes)
}

func (p *script) along() {
	x := p.pick(gpk.Float32)
	if len(x.shape) == 0 {
		return
	}
	axis := p.rng.IntN(len(x.shape))
	v := p.fresh(x.a.Softmax(axis), x)
	p.say("%s = %s.Softmax(%d)", v.name, x.name, axis)
}

// write changes a variable in place: with another, a number, or an expression.
func (p *script) write() {
	x := p.pick(dtype.Invalid)
	if x.doubtful || x.view || !slices.Contains(ops.Lookup(expr.Add).Types, x.dt) {
		return
	}
	y := p.pick(x.dt)
	if y.doubtful || !fitsShape(y.shape, x.shape) {
		return
	}
	var out *gpk.Array
	switch p.rng.IntN(4) {
	case 0:
		out = x.a.AddInPlace(y.a)
		p.say("%s.AddInPlace(%s)", x.name, y.name)
	case 1:
		out = x.a.MulInPlace(y.a.Neg())
		p.say("%s.MulInPlace(%s.Neg())", x.name, y.name)
	default:
		out = x.a.CopyFrom(y.a)
		p.say("%s.CopyFrom(%s)", x.name, y.name)
	}
	if out.Err() != nil {
		p.results = append(p.results, result{err: out.Err()})
	}
	p.changed(x)
}

// into evaluates a variable into the memory of another.
func (p *script) into() {
	x := p.pick(dtype.Invalid)
	y := p.pick(x.dt)
	if x.doubtful || y.doubtful || y.view || !slices.Equal(x.shape, y.shape) {
		return
	}
	err := gpk.Into(y.a, x.a)
	p.say("Into(%s, %s)", y.name, x.name)
	if err != nil {
		p.results = append(p.results, result{err: err})
	}
	p.changed(y)
}

// changed notes that x's memory is another: what was computed from it and is not
// stored is stale.
func (p *script) changed(x *variable) {
	for _, v := range p.vars {
		if v.store != x.store && v.reads[x.store] {
			v.doubtful = true
		}
	}
}

func (p *script) free() {
	x := p.pick(dtype.Invalid)
	p.say("%s.Free()", x.name)
	p.changed(x)
	x.a.Free()
	for _, v := range p.vars {
		if v.store == x.store {
			v.a = nil
		}
	}
}

// read reads a variable.
func (p *script) read(x *variable) {
	r := result{doubtful: x.doubtful, plan: x.a.Explain()}
	if r.err = gpk.Eval(x.a); r.err == nil {
		r.value, r.err = fetch(x.a)
	}
	p.say("read %s", x.name)
	p.results = append(p.results, r)
}

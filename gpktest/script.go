package gpktest

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/ops"
)

// script is a random program that depends on its seed only.
type script struct {
	rng     *rand.Rand
	eager   bool
	shape   []int // shape to which operands are broadcast
	vars    []*variable
	scopes  []*scope // open scopes, the newest last
	opened  int
	results []result
	err     error // first error of a step that must not fail
	text    string
	kinds   []kind // types and shapes of the variables in the eager run; one with an error has neither
}

// kind is an element type and a shape.
type kind struct {
	dt    gpk.DType
	shape []int
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

// say adds a line to the program's text, for the message of a failure.
func (p *script) say(format string, args ...any) { p.text += fmt.Sprintf("  "+format+"\n", args...) }

// add adds a variable, and starts its computation if the script is eager.
func (p *script) add(v *variable) *variable {
	v.name = fmt.Sprintf("v%d", len(p.vars))
	if p.eager {
		p.kinds = append(p.kinds, kind{v.a.DType(), v.a.Shape()})
		p.check(gpk.Eval(v.a))
	}
	v.dt, v.shape = p.kinds[len(p.vars)].dt, p.kinds[len(p.vars)].shape
	p.vars = append(p.vars, v)
	return v
}

// fresh adds a variable with a storage of its own.
func (p *script) fresh(a *gpk.Array, from ...*variable) *variable {
	v := &variable{a: a, of: &storage{cur: &contents{stored: len(from) == 0}}}
	for _, x := range from {
		v.of.cur.reads(x.of.cur)
		v.of.scope = newest(v.of.scope, x.scope())
		v.depth = max(v.depth, x.depth+1)
	}
	v.of.all = []*contents{v.of.cur}
	return p.add(v)
}

// seen adds a variable that is a view of another.
func (p *script) seen(a *gpk.Array, x *variable) *variable {
	return p.add(&variable{a: a, of: x.of, in: x.in, repeats: x.repeats, depth: x.depth + 1})
}

// leaf adds an array of random data of the script's shape, or of one that broadcasts to
// it.
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

// pick returns a variable that may be used, of type dt unless that is Invalid, or a new
// leaf.
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
	gpk.Int16, gpk.Uint16, gpk.Uint32, gpk.Uint64,
}

// fitsShape reports whether a shape broadcasts to another without changing the latter.
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
		switch k := p.rng.IntN(27); {
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
		case k < 26:
			p.scoped()
		default:
			p.free()
		}
	}
	for _, i := range p.rng.Perm(len(p.vars)) {
		if v := p.vars[i]; v.a != nil {
			p.read(v)
		}
	}
	for len(p.scopes) > 0 {
		p.closeScope(len(p.scopes) - 1)
	}
	for _, v := range p.vars {
		v.a.Free()
	}
}

// operation applies a random element-wise operation to existing variables.
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

// operand returns a second operand: a variable or a number.
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

// view adds a view of a variable, which later operations read or write.
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
	v := p.seen(a, x)
	v.repeats = v.repeats || how == "BroadcastTo"
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

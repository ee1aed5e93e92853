package gpktest

import (
	"errors"
	"fmt"
	"slices"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/ops"
)

// variable is an array of a script.
type variable struct {
	a       *gpk.Array // nil: freed
	name    string
	dt      gpk.DType
	shape   []int
	of      *storage
	in      *scope // it is marked by the scope's In
	repeats bool   // it is broadcast, so that indices share elements
	depth   int
}

// storage is the memory that a variable and its views share.
type storage struct {
	cur   *contents
	all   []*contents // cur and the older ones
	scope *scope
}

// contents stands for the elements of a storage between two writes. It does not hold them: the
// eager run computes them.
type contents struct {
	from   []*contents // the operands from which it is computed
	stored bool        // certainly: where it is false, gpk may have stored it anyway
	used   bool        // an operation has it as an operand
	freed  bool        // its memory may be gone
	kept   *scope      // it is computed when this is closed
}

// scope is a scope of a script.
type scope struct {
	s      *gpk.Scope
	name   string
	number int
}

// result is the result of a read of a script.
type result struct {
	value     tensor
	err       error
	mayBeLost bool
	plan      string
}

// newest returns the scope that was opened last; nil means no scope.
func newest(a, b *scope) *scope {
	if a == nil || b != nil && b.number > a.number {
		return b
	}
	return a
}

// scope returns the scope of results computed from a variable.
func (v *variable) scope() *scope { return newest(v.in, v.of.scope) }

// reads notes an operand.
func (c *contents) reads(operand *contents) {
	c.from = append(c.from, operand)
	operand.used = true
}

// lost reports whether the elements may be gone: they were not stored, and something
// that they are computed from was freed.
func (c *contents) lost() bool {
	return c.freed || !c.stored && slices.ContainsFunc(c.from, (*contents).lost)
}

// lost reports whether a read of the variable may return ErrFreed.
func (v *variable) lost() bool { return v.of.cur.lost() }

// writes gives a storage new contents.
func (v *variable) writes() {
	v.of.cur = &contents{stored: true}
	v.of.all = append(v.of.all, v.of.cur)
}

// write changes a variable in place: with another, a number, or an expression.
func (p *script) write() {
	x := p.pick(dtype.Invalid)
	if x.lost() || x.repeats || !slices.Contains(ops.Lookup(expr.Add).Types, x.dt) {
		return
	}
	y := p.pick(x.dt)
	if y.lost() || !fitsShape(y.shape, x.shape) {
		return
	}
	divides := slices.Contains(ops.Lookup(expr.Div).Types, x.dt)
	var err error
	switch k := p.rng.IntN(8); {
	case k == 0:
		err = x.a.AddInPlace(y.a)
		p.say("%s.AddInPlace(%s)", x.name, y.name)
	case k == 1:
		err = x.a.MulInPlace(y.a.Neg())
		p.say("%s.MulInPlace(%s.Neg())", x.name, y.name)
	case k == 2:
		err = x.a.SubInPlace(y.a)
		p.say("%s.SubInPlace(%s)", x.name, y.name)
	case k == 3 && divides:
		err = x.a.DivInPlace(y.a)
		p.say("%s.DivInPlace(%s)", x.name, y.name)
	case k == 4:
		err = x.a.AddInPlace(3)
		p.say("%s.AddInPlace(3)", x.name)
	case k == 5:
		err = x.a.CopyFrom(2)
		p.say("%s.CopyFrom(2)", x.name)
	default:
		err = x.a.CopyFrom(y.a)
		p.say("%s.CopyFrom(%s)", x.name, y.name)
	}
	p.check(err)
	y.of.cur.used, x.of.cur.used = true, true
	x.writes()
}

// into evaluates a variable into the memory of another.
func (p *script) into() {
	x := p.pick(dtype.Invalid)
	y := p.pick(x.dt)
	if x.lost() || y.lost() || y.repeats || !slices.Equal(x.shape, y.shape) {
		return
	}
	err := gpk.Into(y.a, x.a)
	p.say("Into(%s, %s)", y.name, x.name)
	p.check(err)
	x.of.cur.used = true
	y.writes()
}

// free frees a variable and its views.
func (p *script) free() {
	x := p.pick(dtype.Invalid)
	p.say("%s.Free()", x.name)
	x.a.Free()
	p.ended(x.of)
	for _, v := range p.vars {
		if v.of == x.of {
			v.a = nil
		}
	}
}

// ended records that storages were freed. Contents that could be computed, and are not an operand
// or are kept by an open scope, have been computed before.
func (p *script) ended(list ...*storage) {
	var waiting []*contents
	for _, v := range p.vars {
		if c := v.of.cur; (!c.used || c.kept != nil) && !c.lost() {
			waiting = append(waiting, c)
		}
	}
	for _, of := range list {
		for _, c := range of.all {
			c.freed = true
		}
	}
	for _, c := range waiting {
		c.stored = c.stored || c.lost()
	}
}

// read reads a variable.
func (p *script) read(x *variable) {
	r := result{mayBeLost: x.lost(), plan: x.a.Explain()}
	if r.err = gpk.Eval(x.a); r.err == nil {
		r.value, r.err = fetch(x.a)
	}
	p.say("read %s", x.name)
	p.results = append(p.results, r)
	x.of.cur.stored = x.of.cur.stored || !r.mayBeLost
}

// scoped opens or closes a scope, or moves a variable into one or out of it.
func (p *script) scoped() {
	n := len(p.scopes)
	if n == 0 || n < 3 && p.rng.IntN(6) == 0 {
		p.opened++
		p.scopes = append(p.scopes, &scope{gpk.NewScope(), fmt.Sprintf("s%d", p.opened), p.opened})
		p.say("%s = NewScope()", p.scopes[n].name)
		n++
	}
	i := p.rng.IntN(n)
	c, x := p.scopes[i], p.pick(dtype.Invalid)
	switch k := p.rng.IntN(8); {
	case k < 4:
		v := p.seen(c.s.In(x.a), x)
		v.in = newest(v.in, c)
		p.say("%s = %s.In(%s)", v.name, c.name, x.name)
	case k < 5 && x.of.scope == nil && !x.lost():
		p.check(c.s.Own(x.a).Err())
		x.of.scope = c
		p.say("%s.Own(%s)", c.name, x.name)
	case k < 7 && x.of.scope == c && !x.lost():
		a := c.s.Keep(x.a)
		p.say("%s.Keep(%s)", c.name, x.name)
		p.check(a.Err())
		x.a, x.in, x.of.scope, x.of.cur.kept = a, nil, nil, c
	case k == 7:
		p.closeScope(i)
	}
}

// check records the error of a call that must not fail.
func (p *script) check(err error) {
	if err != nil && p.err == nil {
		p.err = err
		p.say("fails: %v", err)
	}
}

// closeScope closes the i-th of the open scopes.
func (p *script) closeScope(i int) {
	c := p.scopes[i]
	p.scopes = slices.Delete(p.scopes, i, i+1)
	p.say("%s.Close()", c.name)
	p.check(c.s.Close())
	var list []*storage
	for _, v := range p.vars {
		if k := v.of.cur; k.kept == c {
			k.stored = true
		}
		if v.of.scope == c && !slices.Contains(list, v.of) {
			list = append(list, v.of)
		}
	}
	p.ended(list...)
	for _, v := range p.vars {
		if v.a != nil && (v.of.scope == c || v.in == c) {
			if err := gpk.Eval(v.a); !errors.Is(err, gpk.ErrFreed) {
				p.check(fmt.Errorf("%s of the closed scope %s answers %v", v.name, c.name, err))
			}
			v.a = nil
		}
	}
}

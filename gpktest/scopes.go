package gpktest

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

// testScopes checks which arrays belong to a scope, which leave it, and that the others
// are freed.
func testScopes(t *testing.T, s *suite) {
	x := s.random(gpk.Float32, 256, 256)
	in := x.array()
	noError(t, gpk.Eval(in))
	var kept, part, step *gpk.Array
	chain := func(a *gpk.Array) (h, y *gpk.Array) {
		h = a.Mul(2).Add(1)
		return h, h.Sum(1)
	}
	err := gpk.Scoped(func(c *gpk.Scope) error {
		h, y := chain(c.In(in))
		step = h.Exp()
		kept = c.Keep(y)
		part = c.Keep(h.Slice(0, 3, 5)) // with all its storage
		return gpk.Eval(step)
	})
	noError(t, err)
	wantH, wantY := chain(x.array())
	equal(t, "kept", read(t, kept), read(t, wantY))
	equal(t, "a part kept", read(t, part), read(t, wantH.Slice(0, 3, 5)))
	if err := gpk.Eval(step); !errors.Is(err, gpk.ErrFreed) {
		t.Errorf("an array of a closed scope: %v", err)
	}
	equal(t, "what came in", read(t, in), x)

	// No memory remains of many scopes, some of whose arrays were computed.
	runtime.GC() // what the program has dropped may go at any time
	before := s.dev.Pool().InUse
	for i := range 50 {
		noError(t, gpk.Scoped(func(c *gpk.Scope) error {
			h, y := chain(c.In(in))
			if i%2 == 0 {
				return gpk.Eval(h, y)
			}
			return nil
		}))
	}
	if now := s.dev.Pool().InUse; now > before {
		t.Errorf("%d bytes are in use after the scopes, %d before", now, before)
	}

	// The error of the function, with the scope closed; a panic closes it too.
	failure := errors.New("the function's own error")
	var lost *gpk.Array
	if err := gpk.Scoped(func(c *gpk.Scope) error {
		lost = c.In(in).Add(1)
		return failure
	}); !errors.Is(err, failure) {
		t.Errorf("Scoped returns %v, not the error of its function", err)
	}
	if err := gpk.Eval(lost); !errors.Is(err, gpk.ErrFreed) {
		t.Errorf("after an error: %v", err)
	}
	func() {
		defer func() {
			if r := recover(); r != failure {
				t.Errorf("recovered %v", r)
			}
		}()
		_ = gpk.Scoped(func(c *gpk.Scope) error {
			lost = c.In(in).Add(2)
			panic(failure)
		})
	}()
	if err := gpk.Eval(lost); !errors.Is(err, gpk.ErrFreed) {
		t.Errorf("after a panic: %v", err)
	}

	// A write in place to an array from outside stays, and moves it into no scope.
	to := x.array()
	noError(t, gpk.Scoped(func(c *gpk.Scope) error {
		d := c.In(in).Mul(3)
		return errors.Join(to.AddInPlace(d), to.Slice(0, 0, 2).CopyFrom(d.Slice(0, 0, 2)))
	}))
	want := read(t, gpk.Concat(0, x.array().Mul(3).Slice(0, 0, 2), x.array().Add(x.array().Mul(3)).Slice(0, 2, 256)))
	equal(t, "written in a scope", read(t, to), want)

	// Scopes in scopes: the newest among the operands has the result.
	outer, inner := gpk.NewScope(), gpk.NewScope()
	a, b := outer.In(in).Add(1), inner.In(in).Add(2)
	both := a.Mul(b)
	noError(t, inner.Close())
	if err := gpk.Eval(both); !errors.Is(err, gpk.ErrFreed) {
		t.Errorf("what belongs to the inner scope: %v", err)
	}
	equal(t, "what belongs to the outer one", read(t, a), read(t, x.array().Add(1)))
	noError(t, outer.Close())
	if err := gpk.Eval(a); !errors.Is(err, gpk.ErrFreed) {
		t.Errorf("what belonged to the outer one: %v", err)
	}

	// Closed in the other order: the arrays of the inner scope are computed first.
	outer, inner = gpk.NewScope(), gpk.NewScope()
	a = outer.Own(x.array())
	both = a.Mul(inner.In(in))
	noError(t, outer.Close())
	equal(t, "a reader of a closed outer scope", read(t, both), read(t, x.array().Mul(x.array())))
	noError(t, inner.Close())

	// Own.
	c := gpk.NewScope()
	own, view := x.array(), (*gpk.Array)(nil)
	if got := c.Own(own); got != own {
		t.Errorf("Own returns another array: %v", got.Err())
	}
	view = own.T()
	sum := own.Add(1)
	noError(t, c.Close())
	for what, a := range map[string]*gpk.Array{"owned": own, "a view": view, "computed from it": sum} {
		if err := gpk.Eval(a); !errors.Is(err, gpk.ErrFreed) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// testScopeErrors checks that wrong uses of scopes are errors that name both lines, and
// that they leak nothing.
func testScopeErrors(t *testing.T, s *suite) {
	x := s.random(gpk.Float32, 5, 4)
	in := x.array()
	// both fails unless an error is of the operation on this file's line at, and names
	// the line with too.
	both := func(what string, err, cause error, op, at, with string) {
		t.Helper()
		var oe *gpk.OpError
		switch {
		case !errors.Is(err, cause) || !errors.As(err, &oe):
			t.Errorf("%s: %v, want %v", what, err, cause)
		case oe.Op != op || !strings.HasSuffix(oe.Site, at) || !strings.Contains(err.Error(), with):
			t.Errorf("%s: want %s at %s, and a word of %s: %v", what, op, at, with, err)
		}
	}

	c := gpk.NewScope()
	y := c.In(in).Add(1)
	view, part, marked := y.T(), y.Slice(0, 0, 2), c.In(in)
	computed := y.Mul(2)
	noError(t, gpk.Eval(computed))
	closed := nextLine()
	noError(t, c.Close())
	at := nextLine()
	both("closed twice", c.Close(), gpk.ErrFreed, "Close", at, closed)
	at = nextLine()
	both("In of a closed scope", c.In(in).Err(), gpk.ErrFreed, "In", at, closed)
	at = nextLine()
	both("Own of a closed scope", c.Own(in).Err(), gpk.ErrFreed, "Own", at, closed)
	at = nextLine()
	both("Keep of a closed scope", c.Keep(in).Err(), gpk.ErrFreed, "Keep", at, closed)
	for what, a := range map[string]*gpk.Array{"pending": y, "computed": computed, "a view": view, "a part": part, "marked": marked} {
		at = nextLine()
		_, err := gpk.ToSlice[float32](a)
		both("ToSlice, "+what, err, gpk.ErrFreed, "ToSlice", at, closed)
		at = nextLine()
		both("Add, "+what, a.Add(1).Err(), gpk.ErrFreed, "Add", at, closed)
		at = nextLine()
		both("AddInPlace, "+what, a.AddInPlace(1), gpk.ErrFreed, "AddInPlace", at, closed)
		before := s.random(gpk.Float32, a.Shape()...)
		to := before.array()
		at = nextLine()
		both("Into from, "+what, gpk.Into(to, a), gpk.ErrFreed, "Into", at, closed)
		equal(t, "after Into from "+what, read(t, to), before)
	}

	first, second := gpk.NewScope(), (*gpk.Scope)(nil)
	opened := nextLine()
	second = gpk.NewScope()
	y = second.In(in).Add(1)
	at = nextLine()
	both("Keep of another scope's array", first.Keep(y).Err(), gpk.ErrUnsupported, "Keep", at, opened)
	at = nextLine()
	both("Own of another scope's array", first.Own(y).Err(), gpk.ErrUnsupported, "Own", at, opened)
	noError(t, first.Close())
	equal(t, "after a refused Keep", read(t, y), read(t, x.array().Add(1)))
	noError(t, second.Close())
	equal(t, "what came in", read(t, in), x)

	at = nextLine()
	both("no function", gpk.Scoped(nil), gpk.ErrUnsupported, "Scoped", at, "function")
	for what, c := range map[string]*gpk.Scope{"nil": nil, "zero": new(gpk.Scope)} {
		at = nextLine()
		both("In, "+what, c.In(in).Err(), gpk.ErrUnsupported, "In", at, "NewScope")
		at = nextLine()
		both("Close, "+what, c.Close(), gpk.ErrUnsupported, "Close", at, "NewScope")
	}
	// What fails in Close is returned, and the scope is closed all the same.
	c = gpk.NewScope()
	bad := c.Keep(gpk.Take(c.In(in), gpk.FromSlice([]int64{99}), 0))
	other := c.In(in).Add(1)
	// On a GPU the index is found later, by whoever reads it.
	if err := c.Close(); !strings.Contains(fmt.Sprint(err), "99") && s.dev.Kind() == device.CPU {
		t.Errorf("a kept array that cannot be computed: %v", err)
	}
	if _, err := gpk.ToSlice[float32](bad); !strings.Contains(fmt.Sprint(err), "99") {
		t.Errorf("a kept array that cannot be computed, read: %v", err)
	}
	if err := gpk.Eval(other); !errors.Is(err, gpk.ErrFreed) {
		t.Errorf("an array of a scope whose Close has failed: %v", err)
	}
}

// nextLine returns the position of the line after the caller's.
func nextLine() string {
	_, _, n, _ := runtime.Caller(1)
	return fmt.Sprintf("scopes.go:%d", n+1)
}

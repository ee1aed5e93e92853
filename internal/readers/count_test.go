package readers

import (
	"slices"
	"testing"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/undo"
	"github.com/gpk-go/gpk/layout"
)

type scope struct{ ended bool }

func (s *scope) Ended() bool { return s != nil && s.ended }

// TestCount: readers count until they are dropped or their scope ends, and so do the parts that
// they read.
func TestCount(t *testing.T) {
	whole := layout.Dense([]int{4, 4})
	row := func(i int) layout.Layout {
		l, err := whole.Slice(0, i, i+1, 1)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	reads := func(c *Count[*scope], i int) bool {
		p := undo.Part{Layout: row(i), DType: dtype.Int32}
		return c.Read(&p, &whole)
	}
	var c Count[*scope]
	a, b := &scope{}, &scope{}
	for i, s := range []*scope{nil, a, a, b} {
		lay := row(min(i+1, 3))
		c.Add(s, &lay, dtype.Int32)
	}
	if c.Len() != 4 || c.In(nil) != 1 || c.In(a) != 2 || c.In(b) != 1 {
		t.Errorf("%d readers: %d, %d and %d", c.Len(), c.In(nil), c.In(a), c.In(b))
	}
	if !reads(&c, 1) || !reads(&c, 3) || reads(&c, 0) {
		t.Error("the parts are not rows 1 to 3")
	}
	a.ended = true
	c.Drop(a)
	if c.Len() != 2 || !slices.Equal(slices.Collect(c.Scopes()), []*scope{b}) {
		t.Errorf("%d readers of %v after the end of a scope", c.Len(), slices.Collect(c.Scopes()))
	}
	c.Drop(b)
	c.Drop(nil)
	last := row(3)
	if c.Len() != 0 {
		t.Errorf("%d readers after the last", c.Len())
	}
	c.Add(nil, &last, dtype.Int32)
	if reads(&c, 0) || reads(&c, 1) || !reads(&c, 3) {
		t.Error("the parts are not row 3 alone")
	}
}

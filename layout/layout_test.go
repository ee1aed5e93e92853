package layout

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/gpk-go/gpk/internal/testrand"
)

// indices lists the positions of l's elements in row-major order. It is the slow
// definition that views are tested against.
func indices(l Layout) []int {
	out := []int{}
	var visit func(d, at int)
	visit = func(d, at int) {
		if d == len(l.Shape) {
			out = append(out, at)
			return
		}
		for i := range l.Shape[d] {
			visit(d+1, at+i*l.Strides[d])
		}
	}
	visit(0, l.Offset)
	return out
}

func TestSize(t *testing.T) {
	for _, c := range []struct {
		shape []int
		want  int
		bad   bool
	}{
		{nil, 1, false},
		{[]int{0}, 0, false},
		{[]int{3, 4}, 12, false},
		{[]int{-1}, 0, true},
		{[]int{math.MaxInt, 2}, 0, true},
		{[]int{1 << (strconv.IntSize/2 - 1), 1 << (strconv.IntSize/2 - 1)}, 0, true},
		{[]int{math.MaxInt, 0}, 0, true},
		{[]int{0, -3}, 0, true},
	} {
		got, err := Size(c.shape)
		if slices.Equal(c.shape, []int{math.MaxInt, 0}) {
			// A zero dimension empties the array, but a single dimension must still fit.
			if err == nil && got != 0 {
				t.Errorf("Size(%v) = %d", c.shape, got)
			}
			continue
		}
		if (err != nil) != c.bad || got != c.want {
			t.Errorf("Size(%v) = %d, %v", c.shape, got, err)
		}
		if err != nil && !errors.Is(err, ErrShape) {
			t.Errorf("Size(%v): %v does not wrap ErrShape", c.shape, err)
		}
	}
}

// TestViews builds random chains of views and compares every step with the
// same step on an explicit list of indices.
func TestViews(t *testing.T) {
	r := testrand.New(t)
	for range 3000 {
		shape := make([]int, r.IntN(4))
		for i := range shape {
			shape[i] = 1 + r.IntN(4)
		}
		l := Dense(shape)
		for range 4 {
			positions, prev := indices(l), l
			switch n := len(l.Shape); r.IntN(5) {
			case 0:
				perm := r.Perm(n)
				l, _ = l.Transpose(perm)
				if n == 0 {
					continue
				}
				checkAt(t, fmt.Sprint("transpose ", perm), l, func(ix []int) int {
					old := make([]int, n)
					for i, p := range perm {
						old[p] = ix[i]
					}
					return at(prev, old)
				})
			case 1:
				if n == 0 {
					continue
				}
				a := r.IntN(n)
				step := 1 + r.IntN(2)
				start, stop := r.IntN(l.Shape[a]+1), r.IntN(l.Shape[a]+1)
				if r.IntN(2) == 0 {
					step = -step
					start, stop = r.IntN(max(l.Shape[a], 1)), r.IntN(max(l.Shape[a], 1))
				}
				if l.Shape[a] == 0 {
					continue
				}
				got, err := l.Slice(a, start, stop, step)
				if err != nil {
					t.Fatalf("Slice(%d, %d, %d, %d) of %v: %v", a, start, stop, step, l.Shape, err)
				}
				var want []int
				for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
					want = append(want, i)
				}
				if got.Shape[a] != len(want) {
					t.Fatalf("Slice(%d, %d, %d, %d) of %v has %d, want %d", a, start, stop, step, l.Shape, got.Shape[a], len(want))
				}
				l = got
				checkAt(t, "slice", l, func(ix []int) int {
					old := slices.Clone(ix)
					old[a] = want[ix[a]]
					return at(prev, old)
				})
			case 2:
				flat, ok := l.Reshape([]int{l.Size()})
				if ok && !slices.Equal(indices(flat), positions) {
					t.Fatalf("reshape of %+v gives other elements", l)
				}
				if !ok && l.IsDense() {
					t.Fatalf("a dense layout %+v was not reshaped", l)
				}
			case 3:
				l, _ = l.Unsqueeze(r.IntN(n + 1))
				if !slices.Equal(indices(l), positions) {
					t.Fatal("unsqueeze moved elements")
				}
				if l, _ = l.Squeeze(nil); !slices.Equal(indices(l), positions) {
					t.Fatal("squeeze moved elements")
				}
			case 4:
				got, err := l.BroadcastTo(append([]int{2}, l.Shape...))
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(indices(got), append(slices.Clone(positions), positions...)) {
					t.Fatal("broadcast gives other elements")
				}
			}
			c, s := Collapse(l.Shape, l.Strides)
			if l.Size() > 0 && !slices.Equal(indices(Layout{Shape: c, Strides: s[0], Offset: l.Offset}), indices(l)) {
				t.Fatalf("collapse of %+v gives other elements", l)
			}
			if lo, hi := l.Span(); l.Size() > 0 {
				ix := indices(l)
				if lo != slices.Min(ix) || hi != slices.Max(ix)+1 {
					t.Fatalf("span of %+v is %d..%d", l, lo, hi)
				}
			}
		}
	}
}

func at(l Layout, ix []int) int {
	p := l.Offset
	for i, x := range ix {
		p += x * l.Strides[i]
	}
	return p
}

func checkAt(t *testing.T, what string, l Layout, want func([]int) int) {
	t.Helper()
	ix := make([]int, len(l.Shape))
	for k, p := range indices(l) {
		for d, r := len(ix)-1, k; d >= 0; d-- {
			ix[d], r = r%l.Shape[d], r/l.Shape[d]
		}
		if w := want(ix); w != p {
			t.Fatalf("%s: element %v lies at %d, want %d", what, ix, p, w)
		}
	}
}

func TestReshapeStrided(t *testing.T) {
	l, _ := Dense([]int{4, 6}).Slice(1, 0, 6, 2) // strides 6, 2: one stride covers both axes
	got, ok := l.Reshape([]int{2, 2, 3})
	if !ok || !slices.Equal(got.Strides, []int{12, 6, 2}) {
		t.Errorf("got %+v, %v", got, ok)
	}
	if got, ok = l.Reshape([]int{12}); !ok || !slices.Equal(got.Strides, []int{2}) {
		t.Errorf("got %+v, %v", got, ok)
	}
	if _, ok = Dense([]int{4, 6}).T().Reshape([]int{24}); ok {
		t.Error("a transposed matrix was flattened without a copy")
	}
}

func TestBadViews(t *testing.T) {
	l := Dense([]int{3, 4})
	for name, f := range map[string]func() error{
		"axis":          func() error { _, err := l.Slice(2, 0, 1, 1); return err },
		"step 0":        func() error { _, err := l.Slice(0, 0, 1, 0); return err },
		"stop":          func() error { _, err := l.Slice(0, 0, 4, 1); return err },
		"start":         func() error { _, err := l.Slice(0, -4, 1, 1); return err },
		"min step":      func() error { _, err := l.Slice(0, 5, 0, math.MinInt); return err },
		"perm":          func() error { _, err := l.Transpose([]int{0, 0}); return err },
		"perm short":    func() error { _, err := l.Transpose([]int{0}); return err },
		"squeeze":       func() error { _, err := l.Squeeze([]int{0}); return err },
		"unsqueeze":     func() error { _, err := l.Unsqueeze(4); return err },
		"broadcast":     func() error { _, err := l.BroadcastTo([]int{3, 5}); return err },
		"broadcast neg": func() error { _, err := l.BroadcastTo([]int{-1, 3, 4}); return err },
		"pair":          func() error { _, err := Broadcast([]int{2, 3}, []int{2}); return err },
		"infer two":     func() error { _, err := Infer([]int{-1, -1}, 12); return err },
		"infer":         func() error { _, err := Infer([]int{5, -1}, 12); return err },
		"infer zero":    func() error { _, err := Infer([]int{0, -1}, 0); return err },
		"infer big":     func() error { _, err := Infer([]int{math.MaxInt, 3}, 12); return err },
	} {
		if err := f(); !errors.Is(err, ErrShape) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

package layout

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

// TestCombine checks the result shapes of the operations that join arrays, or that
// select, repeat or add elements.
func TestCombine(t *testing.T) {
	const long = math.MaxInt/2 + 1
	type result struct {
		shape []int
		axis  int
		err   error
	}
	of := func(shape []int, axis int, err error) result { return result{shape, axis, err} }
	pad := func(shape []int, widths ...[2]int) result {
		out, err := Pad(shape, widths)
		return result{out, 0, err}
	}
	for _, c := range []struct {
		name  string
		got   result
		shape []int
		axis  int
		err   string // a part of the text; empty: none
	}{
		{"one", of(Concat(-1, []int{2, 3})), []int{2, 3}, 1, ""},
		{"two", of(Concat(0, []int{2, 3}, []int{4, 3}, []int{0, 3})), []int{6, 3}, 0, ""},
		{"from the end", of(Concat(-2, []int{2, 3}, []int{4, 3})), []int{6, 3}, 0, ""},
		{"no axis", of(Concat(0, []int{})), nil, 0, "axis 0 of an array with 0 dimensions"},
		{"axes", of(Concat(0, []int{2, 3}, []int{2})), nil, 0, "[2 3] and [2] differ in their number of axes"},
		{"lengths", of(Concat(0, []int{2, 3}, []int{2, 4})), nil, 0, "[2 3] and [2 4] differ along axis 1"},
		{"long", of(Concat(-1, []int{0, long}, []int{0, long})), nil, 0, "2 arrays along axis -1 are too long"},
		{"large", of(Concat(0, []int{math.MaxInt / 20}, []int{math.MaxInt / 20})), nil, 0, "more than"},

		{"stack", of(Stack(0, []int{2, 3}, []int{2, 3})), []int{2, 2, 3}, 0, ""},
		{"stack behind", of(Stack(-1, []int{2, 3})), []int{2, 3, 1}, 2, ""},
		{"stack of 0-d", of(Stack(0, []int{}, []int{}, []int{})), []int{3}, 0, ""},
		{"stack axis", of(Stack(3, []int{2, 3})), nil, 0, "axis 3 of an array with 3 dimensions"},
		{"stack shapes", of(Stack(0, []int{2}, []int{3})), nil, 0, "[2] and [3] differ"},
		{"stack large", of(Stack(0, []int{math.MaxInt / 20}, []int{math.MaxInt / 20})), nil, 0, "more than"},

		{"take", of(Take([]int{2, 3, 4}, []int{5, 6}, -2)), []int{2, 5, 6, 4}, 1, ""},
		{"take one", of(Take([]int{3}, []int{}, 0)), []int{}, 0, ""},
		{"take none of none", of(Take([]int{0, 2}, []int{3, 0}, 0)), []int{3, 0, 2}, 0, ""},
		{"take of none", of(Take([]int{2, 0}, []int{1}, -1)), nil, 0, "indices into axis 1, which has length 0"},
		{"take axis", of(Take([]int{2}, []int{1}, 1)), nil, 0, "axis 1 of an array with 1 dimensions"},

		{"repeat", of(Repeat([]int{2, 3}, 4, -1)), []int{2, 12}, 1, ""},
		{"repeat never", of(Repeat([]int{2, 3}, 0, 0)), []int{0, 3}, 0, ""},
		{"repeat less", of(Repeat([]int{2}, -1, 0)), nil, 0, "every element -1 times"},
		{"repeat axis", of(Repeat([]int{2}, 1, -2)), nil, 0, "axis -2 of an array with 1 dimensions"},
		{"repeat large", of(Repeat([]int{3}, math.MaxInt/20, 0)), nil, 0, "more than"},
		{"repeat long", of(Repeat([]int{0, long}, 4, 1)), nil, 0, "more than"},

		{"pad", pad([]int{2, 3}, [2]int{1, 0}, [2]int{2, 4}), []int{3, 9}, 0, ""},
		{"pad 0-d", pad([]int{}), []int{}, 0, ""},
		{"pad axes", pad([]int{2, 3}, [2]int{1, 0}), nil, 0, "1 pairs of widths for the 2 axes of [2 3]"},
		{"pad less", pad([]int{2}, [2]int{0, -1}), nil, 0, "negative width in [0 -1] along axis 0"},
		{"pad long", pad([]int{2}, [2]int{math.MaxInt, 0}), nil, 0, "along axis 0 are too long"},
		{"pad twice as long", pad([]int{2}, [2]int{math.MaxInt, math.MaxInt}), nil, 0, "along axis 0 are too long"},
		{"pad large", pad([]int{2, 3}, [2]int{0, long / 4}, [2]int{}), nil, 0, "more than"},
	} {
		switch {
		case c.err != "":
			if !errors.Is(c.got.err, ErrShape) || !strings.Contains(c.got.err.Error(), c.err) {
				t.Errorf("%s: %v, want %q", c.name, c.got.err, c.err)
			}
		case c.got.err != nil || !slices.Equal(c.got.shape, c.shape) || c.got.axis != c.axis:
			t.Errorf("%s: %+v, want %v along %d", c.name, c.got, c.shape, c.axis)
		}
	}
}

func TestFold(t *testing.T) {
	kept, terms := Fold(make([]int, 0, 4), []int{2, 3, 4}, []bool{true, false, true})
	if !slices.Equal(kept, []int{3}) || terms != 8 {
		t.Errorf("%v, %d terms", kept, terms)
	}
	if kept, terms = Fold(nil, []int{2, 0}, []bool{false, true}); !slices.Equal(kept, []int{2}) || terms != 0 {
		t.Errorf("%v, %d terms", kept, terms)
	}
}

func TestRow(t *testing.T) {
	for _, c := range []struct {
		of Layout
		ok bool
	}{
		{Layout{[]int{5}, []int{1}, 3}, true},
		{Layout{[]int{7, 5}, []int{0, 1}, 3}, true},
		{Layout{[]int{1, 5}, []int{5, 1}, 0}, true},
		{Layout{[]int{7, 1}, []int{0, 9}, 0}, true},
		{Layout{[]int{7, 5}, []int{5, 1}, 0}, false},
		{Layout{[]int{7, 5}, []int{0, 2}, 0}, false},
		{Layout{[]int{7, 5}, []int{1, 0}, 0}, false},
		{Layout{}, false},
	} {
		row, ok := c.of.Row()
		n := len(c.of.Shape)
		if ok != c.ok || ok && (!slices.Equal(row.Shape, c.of.Shape[n-1:]) || row.Strides[0] != 1 || row.Offset != c.of.Offset) {
			t.Errorf("the row of %+v: %+v, %v", c.of, row, ok)
		}
	}
}

func TestDiagonal(t *testing.T) {
	l := Layout{[]int{3, 2}, []int{10, 1}, 4}
	if got := indices(l.Diagonal()); !slices.Equal(got, []int{4, 15}) {
		t.Errorf("%v", got)
	}
}

// TestCachedDense compares with Dense, also for shapes with the same hash.
func TestCachedDense(t *testing.T) {
	for range 2 {
		for i := range 1000 {
			shape := []int{i % 7, i}
			got, want := CachedDense(shape), Dense(shape)
			if !slices.Equal(got.Shape, want.Shape) || !slices.Equal(got.Strides, want.Strides) || got.Offset != 0 {
				t.Fatalf("%v: %+v", shape, got)
			}
			shape[0] = -1
			if got.Shape[0] == -1 {
				t.Fatal("the shape is kept")
			}
		}
	}
	shape := []int{3, 5}
	CachedDense(shape)
	if n := testing.AllocsPerRun(100, func() { CachedDense(shape) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestAxisSet compares with Axes, of few dimensions and of many.
func TestAxisSet(t *testing.T) {
	for _, n := range []int{0, 1, 3, cachedAxes, cachedAxes + 1} {
		for _, axes := range [][]int{nil, {}, {0}, {-1}, {n - 1, 0}, {0, 0}, {n}, {-n - 1}} {
			got, err := AxisSet(axes, n)
			want, wantErr := Axes(axes, n)
			if axes != nil && len(axes) == 0 {
				want = make([]bool, n)
			}
			if !slices.Equal(got, want) || (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
				t.Errorf("%v of %d: %v, %v; want %v, %v", axes, n, got, err, want, wantErr)
			}
		}
	}
	axes := []int{0, 2}
	if n := testing.AllocsPerRun(100, func() { _, _ = AxisSet(axes, 4) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

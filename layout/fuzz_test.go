package layout

import (
	"errors"
	"slices"
	"testing"

	"github.com/gpk-go/gpk/internal/indextest"
)

// A script reads the choices of a fuzz target from its input. After the end of the
// input every choice is the first one.
type script []byte

// pick returns a number from 0 to n-1.
func (s *script) pick(n int) int {
	if len(*s) == 0 {
		return 0
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return int(b) % n
}

// shape returns a shape of at most four axes, each of length at most four.
func (s *script) shape() []int {
	out := make([]int, s.pick(5))
	for i := range out {
		out[i] = s.pick(5)
	}
	return out
}

// FuzzViews makes a chain of valid and invalid views of a layout and of its model, and
// compares them after every step.
func FuzzViews(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		s := script(data)
		l := Dense(s.shape())
		m := model{shape: l.Shape}
		for i := range l.Size() {
			m.at = append(m.at, i)
		}
		for range 12 {
			n := len(m.shape)
			var got Layout
			var err error
			want, ok := m, true // m: unchanged if the view is an error
			switch s.pick(8) {
			case 0:
				axes := make([]int, s.pick(n+2))
				for i := range axes {
					axes[i] = s.pick(2*n+2) - n
				}
				got, err = l.Transpose(axes)
				seen := make([]bool, n)
				full := make([]int, n)
				for i := range full {
					full[i] = n - 1 - i
				}
				if len(axes) > 0 {
					ok = len(axes) == n
					for i, a := range axes {
						if a < 0 {
							a += n
						}
						if ok = ok && a >= 0 && a < n && !seen[a]; !ok {
							break
						}
						seen[a], full[i] = true, a
					}
				}
				if ok {
					shape := make([]int, n)
					for i, a := range full {
						shape[i] = m.shape[a]
					}
					want = m.view(shape, func(ix []int) []int {
						old := make([]int, n)
						for i, a := range full {
							old[a] = ix[i]
						}
						return old
					})
				}
			case 1, 2:
				axis, start, stop, step := s.pick(2*n+2)-n-1, s.pick(13)-6, s.pick(13)-6, s.pick(9)-4
				got, err = l.Slice(axis, start, stop, step)
				a := axis
				if a < 0 {
					a += n
				}
				if ok = a >= 0 && a < n; !ok {
					break
				}
				var taken []int
				if taken, ok = steps(m.shape[a], start, stop, step); ok {
					shape := slices.Clone(m.shape)
					shape[a] = len(taken)
					want = m.view(shape, func(ix []int) []int {
						old := slices.Clone(ix)
						old[a] = taken[ix[a]]
						return old
					})
				}
			case 3:
				shape := factors(&s, len(m.at))
				var reshaped bool
				got, reshaped = l.Reshape(shape)
				if want.shape = shape; reshaped != want.strided(shape) {
					t.Fatalf("%+v reshapes to %v: %v", l, shape, reshaped)
				}
				if !reshaped { // a copy is dense
					got = Dense(shape)
					want.at = indices(got)
				}
			case 4:
				var axes []int
				for range s.pick(3) {
					axes = append(axes, s.pick(2*n+2)-n-1)
				}
				got, err = l.Squeeze(axes)
				drop := make([]bool, n)
				for d, length := range m.shape {
					drop[d] = len(axes) == 0 && length == 1
				}
				for _, a := range axes {
					if a < 0 {
						a += n
					}
					if ok = ok && a >= 0 && a < n && m.shape[a] == 1 && !drop[a]; ok {
						drop[a] = true
					}
				}
				if ok {
					want.shape = nil
					for d, length := range m.shape {
						if !drop[d] {
							want.shape = append(want.shape, length)
						}
					}
				}
			case 5:
				axis := s.pick(2*n+4) - n - 2
				got, err = l.Unsqueeze(axis)
				if axis < 0 {
					axis += n + 1
				}
				if ok = axis >= 0 && axis <= n; ok {
					want.shape = slices.Insert(slices.Clone(m.shape), axis, 1)
				}
			case 6:
				shape := s.shape()
				got, err = l.BroadcastTo(shape)
				want, ok = m.broadcast(shape)
			case 7:
				got = l.T()
				if n > 1 {
					shape := slices.Clone(m.shape)
					shape[n-1], shape[n-2] = shape[n-2], shape[n-1]
					want = m.view(shape, func(ix []int) []int {
						old := slices.Clone(ix)
						old[n-1], old[n-2] = old[n-2], old[n-1]
						return old
					})
				}
			}
			if (err == nil) != ok || err != nil && !errors.Is(err, ErrShape) {
				t.Fatalf("of %+v: error %v, want success %v", l, err, ok)
			}
			if err != nil {
				continue
			}
			if len(want.at) > 1<<12 {
				return
			}
			if compare(t, l, got, want); t.Failed() {
				return
			}
			l, m = got, want
		}
	})
}

// factors returns a shape of size elements.
func factors(s *script, size int) []int {
	if size == 0 {
		return append(s.shape(), 0)
	}
	shape := []int{}
	for size > 1 && len(shape) < 5 {
		d := 1 + s.pick(size)
		for size%d != 0 {
			d--
		}
		shape, size = append(shape, d), size/d
	}
	return append(shape, size)
}

// compare checks all properties of a layout against its model.
func compare(t *testing.T, from, l Layout, m model) {
	t.Helper()
	if !slices.Equal(l.Shape, m.shape) || len(l.Strides) != len(l.Shape) {
		t.Fatalf("%+v of %+v, want the shape %v", l, from, m.shape)
	}
	if got := indices(l); !slices.Equal(got, m.at) {
		t.Fatalf("%+v of %+v names %v, want %v", l, from, got, m.at)
	}
	if l.Size() != len(m.at) || l.NDim() != len(m.shape) {
		t.Errorf("%+v has %d elements, want %d", l, l.Size(), len(m.at))
	}
	dense := true
	for i, at := range m.at {
		dense = dense && at == m.at[0]+i
	}
	if l.IsDense() != dense {
		t.Errorf("%+v is dense: %v", l, l.IsDense())
	}
	lo, hi := l.Span()
	if len(m.at) == 0 {
		if lo != 0 || hi != 0 || len(from.Shape) > 0 && from.Size() == 0 && l.Offset != from.Offset {
			t.Errorf("an empty layout spans %d to %d, offset %d", lo, hi, l.Offset)
		}
		return
	}
	if lo != slices.Min(m.at) || hi != slices.Max(m.at)+1 {
		t.Errorf("%+v spans %d to %d", l, lo, hi)
	}
	sorted := slices.Sorted(slices.Values(m.at))
	if repeats := len(slices.Compact(sorted)) < len(m.at); l.Repeats() != repeats {
		t.Errorf("%+v repeats: %v", l, l.Repeats())
	}
	shape, strides := Collapse(l.Shape, l.Strides)
	if got := indices(Layout{shape, strides[0], l.Offset}); !slices.Equal(got, m.at) {
		t.Errorf("%+v collapses to %v, %v", l, shape, strides)
	}
}

// FuzzBroadcast broadcasts two shapes. Both operands, broadcast to the common shape,
// have the right element at every index, also after they are collapsed together.
func FuzzBroadcast(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		s := script(data)
		a, b := Dense(s.shape()), Dense(s.shape())
		shape, err := Broadcast(a.Shape, b.Shape)
		back, err2 := Broadcast(b.Shape, a.Shape)
		if !slices.Equal(shape, back) || (err == nil) != (err2 == nil) {
			t.Fatalf("%v with %v: %v, %v; the other way: %v, %v", a.Shape, b.Shape, shape, err, back, err2)
		}
		// From the end: equal, or one of them 1 or missing.
		var want []int
		fits := true
		for i := 1; i <= max(len(a.Shape), len(b.Shape)); i++ {
			x, y := 1, 1
			if i <= len(a.Shape) {
				x = a.Shape[len(a.Shape)-i]
			}
			if i <= len(b.Shape) {
				y = b.Shape[len(b.Shape)-i]
			}
			fits = fits && (x == y || x == 1 || y == 1)
			if x == 1 {
				x = y
			}
			want = append([]int{x}, want...)
		}
		if fits != (err == nil) || err != nil && !errors.Is(err, ErrShape) {
			t.Fatalf("%v with %v: %v", a.Shape, b.Shape, err)
		}
		if !fits {
			return
		}
		if !slices.Equal(shape, want) {
			t.Fatalf("%v with %v gives %v, want %v", a.Shape, b.Shape, shape, want)
		}
		x, err := a.BroadcastTo(shape)
		if err != nil {
			t.Fatal(err)
		}
		y, err := b.BroadcastTo(shape)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct{ from, to Layout }{{a, x}, {b, y}} {
			m, ok := model{shape: c.from.Shape, at: indices(c.from)}.broadcast(shape)
			if !ok {
				t.Fatalf("%v does not reach %v", c.from.Shape, shape)
			}
			compare(t, c.from, c.to, m)
		}
		if indextest.Size(shape) == 0 {
			return
		}
		merged, strides := Collapse(shape, x.Strides, y.Strides)
		for i, l := range []Layout{x, y} {
			if got := indices(Layout{merged, strides[i], 0}); !slices.Equal(got, indices(l)) {
				t.Errorf("%v with %v: operand %d collapses to %v, %v", a.Shape, b.Shape, i, merged, strides)
			}
		}
	})
}

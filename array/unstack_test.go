package array

import (
	"errors"
	"slices"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
)

// TestUnstack checks that Unstack returns the views of Slice and Squeeze, also for strided
// and empty arrays.
func TestUnstack(t *testing.T) {
	x := Arange(dtype.Float32, 60).Reshape(3, 4, 5)
	for name, a := range map[string]*Array{"dense": x, "transposed": x.T(), "sliced": x.Slice(0, 1, 3), "a vector": x.Slice(1, 2, 3).Reshape(15), "no rows": x.Slice(0, 1, 1), "empty rows": x.Slice(1, 1, 1)} {
		views := Unstack(a)
		if len(views) != a.Shape()[0] {
			t.Errorf("%s: %d views of %v", name, len(views), a.Shape())
		}
		for i, v := range views {
			want := a.Slice(0, i, i+1).Squeeze(0)
			got, err := ToSlice[float32](v)
			expected, err2 := ToSlice[float32](want)
			if err := errors.Join(err, err2); err != nil || !slices.Equal(got, expected) || !slices.Equal(v.Shape(), want.Shape()) {
				t.Errorf("%s, view %d: %v %v, want %v %v, error %v", name, i, v.Shape(), got, want.Shape(), expected, err)
			}
			if v.Offset() != want.Offset() { // an empty view has an offset inside its memory
				t.Errorf("%s, view %d begins at element %d, want %d", name, i, v.Offset(), want.Offset())
			}
		}
	}
	if Unstack(Zeros(dtype.Float32)) != nil || Unstack(nil) != nil {
		t.Error("views of no axis")
	}
}

// TestSettled: pending, freed and failed arrays are not settled, stored ones are.
func TestSettled(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	x, y := Ones(dtype.Float32, 3), Ones(dtype.Float32, 3)
	if err := Eval(x, y); err != nil || !Settled(x, y, x.Slice(0, 0, 2)) {
		t.Errorf("stored arrays are not settled, or %v", err)
	}
	z := x.Add(y)
	if Settled(x, z) || Settled() {
		t.Error("a pending array is settled")
	}
	if err := Eval(x, z); err != nil || !Settled(x, z) {
		t.Errorf("Eval of a stored and a pending array has not stored both: %v", err)
	}
	failed := x.Reshape(7)
	if Settled(x, failed) || Settled(x, nil) || Settled(x, &Array{}) {
		t.Error("an array with an error is settled")
	}
	y.Free()
	if Settled(x, y) || Eval(x, y) == nil || Eval(x, failed) == nil {
		t.Error("a freed or failed array passes")
	}
}

// TestGathered checks that gathered elements are those of Concat, and belong to the newest
// scope; that arrays which are not stored are refused; and that failed copies leave no memory
// behind.
func TestGathered(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	x := Arange(dtype.Float32, 12).Reshape(3, 4)
	as := []*Array{x, x.Mul(2).Reshape(4, 3).T(), x.Add(1)}
	if _, ok := Gathered(as); ok {
		t.Error("pending arrays are gathered")
	}
	if err := Eval(as...); err != nil {
		t.Fatal(err)
	}
	s := NewScope()
	as[1] = s.In(as[1])
	got, ok := Gathered(as)
	a, err := ToSlice[float32](got)
	b, err2 := ToSlice[float32](Concat(0, as...))
	if err := errors.Join(err, err2); err != nil || !ok || !slices.Equal(a, b) || !slices.Equal(got.Shape(), []int{9, 4}) {
		t.Errorf("%v %v, want %v, error %v", got.Shape(), a, b, err)
	}
	if err := x.AddInPlace(100); err != nil { // the copy is a copy
		t.Fatal(err)
	}
	if again, err := ToSlice[float32](got); err != nil || !slices.Equal(again, a) {
		t.Errorf("a write to an operand shows: %v, %v", again, err)
	}
	if err := s.Close(); err != nil || !errors.Is(Eval(got), device.ErrFreed) {
		t.Errorf("the scope's end left the copy, or %v", err)
	}
	for name, as := range map[string][]*Array{"freed": {x, got}, "shapes": {x, x.Reshape(12)}, "types": {x, x.Cast(dtype.Float64)}, "0-d": {Ones(dtype.Float32)}, "none": nil} {
		_ = Eval(as...)
		if _, ok := Gathered(as); ok {
			t.Errorf("%s: gathered", name)
		}
	}
	in := Ones(dtype.Float32, 2)
	g, err := Capture([]*Array{in}, func(in []*Array) []*Array {
		if _, ok := Gathered([]*Array{in[0], in[0]}); ok {
			t.Error("gathered in a capture")
		}
		return []*Array{in[0].Add(1)}
	})
	if err != nil {
		t.Fatal(err)
	}
	g.Free()
}

package gpk_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/gpk-go/gpk"
)

func TestPinned(t *testing.T) {
	s, free, err := gpk.Pinned[complex128](1000)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s {
		if s[i] != 0 {
			t.Fatalf("element %d is %v", i, s[i])
		}
		s[i] = complex(float64(i), -1)
	}
	a := gpk.FromSlice(s)
	back, err := gpk.ToSlice[complex128](a)
	if err != nil || !slices.Equal(back, s) {
		t.Errorf("%v", err)
	}
	clear(s)
	if err := gpk.ToSliceInto(s[10:20], a.Slice(0, 10, 20)); err != nil || !slices.Equal(s[10:20], back[10:20]) || s[9] != 0 || s[20] != 0 {
		t.Errorf("%v, %v", s[8:22], err)
	}
	if err := gpk.FromSliceInto(a, s); err != nil {
		t.Error(err)
	}
	free()
	free()
	if s, free, err := gpk.Pinned[bool](0); err != nil || len(s) != 0 {
		t.Error(s, err)
	} else {
		free()
	}
	for _, n := range []int{-1, math.MaxInt, math.MaxInt/2 + 1, math.MaxInt/4 + 1} { // 4 times these do not fit an int
		_, free, err := gpk.Pinned[float32](n)
		var oe *gpk.OpError
		if !errors.As(err, &oe) || !errors.Is(err, gpk.ErrShape) || free != nil {
			t.Errorf("%d: %v", n, err)
		}
	}
}

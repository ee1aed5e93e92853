package gpktest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/gpk-go/gpk/serve/unified"
)

// unifiedTypes has a buffer of every type and some lengths, up and down.
func unifiedTypes(t *testing.T, s *suite) {
	for _, n := range []int{0, 1, 2, 17, 100_003} {
		unifiedRoundTrip[float32](t, s, n)
		unifiedRoundTrip[float64](t, s, n)
		unifiedRoundTrip[bfloat16.BFloat16](t, s, n)
		unifiedRoundTrip[int8](t, s, n)
		unifiedRoundTrip[int64](t, s, n)
		unifiedRoundTrip[bool](t, s, n)
		unifiedRoundTrip[complex128](t, s, n)
	}
	if _, err := unified.New[float32](-1, s.dev, unified.Options{}); !errors.Is(err, gpk.ErrShape) {
		t.Errorf("-1 elements: %v", err)
	}
	for _, pinned := range []bool{false, true} {
		if b, err := unified.New[complex128](math.MaxInt/4, s.dev, unified.Options{Pinned: pinned}); err == nil {
			t.Errorf("more bytes than an int counts: %v", b.Len())
		}
	}
	b, err := unified.New[int8](1, s.dev, unified.Options{})
	noError(t, err)
	if _, err := b.Device(3); !errors.Is(err, gpk.ErrUnsupported) {
		t.Errorf("access 3: %v", err)
	}
	noError(t, b.Close())
}

func unifiedRoundTrip[T gpk.Elem](t *testing.T, s *suite, n int) {
	t.Helper()
	b, err := unified.New[T](n, s.dev, unified.Options{Pinned: n%2 == 0})
	noError(t, err)
	defer b.Close()
	want := make([]T, n)
	x, err := b.Device(unified.Read)
	noError(t, err)
	noError(t, equalSlices(x, want))
	poisoned := gpk.FromSliceOn(s.dev, make([]T, n))
	for i := range want {
		want[i] = element[T](s.rng.IntN(100))
	}
	noError(t, b.HostWrite(func(h []T) error { copy(h, want); return nil }))
	x, err = b.Device(unified.Read)
	noError(t, err)
	noError(t, equalSlices(x, want))
	noError(t, gpk.FromSliceInto(poisoned, want))
	slices.Reverse(want)
	x, err = b.Device(unified.Write)
	noError(t, err)
	noError(t, gpk.Into(x, poisoned.Flip(0)))
	noError(t, b.HostRead(func(h []T) error {
		if !slices.Equal(h, want) {
			return fmt.Errorf("%T: the download differs", want)
		}
		return nil
	}))
	poisoned.Free()
}

// element converts a number to an element of any type.
func element[T gpk.Elem](v int) (e T) {
	switch p := any(&e).(type) {
	case *float32:
		*p = float32(v)
	case *float64:
		*p = float64(v)
	case *bfloat16.BFloat16:
		*p = bfloat16.FromFloat32(float32(v))
	case *int8:
		*p = int8(v)
	case *int64:
		*p = int64(v)
	case *bool:
		*p = v%2 == 1
	case *complex128:
		*p = complex(float64(v), -float64(v))
	}
	return e
}

func equalSlices[T gpk.Elem](x *gpk.Array, want []T) error {
	got, err := gpk.ToSlice[T](x)
	if err == nil && !slices.Equal(got, want) {
		err = fmt.Errorf("%T of %d: the array differs", want, len(want))
	}
	return err
}

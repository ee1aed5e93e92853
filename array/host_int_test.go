package array

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
)

// TestInt checks that Go's int is converted to and from Int64, dense and strided. If int
// has 32 bits, an element that does not fit is an error.
func TestInt(t *testing.T) {
	data := []int{1, -2, math.MaxInt, math.MinInt, 0, 7}
	a := FromSlice(data, 2, 3)
	if a.DType() != dtype.Int64 {
		t.Fatalf("int is stored as %v", a.DType())
	}
	wide, err := ToSlice[int64](a)
	if err != nil || len(wide) != len(data) {
		t.Fatal(wide, err)
	}
	for i, v := range wide {
		if v != int64(data[i]) {
			t.Errorf("element %d is %d, want %d", i, v, data[i])
		}
	}
	if got, err := ToSlice[int](a.T()); err != nil || !slices.Equal(got, []int{1, math.MinInt, -2, 0, math.MaxInt, 7}) {
		t.Error(got, err)
	}
	if got, err := Item[int](a.Slice(0, 1, 2).Slice(1, 2, 3)); err != nil || got != 7 {
		t.Error(got, err)
	}
	if err := FromSliceInto(a.T(), []int{6, 5, 4, 3, 2, math.MinInt}); err != nil {
		t.Fatal(err)
	}
	got := make([]int, 6)
	if err := ToSliceInto(got, a); err != nil || !slices.Equal(got, []int{6, 4, 2, 5, 3, math.MinInt}) {
		t.Error(got, err)
	}
	if b := FromSliceOn(device.Default(), []int{3}); b.DType() != dtype.Int64 {
		t.Error(b.DType())
	}
	if _, err := ToSlice[int](Ones(dtype.Int32, 2)); !errors.Is(err, dtype.ErrDType) || !strings.Contains(err.Error(), "Cast(gpk.Int64)") {
		t.Error(err)
	}
	_, err = ToSlice[int](FromSlice([]int64{1, 1 << 40}))
	if strconv.IntSize == 64 && err != nil || strconv.IntSize == 32 && (!errors.Is(err, dtype.ErrDType) || !strings.Contains(err.Error(), "element 1 is 1099511627776")) {
		t.Error(err)
	}
}

// TestUint checks that Go's uint is converted to and from Uint64, dense and strided. If
// uint has 32 bits, an element that does not fit is an error.
func TestUint(t *testing.T) {
	data := []uint{1, math.MaxUint, 0, 1 << 31, 5, 7}
	a := FromSlice(data, 2, 3)
	if a.DType() != dtype.Uint64 {
		t.Fatalf("uint is stored as %v", a.DType())
	}
	wide, err := ToSlice[uint64](a)
	if err != nil || !slices.Equal(wide, []uint64{1, math.MaxUint, 0, 1 << 31, 5, 7}) {
		t.Fatal(wide, err)
	}
	if got, err := ToSlice[uint](a.T()); err != nil || !slices.Equal(got, []uint{1, 1 << 31, math.MaxUint, 5, 0, 7}) {
		t.Error(got, err)
	}
	if err := FromSliceInto(a.T(), []uint{6, 5, 4, 3, 2, math.MaxUint}); err != nil {
		t.Fatal(err)
	}
	if got, err := Item[uint](a.Slice(0, 1, 2).Slice(1, 2, 3)); err != nil || got != math.MaxUint {
		t.Error(got, err)
	}
	if _, err := ToSlice[uint](Ones(dtype.Int64, 2)); !errors.Is(err, dtype.ErrDType) || !strings.Contains(err.Error(), "Cast(gpk.Uint64)") {
		t.Error(err)
	}
	_, err = ToSlice[uint](FromSlice([]uint64{1, 1 << 40}))
	if strconv.IntSize == 64 && err != nil || strconv.IntSize == 32 && (!errors.Is(err, dtype.ErrDType) || !strings.Contains(err.Error(), "element 1 is 1099511627776")) {
		t.Error(err)
	}
}

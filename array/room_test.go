package array

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/internal/testrand"
	"github.com/gpk-go/gpk/layout"
)

// TestToSliceTooLong checks that ToSlice of a broadcast array, which has little memory,
// is an error if its elements take more memory than there is.
func TestToSliceTooLong(t *testing.T) {
	one := FromSlice([]float64{1})
	for _, shape := range [][]int{{1 << 20, 1 << 22}, {math.MaxInt / 16}, {math.MaxInt / 64}} {
		x := one.BroadcastTo(shape...)
		if err := x.Err(); err != nil || x.Size() == 0 {
			t.Fatalf("%v: %v", shape, err)
		}
		got, err := ToSlice[float64](x)
		var op *OpError
		if got != nil || !errors.Is(err, device.ErrOutOfMemory) || !errors.As(err, &op) || op.Op != "ToSlice" {
			t.Errorf("%v: %d elements, error %v", shape, len(got), err)
		}
	}
	if got, err := ToSlice[float64](one.BroadcastTo(3, 2)); err != nil || !slices.Equal(got, []float64{1, 1, 1, 1, 1, 1}) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestToSliceRoom checks that ToSlice copies strided elements directly to the slice on
// the CPU.
func TestToSliceRoom(t *testing.T) {
	cpu, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer device.SetDefault(device.SetDefault(cpu))
	rng := testrand.New(t)
	const rows, cols = 37, 41
	data := make([]int32, rows*cols)
	for i := range data {
		data[i] = int32(rng.Uint32())
	}
	x := FromSlice(data, rows, cols)
	for name, c := range map[string]struct {
		view *Array
		at   func(i int) int
	}{
		"transposed": {x.T(), func(i int) int { return i%rows*cols + i/rows }},
		"backwards":  {x.Flip(0, 1), func(i int) int { return rows*cols - 1 - i }},
		"a part":     {x.Slice(1, 3, 11, 2), func(i int) int { return i/4*cols + 3 + i%4*2 }},
		"broadcast":  {x.Slice(0, 5, 6).BroadcastTo(100, cols), func(i int) int { return 5*cols + i%cols }},
	} {
		w := devicetest.Watch(cpu)
		got, err := ToSlice[int32](c.view)
		if n := w.Stop(); n != 0 {
			t.Errorf("%s: %d bytes of the pool on the way", name, n)
		}
		if err != nil || len(got) != c.view.Size() {
			t.Errorf("%s: %d elements, %v", name, len(got), err)
			continue
		}
		for i, v := range got {
			if v != data[c.at(i)] {
				t.Errorf("%s: element %d is %d, want %d", name, i, v, data[c.at(i)])
				break
			}
		}
	}
}

// TestPrintRoom checks that printing a large array allocates only for the elements that
// are printed.
func TestPrintRoom(t *testing.T) {
	cpu, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer device.SetDefault(device.SetDefault(cpu))
	x := Arange(dtype.Float32, 7).Reshape(7, 1, 1)
	want := fmt.Sprint(x.BroadcastTo(7, 100, 200).Clone())
	large := x.BroadcastTo(7, 1<<15, 1<<20)
	w := devicetest.Watch(cpu)
	got := fmt.Sprint(large)
	if n := w.Stop(); n > 1<<16 {
		t.Errorf("%d bytes to print an array's edges", n)
	}
	if got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
	if s := fmt.Sprintf("%+v", large); !strings.HasPrefix(s, want) {
		t.Errorf("printed\n%s", s)
	}
	for name, shape := range map[string][]int{
		"short axes": slices.Repeat([]int{6}, 12),
		"long axes":  slices.Repeat([]int{8}, 17),
	} {
		s := fmt.Sprint(FromSlice([]float32{1}).BroadcastTo(shape...))
		if !strings.Contains(s, "too many") || len(s) > 200 {
			t.Errorf("%s: printed %.300s", name, s)
		}
	}
}

// TestConcatTooLong checks Concat of lengths whose sum overflows an int.
func TestConcatTooLong(t *testing.T) {
	const long = math.MaxInt / 16
	nothing := Zeros(dtype.Int8, long, 0)
	if err := nothing.Err(); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{2, 16, 17, 33} {
		if err := Concat(0, slices.Repeat([]*Array{nothing}, n)...).Err(); !errors.Is(err, layout.ErrShape) {
			t.Errorf("%d arrays of length %d: %v", n, long, err)
		}
	}
}

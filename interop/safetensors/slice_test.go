package safetensors

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/internal/testrand"
)

// counter counts the bytes that are read from a file, and the reads.
type counter struct {
	source
	mu           sync.Mutex
	bytes, reads int64
}

func (c *counter) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.source.ReadAt(p, at)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes, c.reads = c.bytes+int64(n), c.reads+1
	return n, err
}

// axes returns up to four random lengths, a few of which are 0.
func axes(r *rand.Rand) []int {
	shape := make([]int, 1+r.IntN(4))
	for i := range shape {
		shape[i] = r.IntN(13)
	}
	return shape
}

// TestSlices loads parts of tensors of every type, axis and range, on the CPU and through the slots of a
// GPU. They equal the parts of the whole array, and no byte of another part is read.
func TestSlices(t *testing.T) {
	r := testrand.New(t)
	arrays := map[string]*gpk.Array{}
	for name, a := range reference() {
		for i := range 4 {
			arrays[fmt.Sprint(name, i)] = random(r, a.DType(), axes(r))
		}
	}
	arrays["pieces"] = random(r, gpk.Float32, []int{3, 2*slotBytes/4 + 11, 2})
	arrays["columns"] = random(r, gpk.BFloat16, []int{5000, 1001})
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := WriteFile(path, arrays, nil); err != nil {
		t.Fatal(err)
	}
	for _, dev := range []*device.Device{device.Default(), fakeGPU(1 << 30)} {
		f := opened(t, path)
		count := &counter{source: f.shards[0].f}
		f.shards[0].f = count
		for name, a := range arrays {
			for axis := range a.NDim() {
				n := a.Shape()[axis]
				start := r.IntN(n + 1)
				stop := start + r.IntN(n-start+1)
				count.bytes = 0
				got, err := f.LoadSlice(name, axis-a.NDim()*r.IntN(2), start, stop, On(dev))
				if err != nil {
					t.Fatal(err)
				}
				want := a.Slice(axis, start, stop)
				if !same(t, got, want) || got.Device() != dev {
					t.Errorf("%v: %s %v, axis %d, %d to %d: %v", dev, name, a.Shape(), axis, start, stop, got)
				}
				if count.bytes != int64(want.NBytes()) {
					t.Errorf("%s %v, axis %d, %d to %d: %d bytes were read of a part of %d", name, a.Shape(), axis, start, stop, count.bytes, want.NBytes())
				}
				got.Free()
			}
		}
	}
}

// TestSliceReads checks the number of reads: one for a range of rows, and one in each row for columns.
func TestSliceReads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := WriteFile(path, map[string]*gpk.Array{"w": gpk.Zeros(gpk.Float32, 64, 32)}, nil); err != nil {
		t.Fatal(err)
	}
	f := opened(t, path)
	count := &counter{source: f.shards[0].f}
	f.shards[0].f = count
	for _, c := range []struct {
		axis, start, stop int
		reads             int64
	}{{0, 16, 32, 1}, {1, 8, 16, 64}, {1, 0, 32, 1}, {0, 7, 7, 0}} {
		count.reads = 0
		if _, err := f.LoadSlice("w", c.axis, c.start, c.stop); err != nil || count.reads != c.reads {
			t.Errorf("%+v: %d reads, %v", c, count.reads, err)
		}
	}
}

// TestSliceErrors: parts that a tensor lacks, files that have become shorter, and shapes whose product
// does not fit a number because an axis is 0.
func TestSliceErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	write1(t, path, file(`{"a":{"dtype":"F32","shape":[4,3],"data_offsets":[0,48]},"e":{"dtype":"F4","shape":[2],"data_offsets":[48,49]},`+
		`"z":{"dtype":"U8","shape":[0,9223372036854775807,9223372036854775807],"data_offsets":[49,49]}}`, 49))
	f := opened(t, path)
	for _, c := range []struct {
		name              string
		axis, start, stop int
		is                error
		say               string
	}{
		{"a", 2, 0, 1, gpk.ErrShape, "axis 2 of an array with 2 dimensions"},
		{"a", -3, 0, 1, gpk.ErrShape, "axis -3"},
		{"a", 1, 2, 4, gpk.ErrShape, "the range 2:4 along axis 1 of [4 3]"},
		{"a", 0, -1, 2, gpk.ErrShape, "the range -1:2"},
		{"a", 0, 3, 2, gpk.ErrShape, "the range 3:2"},
		{"e", 0, 0, 1, gpk.ErrDType, "gpk has no F4"},
		{"b", 0, 0, 1, fs.ErrNotExist, `no tensor "b"`},
	} {
		a, err := f.LoadSlice(c.name, c.axis, c.start, c.stop)
		if a != nil || !errors.Is(err, c.is) || !contains(err, c.say, "x.safetensors") {
			t.Errorf("%+v: %v, %v", c, a, err)
		}
	}
	if _, err := f.LoadSlice("a", 0, 0, 1, Only("a")); !errors.Is(err, gpk.ErrUnsupported) {
		t.Error(err)
	}
	if _, err := f.LoadSlice("z", 1, math.MaxInt-1, math.MaxInt); err != nil && !errors.Is(err, gpk.ErrShape) {
		t.Errorf("of nothing: %v", err)
	}
	before := devicetest.InUse(t, device.Default())
	if err := os.Truncate(path, f.shards[0].head.start+30); err != nil {
		t.Fatal(err)
	}
	if a, err := f.LoadSlice("a", 0, 0, 2); err != nil || !slices.Equal(a.Shape(), []int{2, 3}) {
		t.Errorf("the part that is left: %v, %v", a, err)
	} else {
		a.Free()
	}
	if _, err := f.LoadSlice("a", 1, 0, 1); !errors.Is(err, ErrFormat) || !contains(err, "was longer") {
		t.Errorf("the part that is gone: %v", err)
	}
	if now := device.Default().Pool().InUse; now != before {
		t.Errorf("%d bytes are in use, %d were", now, before)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := f.LoadSlice("a", 0, 0, 1); !errors.Is(err, gpk.ErrFreed) {
		t.Error(err)
	}
}

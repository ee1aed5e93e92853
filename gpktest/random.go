package gpktest

import (
	"errors"
	"hash/fnv"
	"math"
	"sync"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/arraytest"
)

// digest returns the FNV-1a hash of the bytes of an array's elements.
func digest(t *testing.T, a *gpk.Array) uint64 {
	t.Helper()
	h := fnv.New64a()
	h.Write(arraytest.Bytes(t, a))
	return h.Sum64()
}

// The elements of a sequence of calls, by their digests: they are the same on
// every device, and stay so from version to version.
var randomGolden = []struct {
	method string
	dt     gpk.DType
	a, b   float64
	shape  []int
	want   uint64
}{
	{"Uniform", gpk.Float32, -1, 1, []int{1000, 1003}, 0x33ae48d9af4c4872},
	{"Uniform", gpk.Float16, 0, 1, []int{100003}, 0x321f0b6cda99135d},
	{"Uniform", gpk.BFloat16, 1, 3, []int{17, 1001}, 0x6041291799fbd4ad},
	{"Uniform", gpk.Float64, 0.1, 0.3, []int{100001}, 0xc5ca7284c12b5d09},
	{"Uniform", gpk.Complex64, -1, 1, []int{5003}, 0x9bb05affe689fe0d},
	{"Uniform", gpk.Complex128, -1, 1, []int{5003}, 0x271c6e60621aae3a},
	{"Uniform", gpk.Int8, -128, 128, []int{10001}, 0xd4aba7764b3560a6},
	{"Uniform", gpk.Uint8, 3, 200, []int{10001}, 0x80d001ecd03b1a1f},
	{"Uniform", gpk.Int32, -5, 1 << 31, []int{10001}, 0x60825578ef91d595},
	{"Uniform", gpk.Int64, -0x1p63, 0x1p63, []int{10001}, 0x2ff0535430280bd5},
	{"Normal", gpk.Float32, 0, 1, []int{1000, 1003}, 0xa4277dedeeef300a},
	{"Normal", gpk.Float16, 0.5, 2, []int{100003}, 0xb1e7b92bb502ff09},
	{"Normal", gpk.BFloat16, 0, 0.02, []int{17, 1001}, 0x9e2b8e60434ac06d},
	{"Normal", gpk.Float64, -3, 0.1, []int{1000003}, 0xfd561f98e66dcf5f},
}

// testRandom compares the sequences with values that are the same on every device, and
// tries shapes, views and invalid arguments.
func testRandom(t *testing.T, s *suite) {
	r := gpk.NewRNG(0x0123_4567_89ab_cdef)
	methods := map[string]func(dt gpk.DType, a, b float64, shape ...int) *gpk.Array{"Uniform": r.Uniform, "Normal": r.Normal}
	for _, c := range randomGolden {
		x := methods[c.method](c.dt, c.a, c.b, c.shape...)
		if got := digest(t, x); x.DType() != c.dt || got != c.want {
			t.Errorf("%s %v: %v with digest %#016x, want %#016x", c.method, c.dt, x.DType(), got, c.want)
		}
	}
	// Each call continues the sequence where the previous one ended, in any shape.
	one, two := gpk.NewRNG(7), gpk.NewRNG(7)
	long := read(t, one.Normal(gpk.Float32, 0, 1, 4000))
	first, second := read(t, two.Normal(gpk.Float32, 0, 1, 10, 200)), read(t, two.Normal(gpk.Float32, 0, 1, 2000))
	for i, v := range append(first.values, second.values...) {
		if v != long.values[i] {
			t.Fatalf("number %d in two calls is %v, in one %v", i, v, long.values[i])
		}
	}
	// Pending arrays have the elements of their place in the sequence, whenever and
	// wherever they start.
	one, two = gpk.NewRNG(8), gpk.NewRNG(8)
	a, b := one.Uniform(gpk.Float32, 0, 1, 33), one.Normal(gpk.Float64, 0, 1, 33)
	c, d := two.Uniform(gpk.Float32, 0, 1, 33), two.Normal(gpk.Float64, 0, 1, 33)
	yb, yd := digest(t, b), digest(t, d)
	big := gpk.Full(gpk.Float32, math.NaN(), 3, 34)
	part := big.Slice(0, 1, 2).Slice(1, 1, 34).Reshape(33) // dense, and not aligned
	if err := gpk.Into(part, a); err != nil {
		t.Fatal(err)
	}
	if x := digest(t, c); yb != yd || digest(t, part) != x || digest(t, a) != x {
		t.Error("the order of starting changes the numbers")
	}
	for i, v := range read(t, big).values {
		if inside := i > 34 && i < 68; inside == math.IsNaN(real(v)) {
			t.Errorf("element %d of the array around is %v", i, v)
		}
	}
	if n := len(read(t, one.Normal(gpk.Float32, 0, 1, 0, 5)).values); n != 0 {
		t.Errorf("%d elements", n)
	}
	if _, err := gpk.Item[float32](one.Uniform(gpk.Float32, 0, 1)); err != nil {
		t.Error(err)
	}
	for what, c := range map[string]struct {
		a    *gpk.Array
		want error
	}{
		"normal integers":     {one.Normal(gpk.Int32, 0, 1, 3), gpk.ErrDType},
		"normal complex":      {one.Normal(gpk.Complex64, 0, 1, 3), gpk.ErrDType},
		"uniform Bool":        {one.Uniform(gpk.Bool, 0, 1, 3), gpk.ErrDType},
		"a fraction":          {one.Uniform(gpk.Int8, 0.5, 3, 3), gpk.ErrDType},
		"beyond the type":     {one.Uniform(gpk.Int8, 0, 129, 3), gpk.ErrDType},
		"beyond float16":      {one.Uniform(gpk.Float16, 0, 1e6, 3), gpk.ErrDType},
		"wider than float32":  {one.Uniform(gpk.Float32, -3e38, 3e38, 3), gpk.ErrDType},
		"nothing between":     {one.Uniform(gpk.Float32, 1, 1, 3), gpk.ErrUnsupported},
		"nothing in the type": {one.Uniform(gpk.Float16, 1, 1.0001, 3), gpk.ErrUnsupported},
		"no number":           {one.Uniform(gpk.Float32, 0, math.NaN(), 3), gpk.ErrNonFinite},
		"an infinite mean":    {one.Normal(gpk.Float32, math.Inf(1), 1, 3), gpk.ErrNonFinite},
		"a shape":             {one.Normal(gpk.Float32, 0, 1, -3), gpk.ErrShape},
		"a type":              {one.Normal(gpk.DType(77), 0, 1, 3), gpk.ErrDType},
		"another type":        {one.Uniform(gpk.DType(77), 0, 1, 3), gpk.ErrDType},
	} {
		if err := c.a.Err(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
	}
	// Goroutines share a sequence: together they get each number once.
	shared, alone := gpk.NewRNG(9), gpk.NewRNG(9)
	const calls, each = 8, 400
	seen := map[complex128]int{}
	var mu sync.Mutex
	var group sync.WaitGroup
	for range calls {
		group.Go(func() {
			x, err := gpk.ToSlice[float64](shared.Uniform(gpk.Float64, 0, 1, each))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, v := range x {
				seen[complex(v, 0)]++
			}
		})
	}
	group.Wait()
	for _, v := range read(t, alone.Uniform(gpk.Float64, 0, 1, calls*each)).values {
		if seen[v]--; seen[v] != 0 {
			t.Fatalf("%v came %d times too often", v, seen[v])
		}
	}
}

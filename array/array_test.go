package array

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/weaklist"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/matmul"
)

// TestSite checks that an error names the program's line that called the operation, as a
// method or as a function.
func TestSite(t *testing.T) {
	a, b := Zeros(dtype.Float32, 2, 3), Zeros(dtype.Float32, 2)
	line := func(x *Array) string {
		var oe *OpError
		if !errors.As(x.Err(), &oe) {
			t.Fatalf("%v is no OpError", x.Err())
		}
		return oe.Site
	}
	method, function := a.Add(b), Binary(expr.Add, a, b)
	product := a.MatMul(b)
	bias := Linear(a, a, Zeros(dtype.Float32, 5), matmul.NoActivation)
	for i, s := range []string{line(method), line(function), line(product), line(bias)} {
		want := []string{"array_test.go:28", "array_test.go:28", "array_test.go:29", "array_test.go:30"}[i]
		if !strings.HasSuffix(s, want) {
			t.Errorf("site %d is %s, want %s", i, s, want)
		}
	}
}

func TestScalar(t *testing.T) {
	type mine float32
	for _, c := range []struct {
		d    dtype.DType
		v    any
		want uint64
		bad  bool
	}{
		{dtype.Int8, 127, 127, false},
		{dtype.Int8, -128, ^uint64(127), false},
		{dtype.Int8, 128, 0, true},
		{dtype.Uint8, uint16(255), 255, false},
		{dtype.Uint8, -1, 0, true},
		{dtype.Int64, uint64(math.MaxUint64), 0, true},
		{dtype.Int64, float64(1 << 62), 1 << 62, false},
		{dtype.Int64, 0x1p63, 0, true},
		{dtype.Int32, 1.5, 0, true},
		{dtype.Int32, math.NaN(), 0, true},
		{dtype.Float32, mine(1.5), 0x3fc00000, false},
		{dtype.Float32, 1i, 0, true},
		{dtype.Float32, "1", 0, true},
		{dtype.Float32, nil, 0, true},
		{dtype.Float32, true, 0, true},
		{dtype.Bool, true, 1, false},
		{dtype.Bool, 2, 0, true},
		{dtype.Float16, 1 + 0x1p-11 + 0x1p-40, 0x3c01, false}, // above the tie: one rounding, not two
		{dtype.Float16, 1 + 0x1p-11, 0x3c00, false},
		{dtype.BFloat16, 1 + 0x1p-8 + 0x1p-50, 0x3f81, false},
		{dtype.Complex64, 2, 0x40000000, false},
	} {
		got, err := scalar(c.d, c.v)
		if (err != nil) != c.bad || got[0] != c.want {
			t.Errorf("%v of %v (%T): %#x, %v", c.d, c.v, c.v, got[0], err)
		}
		if err != nil && !errors.Is(err, dtype.ErrDType) {
			t.Errorf("%v of %v: %v", c.d, c.v, err)
		}
	}
}

// TestPendingLimit checks that the oldest of more than 64 pending arrays starts, and that
// arrays computed into another one do not count and are not computed again.
func TestPendingLimit(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	a := Ones(dtype.Float32, 4)
	var kept []*Array
	for range weaklist.Max + 10 {
		kept = append(kept, a.Add(1))
	}
	started := 0
	for _, x := range kept {
		if !x.isPending() {
			started++
		}
	}
	if started < 10 || !kept[len(kept)-1].isPending() {
		t.Errorf("%d of %d have started", started, len(kept))
	}
	dst := Zeros(dtype.Float32, 4)
	var taken []*Array
	for range 3 * weaklist.Max {
		x := a.Mul(2)
		if err := Into(dst, x); err != nil {
			t.Fatal(err)
		}
		taken = append(taken, x)
	}
	for i, x := range taken {
		if !x.isPending() {
			t.Fatalf("taken array %d was stored", i)
		}
	}
}

// TestEager checks that with GPK_EAGER every operation starts on its line.
func TestEager(t *testing.T) {
	defer eager.Store(eager.Swap(true))
	if Ones(dtype.Float32, 2).Add(1).isPending() {
		t.Error("a pending array")
	}
}

// TestBrokenDefault checks that all operations on a device that cannot be opened return
// its error.
func TestBrokenDefault(t *testing.T) {
	_, err := device.Open("cuda:63")
	if err == nil {
		t.Fatal("64 GPUs")
	}
	a := failedArray((&call{name: "x"}).wrap(err)).Add(1).T()
	if got := a.Err(); !errors.Is(got, device.ErrNoGPU) && !errors.Is(got, device.ErrDevice) {
		t.Error(got)
	}
	if a.Shape() != nil || a.Size() != 0 || a.Device() != nil || a.DType() != dtype.Invalid || a.Explain() == "" {
		t.Error("a failed array pretends to have elements")
	}
	a.Free()
}

func TestFromBuffer(t *testing.T) {
	d, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	buf, err := d.Alloc(16, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := FromBuffer(buf, dtype.Float32, 2, 2)
	if err := Into(a, Ones(dtype.Float32, 2, 2).To(d)); err != nil {
		t.Fatal(err)
	}
	if b, err := a.Buffer(); err != nil || b != buf {
		t.Errorf("another buffer, %v", err)
	}
	if err := FromBuffer(buf, dtype.Float32, 5).Err(); !errors.Is(err, layout.ErrShape) {
		t.Error(err)
	}
}

// TestOneBuffer checks that two arrays over one piece of foreign memory behave like views
// of one array when they are written.
func TestOneBuffer(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	x := FromSlice([]float32{1, 2, 3, 4, 5, 6, 7, 8})
	buf, err := x.Buffer()
	if err != nil {
		t.Fatal(err)
	}
	a, b := FromBuffer(buf, dtype.Float32, 8), FromBuffer(buf, dtype.Float32, 8)
	if err := Into(b.Slice(0, 1, 8), a.Slice(0, 0, 7).Add(0)); err != nil {
		t.Fatal(err)
	}
	wants(t, x, 1, 1, 2, 3, 4, 5, 6, 7)
}

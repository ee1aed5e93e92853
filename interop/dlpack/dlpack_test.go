//go:build cgo && (amd64 || arm64)

package dlpack

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/arraytest"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/interop/dlpack/internal/peer"
)

// export returns an array's struct as the peer sees it.
func exported(t *testing.T, a *gpk.Array, versioned bool) peer.Received {
	t.Helper()
	to := ToManaged
	if versioned {
		to = ToVersioned
	}
	p, err := to(a)
	if err != nil {
		t.Fatal(err)
	}
	return peer.Received{Pointer: p, Versioned: versioned}
}

// indices returns every index of a shape in order.
func indices(shape []int) [][]int64 {
	out := [][]int64{{}}
	for _, d := range shape {
		var next [][]int64
		for _, index := range out {
			for i := range d {
				next = append(next, append(slices.Clone(index), int64(i)))
			}
		}
		out = next
	}
	return out
}

// names has the code and the number of bits that DLPack's specification gives each type.
var names = map[gpk.DType][2]uint8{
	gpk.Int8: {0, 8}, gpk.Int32: {0, 32}, gpk.Int64: {0, 64}, gpk.Uint8: {1, 8}, gpk.Float16: {2, 16}, gpk.Float32: {2, 32},
	gpk.Int16: {0, 16}, gpk.Uint16: {1, 16}, gpk.Uint32: {1, 32}, gpk.Uint64: {1, 64},
	gpk.Float64: {2, 64}, gpk.BFloat16: {4, 16}, gpk.Complex64: {5, 64}, gpk.Complex128: {5, 128}, gpk.Bool: {6, 8},
}

// TestOut checks that C reads the tensors that gpk exports, of every type and with
// strides, in both structs.
func TestOut(t *testing.T) {
	devicetest.DefaultCPU(t)
	for _, dt := range dtype.All {
		x := gpk.Arange(gpk.Int64, 2*3*5).Mul(7).Sub(60).Cast(dt).Reshape(2, 3, 5)
		for name, a := range map[string]*gpk.Array{
			"dense": x, "transposed": x.T(), "slice": x.Slice(2, 1, 5, 2), "flipped": x.Slice(0, 1, -3, -1), "0-d": x.At(1, 2, 3),
			"broadcast": x.Slice(1, 1, 2).BroadcastTo(2, 4, 5), "empty": x.Slice(1, 1, 1), "pending": x.Eq(x).Cast(dt),
		} {
			for _, versioned := range []bool{false, true} {
				want := arraytest.Bytes(t, a)
				r := exported(t, a, versioned)
				d := r.Describe()
				if d.Code != names[dt][0] || d.Bits != names[dt][1] || d.Lanes != 1 || d.Device != 1 {
					t.Errorf("%v %s: type %d of %d bits, %d lanes, device %d", dt, name, d.Code, d.Bits, d.Lanes, d.Device)
				}
				if versioned && (d.Major != 1 || d.Flags != 0) {
					t.Errorf("%v %s: version %d, flags %d", dt, name, d.Major, d.Flags)
				}
				var got []byte
				for _, index := range indices(a.Shape()) {
					got = append(got, r.Element(index...)...)
				}
				if !bytes.Equal(got, want) || len(d.Shape) != a.NDim() {
					t.Errorf("%v %s %v: % x, want % x", dt, name, d.Shape, got, want)
				}
				r.Delete()
			}
		}
	}
}

// TestShared checks that both sides see each other's writes, and that the memory outlives
// Free until the deleter is called. Then it returns to the pool.
func TestShared(t *testing.T) {
	devicetest.DefaultCPU(t)
	const n = 1 << 20 // large enough for memory of the pool
	a := gpk.Ones(gpk.Float64, n)
	if err := gpk.Eval(a); err != nil {
		t.Fatal(err)
	}
	r := exported(t, a, true)
	if err := a.AddInPlace(2); err != nil {
		t.Fatal(err)
	}
	read := func(i int64) float64 { return *(*float64)(unsafe.Pointer(unsafe.SliceData(r.Element(i)))) }
	if read(0) != 3 || read(n-1) != 3 {
		t.Errorf("C reads %v and %v after gpk has written 3", read(0), read(n-1))
	}
	*(*float64)(unsafe.Pointer(unsafe.SliceData(r.Element(5)))) = 42
	if v, err := gpk.Item[float64](a.At(5)); err != nil || v != 42 {
		t.Errorf("gpk reads %v after C has written 42: %v", v, err)
	}
	used := device.Default().Pool().InUse
	a.Free()
	other := gpk.Full(gpk.Float64, -1, n)
	if err := gpk.Eval(other); err != nil {
		t.Fatal(err)
	}
	if read(0) != 3 || read(5) != 42 || read(n-1) != 3 {
		t.Errorf("C reads %v, %v, %v after Free", read(0), read(5), read(n-1))
	}
	other.Free()
	r.Delete()
	if p := device.Default().Pool(); p.InUse >= used || p.Exposed != 0 {
		t.Errorf("%d bytes in use after the deleter, %d before; %d are exposed", p.InUse, used, p.Exposed)
	}
}

// TestIn: gpk reads tensors of C, and deletes each of them once.
func TestIn(t *testing.T) {
	devicetest.DefaultCPU(t)
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	before, made := peer.Deletions(), 0
	for range 300 {
		dt := dtype.All[r.IntN(len(dtype.All))]
		size := dt.Size()
		x := peer.Tensor{Versioned: r.IntN(2) == 0, Major: 1, Device: 1 + 2*r.IntN(2), Code: names[dt][0], Bits: names[dt][1], Lanes: 1}
		elements, origin, unit := 1, 0, 1
		for range r.IntN(4) {
			d, gap := 1+r.IntN(4), 1+r.IntN(2)
			stride := unit * gap
			if d > 1 && r.IntN(3) == 0 {
				origin += (d - 1) * stride
				stride = -stride
			}
			elements += (d - 1) * unit * gap
			unit *= d * gap
			x.Shape, x.Strides = append(x.Shape, int64(d)), append(x.Strides, int64(stride))
		}
		if x.Strides == nil {
			x.Strides = []int64{}
		}
		if r.IntN(5) == 0 { // no strides, which means dense rows
			x.Strides, origin, elements = nil, 0, 1
			for _, d := range x.Shape {
				elements *= int(d)
			}
		}
		x.Offset, x.Flags = uint64(r.IntN(3)*size), 0
		if x.Versioned {
			x.Flags = uint64(r.IntN(2)) // may not be written
		}
		x.Origin = origin * size
		x.Bytes = make([]byte, elements*size)
		for i := range x.Bytes {
			x.Bytes[i] = byte(r.IntN(2)) // a bool is 0 or 1
		}
		shape := make([]int, len(x.Shape))
		for i, d := range x.Shape {
			shape[i] = int(d)
		}
		strides := x.Strides
		if strides == nil {
			strides = make([]int64, len(shape))
			for i, n := len(shape)-1, int64(1); i >= 0; i-- {
				strides[i] = n
				n *= x.Shape[i]
			}
		}
		var want []byte
		for _, index := range indices(shape) {
			at := int64(x.Origin)
			for i := range index {
				at += index[i] * strides[i] * int64(size)
			}
			want = append(want, x.Bytes[at:][:size]...)
		}
		made++
		from := FromManaged
		if x.Versioned {
			from = FromVersioned
		}
		a := from(peer.Make(x))
		if err := a.Err(); err != nil {
			t.Fatalf("seed %d: %+v: %v", seed, x, err)
		}
		if got := arraytest.Bytes(t, a); !bytes.Equal(got, want) || !slices.Equal(a.Shape(), shape) || a.DType() != dt {
			t.Fatalf("seed %d: %+v: %v %v % x, want % x", seed, x, a.DType(), a.Shape(), got, want)
		}
		a.Free()
		a.Free()
		if d := peer.Deletions() - before; d != made {
			t.Fatalf("seed %d: %d of %d tensors were deleted after Free", seed, d, made)
		}
	}
}

// TestDropped: a tensor whose array is dropped is deleted after a collection.
func TestDropped(t *testing.T) {
	devicetest.DefaultCPU(t)
	before := peer.Deletions()
	func() {
		a := FromManaged(peer.Make(peer.Tensor{Device: 1, Code: 2, Bits: 32, Lanes: 1, Shape: []int64{2}, Bytes: make([]byte, 8)}))
		if err := gpk.Eval(a.Add(1)); err != nil {
			t.Fatal(err)
		}
	}()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		runtime.GC()
		deviceapi.Collect(device.Default())
		if peer.Deletions() > before {
			return
		}
	}
	t.Error("the tensor was not deleted")
}

// TestReadOnly: memory that must not be written is copied.
func TestReadOnly(t *testing.T) {
	devicetest.DefaultCPU(t)
	before := peer.Deletions()
	one := binary.NativeEndian.AppendUint64(nil, 1)
	a := FromVersioned(peer.Make(peer.Tensor{Versioned: true, Major: 1, Flags: 1, Device: 1, Code: 0, Bits: 64, Lanes: 1, Shape: []int64{1}, Bytes: one}))
	if peer.Deletions() != before+1 {
		t.Error("the tensor was not deleted after its elements were copied")
	}
	if err := a.AddInPlace(1); err != nil {
		t.Fatal(err)
	}
	if v, err := gpk.Item[int64](a); v != 2 || err != nil {
		t.Error(v, err)
	}
}

// TestRefused checks that a tensor that gpk cannot represent is an error that names the
// line, and is deleted.
func TestRefused(t *testing.T) {
	devicetest.DefaultCPU(t)
	good := peer.Tensor{Device: 1, Code: 2, Bits: 32, Lanes: 1, Shape: []int64{2, 3}, Bytes: make([]byte, 64)}
	for name, c := range map[string]struct {
		change func(*peer.Tensor)
		want   error
		text   string
	}{
		"a type":        {func(x *peer.Tensor) { x.Code, x.Bits = 1, 128 }, gpk.ErrDType, "code 1, 128 bits"},
		"lanes":         {func(x *peer.Tensor) { x.Lanes = 4 }, gpk.ErrDType, "4 lanes"},
		"a device":      {func(x *peer.Tensor) { x.Device = 10 }, gpk.ErrDevice, "device type 10"},
		"a length":      {func(x *peer.Tensor) { x.Shape = []int64{2, -1} }, gpk.ErrShape, "length -1"},
		"a huge size":   {func(x *peer.Tensor) { x.Shape = []int64{1 << 62, 1 << 62} }, gpk.ErrShape, ""},
		"a huge stride": {func(x *peer.Tensor) { x.Strides = []int64{1 << 62, 1} }, gpk.ErrShape, "more bytes"},
		"least stride":  {func(x *peer.Tensor) { x.Strides = []int64{-1 << 63, 1} }, gpk.ErrShape, "more bytes"},
		"an alignment":  {func(x *peer.Tensor) { x.Origin = 1 }, gpk.ErrUnsupported, "multiple of 4 bytes"},
		"an offset":     {func(x *peer.Tensor) { x.Offset = 1 << 63 }, gpk.ErrShape, ""},
		"a version":     {func(x *peer.Tensor) { x.Versioned, x.Major = true, 2 }, gpk.ErrUnsupported, "DLPack 2.0"},
	} {
		x, before := good, peer.Deletions()
		c.change(&x)
		from := FromManaged
		if x.Versioned {
			from = FromVersioned
		}
		err := from(peer.Make(x)).Err()
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), "dlpack_test.go") {
			t.Errorf("%s: %v", name, err)
		}
		if peer.Deletions() != before+1 {
			t.Errorf("%s: the tensor was deleted %d times", name, peer.Deletions()-before)
		}
	}
	if err := FromManaged(nil).Err(); !errors.Is(err, gpk.ErrShape) {
		t.Error(err)
	}
	if err := FromVersioned(nil).Err(); !errors.Is(err, gpk.ErrShape) {
		t.Error(err)
	}
	for _, to := range []func(*gpk.Array) (unsafe.Pointer, error){ToManaged, ToVersioned} {
		if _, err := to(gpk.Ones(gpk.Float32, 2).Add(gpk.Ones(gpk.Float32, 3))); !errors.Is(err, gpk.ErrShape) {
			t.Error(err)
		}
		if _, err := to(nil); err == nil {
			t.Error("nil has been lent")
		}
	}
	DeleteManaged(nil)
	DeleteVersioned(nil)
}

// TestRoundTrip checks that gpk imports its own exported tensors, and that both arrays
// share one memory.
func TestRoundTrip(t *testing.T) {
	devicetest.DefaultCPU(t)
	a := gpk.Arange(gpk.Float32, 6).Reshape(2, 3)
	p, err := ToVersioned(a.T())
	if err != nil {
		t.Fatal(err)
	}
	b := FromVersioned(p)
	if err := b.MulInPlace(2); err != nil {
		t.Fatal(err)
	}
	got, err := gpk.ToSlice[float32](a)
	if err != nil || !slices.Equal(got, []float32{0, 2, 4, 6, 8, 10}) {
		t.Error(got, err)
	}
	a.Free()
	if got, err := gpk.ToSlice[float32](b); err != nil || !slices.Equal(got, []float32{0, 6, 2, 8, 4, 10}) {
		t.Error(got, err)
	}
	b.Free()
	for _, del := range []struct {
		to     func(*gpk.Array) (unsafe.Pointer, error)
		delete func(unsafe.Pointer)
	}{{ToManaged, DeleteManaged}, {ToVersioned, DeleteVersioned}} {
		p, err := del.to(gpk.Ones(gpk.Int8))
		if err != nil {
			t.Fatal(err)
		}
		del.delete(p)
	}
}

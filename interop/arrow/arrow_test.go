package arrow

import (
	"bytes"
	"errors"
	"maps"
	"math/rand/v2"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	apache "github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowfloat16 "github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/tensor"
	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/arraytest"
	"github.com/gpk-go/gpk/internal/niltest"
	"github.com/x448/float16"
)

// held are the types that both have. A maker returns an Arrow array of numbers that bits gives, and
// the same as a slice of Go.
var held = map[gpk.DType]func(bits []int64) (apache.Array, any){
	gpk.Float32: maker(array.NewFloat32Builder, func(v int64) float32 { return float32(v) }),
	gpk.Float64: maker(array.NewFloat64Builder, func(v int64) float64 { return float64(v) }),
	gpk.Float16: func(bits []int64) (apache.Array, any) {
		b := array.NewFloat16Builder(memory.DefaultAllocator)
		s := convert(bits, func(v int64) float16.Float16 { return float16.Fromfloat32(float32(int8(v))) })
		for _, v := range s {
			b.Append(arrowfloat16.New(v.Float32()))
		}
		return b.NewArray(), s
	},
	gpk.Int8:   maker(array.NewInt8Builder, func(v int64) int8 { return int8(v) }),
	gpk.Uint8:  maker(array.NewUint8Builder, func(v int64) uint8 { return uint8(v) }),
	gpk.Int16:  maker(array.NewInt16Builder, func(v int64) int16 { return int16(v) }),
	gpk.Uint16: maker(array.NewUint16Builder, func(v int64) uint16 { return uint16(v) }),
	gpk.Int32:  maker(array.NewInt32Builder, func(v int64) int32 { return int32(v) }),
	gpk.Uint32: maker(array.NewUint32Builder, func(v int64) uint32 { return uint32(v) }),
	gpk.Int64:  maker(array.NewInt64Builder, func(v int64) int64 { return v }),
	gpk.Uint64: maker(array.NewUint64Builder, func(v int64) uint64 { return uint64(v) }),
	gpk.Bool:   maker(array.NewBooleanBuilder, func(v int64) bool { return v < 0 }),
}

// builder is the common interface of Arrow's builders of elements of type T.
type builder[T any] interface {
	AppendValues(v []T, valid []bool)
	NewArray() apache.Array
}

func maker[T any, B builder[T]](builder func(memory.Allocator) B, f func(int64) T) func(bits []int64) (apache.Array, any) {
	return func(bits []int64) (apache.Array, any) {
		b, s := builder(memory.DefaultAllocator), convert(bits, f)
		b.AppendValues(s, nil)
		return b.NewArray(), s
	}
}

func convert[T any](from []int64, f func(int64) T) []T {
	to := make([]T, len(from))
	for i, v := range from {
		to[i] = f(v)
	}
	return to
}

// random returns an Arrow array of n elements of a type, and the same as a slice of Go.
func random(r *rand.Rand, dt gpk.DType, n int) (apache.Array, any) {
	bits := make([]int64, n)
	for i := range bits {
		bits[i] = int64(r.Uint64())
	}
	return held[dt](bits)
}

// TestArrays converts arrays and slices of them in both directions, for every type.
func TestArrays(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 3))
	for _, dt := range slices.Sorted(maps.Keys(held)) { // in one order, so that a seed gives the same numbers again
		for _, n := range []int{0, 1, 7, 64, 1001} {
			x, want := random(r, dt, n)
			a := FromArray(x)
			if a.DType() != dt || !slices.Equal(a.Shape(), []int{n}) || !reflect.DeepEqual(arraytest.Slice(t, a), want) {
				t.Errorf("seed %d: %v %d: %v", seed, dt, n, a)
			}
			y, err := ToArray(a)
			if err != nil || !array.Equal(x, y) {
				t.Errorf("seed %d: %v %d: %v, want %v: %v", seed, dt, n, y, x, err)
			}
			if n > 5 {
				part := array.NewSlice(x, 3, int64(n-1))
				if got := arraytest.Slice(t, FromArray(part)); !reflect.DeepEqual(got, reflect.ValueOf(want).Slice(3, n-1).Interface()) {
					t.Errorf("seed %d: slice of %v %d: %v", seed, dt, n, got)
				}
				flipped, err := ToArray(a.Flip())
				if err != nil || flipped.ValueStr(0) != x.ValueStr(n-1) || flipped.ValueStr(n-1) != x.ValueStr(0) {
					t.Errorf("seed %d: %v %d flipped: %v", seed, dt, n, err)
				}
			}
		}
	}
}

// TestTensors converts tensors of row-major, column-major and other strides through Arrow's own
// reader and writer.
func TestTensors(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 4))
	for _, dt := range []gpk.DType{gpk.Float32, gpk.Float64, gpk.Int8, gpk.Uint8, gpk.Int32, gpk.Int64} {
		x, _ := random(r, dt, 24)
		a := FromArray(x).Reshape(2, 3, 4)
		names := []string{"a", "b", "c"}
		y, err := ToTensor(a.Clone(), names...)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(y.Shape(), []int64{2, 3, 4}) || !y.IsRowMajor() || !slices.Equal(y.DimNames(), names) {
			t.Errorf("%v: %v %v %v", dt, y.Shape(), y.Strides(), y.DimNames())
		}
		var file bytes.Buffer
		w := ipc.NewWriter(&file, ipc.WithSchema(apache.NewSchema([]apache.Field{{Name: "x", Type: x.DataType()}}, nil)))
		record := array.NewRecordBatch(apache.NewSchema([]apache.Field{{Name: "x", Type: x.DataType()}}, nil), []apache.Array{x}, 24)
		if err := errors.Join(w.Write(record), w.Close()); err != nil {
			t.Fatal(err)
		}
		reader, err := ipc.NewReader(&file)
		if err != nil || !reader.Next() {
			t.Fatal(err)
		}
		if got := arraytest.Slice(t, FromArray(reader.RecordBatch().Column(0))); !reflect.DeepEqual(got, arraytest.Slice(t, a.Reshape(-1))) {
			t.Errorf("seed %d: %v through a file: %v", seed, dt, got)
		}
		size := int64(dt.Size())
		for name, c := range map[string]struct {
			shape, strides []int64
			want           *gpk.Array
		}{
			"row-major":    {[]int64{2, 3, 4}, nil, a},
			"column-major": {[]int64{4, 3, 2}, []int64{size, 4 * size, 12 * size}, a.Transpose(2, 1, 0)},
			"every second": {[]int64{2, 3, 2}, []int64{12 * size, 4 * size, 2 * size}, a.Slice(2, 0, 4, 2)},
			"repeated":     {[]int64{5, 4}, []int64{0, size}, a.At(0, 0).BroadcastTo(5, 4)},
			"0-d":          {[]int64{}, nil, a.At(0, 0, 0)},
			"empty":        {[]int64{2, 0}, nil, a.Slice(1, 0, 0).Reshape(2, 0)},
		} {
			z := FromTensor(tensor.New(x.Data(), c.shape, c.strides, nil))
			if z.Err() != nil || !slices.Equal(z.Shape(), c.want.Shape()) || !reflect.DeepEqual(arraytest.Slice(t, z), arraytest.Slice(t, c.want)) {
				t.Errorf("seed %d: %v %s: %v, want %v", seed, dt, name, z, c.want)
			}
		}
		back := FromTensor(y)
		if !reflect.DeepEqual(arraytest.Slice(t, back), arraytest.Slice(t, a)) {
			t.Errorf("seed %d: %v there and back: %v", seed, dt, back)
		}
	}
}

// TestRefused checks that a value that one side cannot represent is an error that names the line.
func TestRefused(t *testing.T) {
	b := array.NewInt32Builder(memory.DefaultAllocator)
	b.AppendNull()
	b.Append(1)
	u := array.NewDate32Builder(memory.DefaultAllocator)
	u.Append(1)
	f := array.NewFloat32Builder(memory.DefaultAllocator)
	f.AppendValues(make([]float32, 6), nil)
	six := f.NewArray()
	out := func(f func(*gpk.Array) (apache.Array, error), a *gpk.Array) error { _, err := f(a); return err }
	outTensor := func(a *gpk.Array, names ...string) error { _, err := ToTensor(a, names...); return err }
	for name, c := range map[string]struct {
		got, want error
		text      string
	}{
		"nulls":            {FromArray(b.NewArray()).Err(), gpk.ErrUnsupported, "1 of 2 elements are null"},
		"a date":           {FromArray(u.NewArray()).Err(), gpk.ErrDType, "date32"},
		"nothing":          {FromArray(nil).Err(), gpk.ErrDType, "nil"},
		"no tensor":        {FromTensor(nil).Err(), gpk.ErrDType, "nil"},
		"too large":        {FromTensor(tensor.New(six.Data(), []int64{7}, nil, nil)).Err(), gpk.ErrShape, ""},
		"outside":          {FromTensor(tensor.New(six.Data(), []int64{2, 3}, []int64{16, 4}, nil)).Err(), gpk.ErrShape, ""},
		"negative":         {FromTensor(tensor.New(six.Data(), []int64{3}, []int64{-4}, nil)).Err(), gpk.ErrShape, ""},
		"between elements": {FromTensor(tensor.New(six.Data(), []int64{3}, []int64{6}, nil)).Err(), gpk.ErrUnsupported, "stride of 6 bytes"},
		"two axes":         {out(ToArray, gpk.Ones(gpk.Float32, 2, 3)), gpk.ErrShape, "ToTensor"},
		"complex":          {out(ToArray, gpk.Ones(gpk.Complex64, 2)), gpk.ErrDType, "complex64"},
		"an error":         {out(ToArray, gpk.Ones(gpk.Int8, 2).Add(gpk.Ones(gpk.Int8, 3))), gpk.ErrShape, ""},
		"names":            {outTensor(gpk.Ones(gpk.Int8, 2, 2), "a"), gpk.ErrShape, "1 names"},
		"float16":          {outTensor(gpk.Ones(gpk.Float16, 2)), gpk.ErrDType, "no tensors of float16"},
		"bfloat16":         {outTensor(gpk.Ones(gpk.BFloat16, 2)), gpk.ErrDType, "bfloat16"},
	} {
		if !errors.Is(c.got, c.want) || !strings.Contains(c.got.Error(), c.text) || !strings.Contains(c.got.Error(), "arrow_test.go:") {
			t.Errorf("%s: %v", name, c.got)
		}
	}
}

func TestNil(t *testing.T) {
	niltest.Run(t, niltest.Package{Functions: map[string]any{"FromArray": FromArray, "ToArray": ToArray, "FromTensor": FromTensor, "ToTensor": ToTensor}})
}

// TestApart checks that a program that imports gpk does not link Arrow.
func TestApart(t *testing.T) {
	deps, err := exec.Command("go", "list", "-deps", "github.com/gpk-go/gpk").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(deps), "github.com/gpk-go/gpk/array\n") {
		t.Fatalf("%s", deps)
	}
	if strings.Contains(string(deps), "apache") {
		t.Errorf("gpk depends on Arrow:\n%s", deps)
	}
}

package fused

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/matmul"
)

// hostOf returns a view of new memory of the CPU, with elements of a Go type.
func hostOf[T any](t *testing.T, dt dtype.DType, data []T, shape ...int) device.View {
	t.Helper()
	dev := devicetest.CPU(t)
	buf, err := dev.Alloc(int64(len(data)*dt.Size()), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(buf.Free)
	copy(unsafe.Slice((*T)(buf.Ptr()), len(data)), data)
	return device.View{Buffer: buf, DType: dt, Layout: layout.Dense(shape)}
}

func normals(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

// TestAttentionPaths compares both paths on the CPU, which supports plain operations too.
func TestAttentionPaths(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		batch, kv, group, n, m, dim, valueDim int
		causal, ragged                        bool
		mask                                  dtype.DType
	}{
		{batch: 2, kv: 2, group: 2, n: 37, m: 37, dim: 32, valueDim: 32},
		{batch: 1, kv: 1, group: 3, n: 70, m: 130, dim: 16, valueDim: 5, causal: true},
		{batch: 2, kv: 2, group: 1, n: 9, m: 4, dim: 8, valueDim: 8, causal: true},
		{batch: 2, kv: 1, group: 2, n: 20, m: 33, dim: 8, valueDim: 8, mask: dtype.Bool},
		{batch: 2, kv: 1, group: 2, n: 20, m: 33, dim: 8, valueDim: 8, mask: dtype.Float32},
		{batch: 1, kv: 2, group: 1, n: 3, m: 0, dim: 8, valueDim: 8},
		{batch: 1, kv: 2, group: 1, n: 3, m: 7, dim: 0, valueDim: 8},
		{batch: 1, kv: 2, group: 2, n: 40, m: 40, dim: 32, valueDim: 16, causal: true, ragged: true},
	} {
		shape := func(heads, rows, dim int) []int {
			if c.ragged {
				return []int{heads, rows, dim}
			}
			return []int{c.batch, heads, rows, dim}
		}
		heads, size := c.kv*c.group, c.batch*c.kv*c.group*c.n*c.valueDim
		nan := make([]float32, size)
		for i := range nan {
			nan[i] = float32(math.NaN())
		}
		a := Attention{
			Q:                hostOf(t, dtype.Float32, normals(rng, c.batch*heads*c.n*c.dim), shape(heads, c.n, c.dim)...),
			K:                hostOf(t, dtype.Float32, normals(rng, c.batch*c.kv*c.m*c.dim), shape(c.kv, c.m, c.dim)...),
			V:                hostOf(t, dtype.Float32, normals(rng, c.batch*c.kv*c.m*c.valueDim), shape(c.kv, c.m, c.valueDim)...),
			Dst:              hostOf(t, dtype.Float32, nan, shape(heads, c.n, c.valueDim)...),
			AttentionOptions: AttentionOptions{Scale: 0.3, Causal: c.causal},
		}
		switch c.mask {
		case dtype.Bool:
			seen := make([]bool, c.n*c.m)
			for i := range seen {
				seen[i] = rng.IntN(3) > 0 && i/c.m != 2
			}
			a.Mask = hostOf(t, dtype.Bool, seen, c.n, c.m)
		case dtype.Float32:
			a.Mask = hostOf(t, dtype.Float32, normals(rng, c.n*c.m), c.n, c.m)
		}
		if c.mask.Valid() {
			l, err := a.Mask.Layout.BroadcastTo([]int{c.batch, heads, c.n, c.m})
			if err != nil {
				t.Fatal(err)
			}
			a.Mask.Layout = l
		}
		var offsets []int32
		if c.ragged {
			offsets = []int32{0, 17, 17, 18, int32(c.n)}
			a.Offsets = hostOf(t, dtype.Int32, offsets, len(offsets))
		}
		s := a.Q.Buffer.Device().DefaultStream()
		if err := a.Run(s); err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		b := a
		b.Dst = hostOf(t, dtype.Float32, nan, a.Dst.Layout.Shape...)
		if err := b.composeInto(s, offsets); err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		x, y := unsafe.Slice((*float32)(a.Dst.Ptr()), size), unsafe.Slice((*float32)(b.Dst.Ptr()), size)
		for i := range x {
			if !(math.Abs(float64(x[i]-y[i])) < 1e-5) {
				t.Fatalf("%+v: element %d is %v in blocks, and %v of plain operations", c, i, x[i], y[i])
			}
		}
	}
}

func TestPlanAttention(t *testing.T) {
	p := AttentionProblem{DType: dtype.BFloat16, Batch: 1, Heads: 1, KVHeads: 1, Queries: 1, Keys: 1, Dim: 1, ValueDim: 1}
	full, fast := p, p
	full.DType, full.Precision = dtype.Float32, matmul.FullPrecision
	fast.DType, fast.Precision = dtype.Float32, matmul.TF32
	for _, c := range []struct {
		problem AttentionProblem
		kind    device.Kind
		kernel  string
		want    string
	}{
		{p, device.CPU, "", "online softmax over blocks, micro-kernel "},
		{p, device.CUDA, "", "composed of plain operations; cuda has no kernel for bfloat16 with heads of 1 and 1"},
		{p, device.CUDA, "attention_x", "one kernel, attention_x; scores and sums in float32, weights rounded to bfloat16"},
		{fast, device.CUDA, "attention_x", "one kernel, attention_x; operands and weights rounded to TF32"},
		{full, device.CUDA, "attention_x", "one kernel, attention_x; operands and weights as two TF32 numbers each"},
	} {
		if got := PlanAttention(c.problem, c.kind, c.kernel).String(); !strings.HasPrefix(got, c.want) {
			t.Errorf("on %v with kernel %q the plan is %q, want %q", c.kind, c.kernel, got, c.want)
		}
	}
}

// TestFlaggedOffsets checks that a kernel's flags give the same errors as the check on
// the host.
func TestFlaggedOffsets(t *testing.T) {
	for _, c := range []struct {
		offsets []int32
		flags   [2]int64
	}{
		{[]int32{0, 3, 3, 5}, [2]int64{cutlass.OffsetsFine, 3<<32 | 5}},
		{[]int32{1, 5}, [2]int64{cutlass.OffsetsBegin, 1}},
		{[]int32{-1, 5}, [2]int64{cutlass.OffsetsBegin, 1<<32 - 1}},
		{[]int32{0, 4, 3, 5}, [2]int64{cutlass.OffsetsFall, 2<<32 | 3}},
		{[]int32{0, 4, -3, 5}, [2]int64{cutlass.OffsetsFall, 2<<32 | (1<<32 - 3)}},
		{[]int32{0, 4}, [2]int64{cutlass.OffsetsEnd, 1<<32 | 4}},
	} {
		want, got := checkOffsets(c.offsets, 5), flaggedOffsets(c.flags, 5)
		if (want == nil) != (got == nil) || want != nil && (want.Error() != got.Error() || !errors.Is(got, layout.ErrShape)) {
			t.Errorf("%v: %v by flags, %v on the host", c.offsets, got, want)
		}
	}
	if flaggedOffsets([2]int64{9, 0}, 5) == nil {
		t.Error("flags that no kernel writes are taken for valid offsets")
	}
}

func TestCheckOffsets(t *testing.T) {
	for _, c := range []struct {
		offsets []int32
		want    string
	}{
		{[]int32{0, 3, 3, 5}, ""},
		{[]int32{1, 5}, "begin at 1"},
		{[]int32{0, 4, 3, 5}, "offset 2 is 3"},
		{[]int32{0, 4}, "end at 4"},
	} {
		err := checkOffsets(c.offsets, 5)
		switch {
		case c.want == "" && err == nil:
		case err == nil || c.want == "" || !strings.Contains(err.Error(), c.want) || !errors.Is(err, layout.ErrShape):
			t.Errorf("%v: %v", c.offsets, err)
		}
	}
}

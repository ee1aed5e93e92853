package cpu

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/testrand"
)

// attentionOf returns an Attention with dense random float32 operands.
func attentionOf(rng *rand.Rand, batch, kv, group, n, m, dim int) (a *Attention, out []float32) {
	fill := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(rng.NormFloat64())
		}
		return x
	}
	heads := kv * group
	rows := func(x []float32, heads, n int) HeadRows {
		return HeadRows{Data: at0(x), Batch: heads * n * dim, Head: n * dim, Row: dim, Step: 1}
	}
	out = make([]float32, batch*heads*n*dim)
	return &Attention{
		Type: dtype.Float32, Heads: heads, KVHeads: kv, Dim: dim, ValueDim: dim, Scale: 1 / math.Sqrt(float64(dim)),
		Q: rows(fill(batch*heads*n*dim), heads, n), K: rows(fill(batch*kv*m*dim), kv, m), V: rows(fill(batch*kv*m*dim), kv, m),
		Out: rows(out, heads, n), Batch: batch, Queries: n, Keys: m,
	}, out
}

// TestAttentionVariants compares the blocked computation with every micro-kernel to the
// formula, evaluated sequentially in float64.
func TestAttentionVariants(t *testing.T) {
	withVariants(t, func(t *testing.T) {
		rng := testrand.New(t)
		for _, c := range [][6]int{
			{1, 1, 1, 1, 1, 1},
			{2, 1, 1, 1, 300, 64},
			{1, 2, 3, 1, 257, 33},
			{2, 2, 2, 5, 130, 8},
			{1, 1, 1, 65, 129, 7},
			{1, 2, 4, 37, 37, 32},
			{1, 1, 2, 200, 200, 64},
			{1, 1, 1, 130, 70, 128},
			{1, 1, 1, 3, 3, 257},
		} {
			for _, causal := range []bool{false, true} {
				a, out := attentionOf(rng, c[0], c[1], c[2], c[3], c[4], c[5])
				a.Causal = causal
				for i := range out {
					out[i] = float32(math.NaN())
				}
				a.Run()
				r := &attention[float32]{Attention: a, size: 4, load: lineLoader(dtype.Float32)}
				want := make([]float32, a.Dim)
				for u := range a.Batch * a.Heads {
					b := attentionBlock{batch: u / a.Heads, queries: a.Queries, keys: a.Keys, head: u % a.Heads, heads: 1, rows: a.Queries}
					b.kv = b.head / c[2]
					for i := range a.Queries {
						r.computeExact(&b, i, want)
						for d, w := range want {
							if got := out[(u*a.Queries+i)*a.Dim+d]; !(math.Abs(float64(got-w)) < 4e-6) {
								t.Fatalf("%v, causal %v: head %d, query %d, element %d is %v, want %v", c, causal, u, i, d, got, w)
							}
						}
					}
				}
			}
		}
	})
}

// TestAttentionEnds reads the values of single keys for four queries each. The last value ends with its slice, which does
// not fill its pages. With -race, Go reports a pointer to the bytes after the slice.
func TestAttentionEnds(t *testing.T) {
	a, out := attentionOf(testrand.New(t), 1, 161, 4, 1, 1, 64)
	for i := range out {
		out[i] = float32(math.NaN())
	}
	a.Run()
	values := unsafe.Slice((*float32)(a.V.Data), 161*64)
	for i, v := range out { // the weight of a single key is 1
		if want := values[i/(4*64)*64+i%64]; v != want {
			t.Fatalf("element %d is %v, want %v", i, v, want)
		}
	}
}

// TestFoldChained compares the fold of rows with a loop.
func TestFoldChained(t *testing.T) {
	add := &binary{vv: func(dst, x, y unsafe.Pointer, n int) {
		d, a, b := vectors[float64](dst, x, y, n)
		for i := range d {
			d[i] = a[i] + b[i]
		}
	}}
	for _, w := range []int{1, 3, 70} {
		for rows := 1; rows < 200; rows++ {
			x, folded := make([]float64, rows*w), make([]float64, foldRoom(w))
			for i := range x {
				x[i] = float64(i)
			}
			foldChained(add, folded, x, w)
			for i := range w {
				if want := float64(rows*i + w*rows*(rows-1)/2); folded[i] != want {
					t.Fatalf("%d rows of %d: column %d adds to %v, want %v", rows, w, i, folded[i], want)
				}
			}
		}
	}
}

// TestAttentionGarbage checks that the blocks' scratch memory comes from a pool.
func TestAttentionGarbage(t *testing.T) {
	a, _ := attentionOf(testrand.New(t), 1, 4, 1, 256, 256, 32)
	if use32.mulUnpacked == nil {
		t.Skip("packed products have memory of their own")
	}
	n := testing.AllocsPerRun(10, a.Run)
	for range 4 { // a collection empties the pool
		n = min(n, testing.AllocsPerRun(10, a.Run))
	}
	if n > 40 {
		t.Errorf("%v allocations for 16 blocks", n)
	}
}

// BenchmarkAttention measures a causal batch, short sequences, one query, and long sequences.
func BenchmarkAttention(b *testing.B) {
	for _, c := range []struct {
		name                    string
		batch, heads, n, m, dim int
		causal                  bool
	}{
		{"2x8x256x64causal", 2, 8, 256, 256, 64, true},
		{"32x12x37x32", 32, 12, 37, 37, 32, false},
		{"1x32x1of1024x128", 1, 32, 1, 1024, 128, false},
		{"1x8x1024x64", 1, 8, 1024, 1024, 64, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			a, _ := attentionOf(rand.New(rand.NewPCG(1, 1)), c.batch, c.heads, 1, c.n, c.m, c.dim)
			a.Causal = c.causal
			b.ReportAllocs()
			for b.Loop() {
				a.Run()
			}
		})
	}
}

// normals returns n normal numbers.
func normals(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

// poisoned32 returns n numbers that no computation gives.
func poisoned32(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = math.Float32frombits(0x7fdeadbe)
	}
	return x
}

// sameFloats fails the test if bits differ. All NaNs count as equal, except those of
// poisoned32.
func sameFloats(t *testing.T, what string, got, want []float32) {
	t.Helper()
	bits := func(v float32) uint32 {
		b := math.Float32bits(v)
		if v != v && b != 0x7fdeadbe {
			return 0x7fc00000
		}
		return b
	}
	for i := range want {
		if bits(got[i]) != bits(want[i]) {
			t.Fatalf("%s: element %d of %d is %v, want %v", what, i, len(want), got[i], want[i])
		}
	}
}

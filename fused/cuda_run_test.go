package fused

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/layout"
)

// recorder is a fake GPU that records launches.
type recorder struct {
	dev *device.Device
	mu  sync.Mutex
	// launches since the last take
	launches []device.Launch
	params   [][]byte
	log      string // log of the compiler
}

func newRecorder() *recorder {
	r := &recorder{}
	r.dev = devicetest.NewFakeWithCode(
		device.Info{Name: "fake", Kind: device.CUDA, SM: 90, MultiProcessors: 132, TotalMemory: 1 << 30, CUDA: 13000},
		device.CapabilitiesOf(90),
		device.FakeCode{
			Compile: func(device.Code) ([]int, string) { return nil, r.log },
			Start: func(_ string, l device.Launch, params []byte) error {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.launches, r.params = append(r.launches, l), append(r.params, params)
				return nil
			},
		})
	return r
}

func (r *recorder) view(t *testing.T, lay layout.Layout) device.View {
	t.Helper()
	_, hi := lay.Span()
	b, err := r.dev.Alloc(int64(4*hi+64), nil)
	if err != nil {
		t.Fatal(err)
	}
	return device.View{Buffer: b, DType: dtype.Float32, Layout: lay}
}

// add returns the call dst = x + y.
func add(t *testing.T, dst, x, y device.View) *Call {
	t.Helper()
	b := NewBuilder(dst.Layout.Shape)
	p, _ := b.Leaf(x)
	q, _ := b.Leaf(y)
	if _, err := b.Step(expr.Add, dtype.Float32, p, q); err != nil {
		t.Fatal("no room for a step")
	}
	return b.Elementwise(dst)
}

func TestCompiledRun(t *testing.T) {
	dense := layout.Dense
	shifted := func(n int, shape ...int) layout.Layout {
		l := dense(shape)
		l.Offset = n
		return l
	}
	wide := func(l layout.Layout, shape ...int) layout.Layout {
		w, err := l.BroadcastTo(shape)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	turned := func(l layout.Layout) layout.Layout { return l.T() }
	for _, tt := range []struct {
		name      string
		dst, x, y layout.Layout
		want      kernelVariant
		threads   int // at least: an item each
	}{
		{"flat", dense([]int{1000}), dense([]int{1000}), dense([]int{1000}), kernelVariant{traversal: traverseFlat, width: 4}, 250},
		{"flat, odd length", dense([]int{1003}), dense([]int{1003}), dense([]int{1003}), kernelVariant{traversal: traverseFlat, width: 4}, 250},
		{"flat, shifted", dense([]int{1000}), shifted(1, 1000), dense([]int{1000}), kernelVariant{traversal: traverseFlat, width: 1}, 1000},
		{"flat, shifted by a vector", dense([]int{1000}), shifted(4, 1000), dense([]int{1000}), kernelVariant{traversal: traverseFlat, width: 4}, 250},
		{"row", dense([]int{100, 64}), dense([]int{100, 64}), wide(dense([]int{64}), 100, 64), kernelVariant{traversal: traverseRows, width: 4}, 100 * 16 / 4},
		{"column", dense([]int{100, 64}), dense([]int{100, 64}), wide(dense([]int{100, 1}), 100, 64), kernelVariant{traversal: traverseRows, width: 4}, 100 * 16 / 4},
		{"row, odd", dense([]int{100, 63}), dense([]int{100, 63}), wide(dense([]int{63}), 100, 63), kernelVariant{traversal: traverseMixed, width: 4}, 100 * 63 / 4},
		{"row, shifted", dense([]int{100, 64}), dense([]int{100, 64}), wide(shifted(2, 64), 100, 64), kernelVariant{traversal: traverseMixed, width: 4}, 100 * 16},
		{"transposed", dense([]int{100, 64}), dense([]int{100, 64}), turned(dense([]int{64, 100})), kernelVariant{traversal: traverseTiles, width: 1}, 100 * 64 / 4},
		{"transposed into", turned(dense([]int{64, 100})), dense([]int{100, 64}), dense([]int{100, 64}), kernelVariant{traversal: traverseTiles, width: 1}, 100 * 64 / 4},
		{"pitched", layout.Layout{Shape: []int{100, 64}, Strides: []int{80, 1}}, dense([]int{100, 64}), dense([]int{100, 64}), kernelVariant{traversal: traverseStrided, width: 4}, 100 * 16},
		{"odd pitch", layout.Layout{Shape: []int{100, 64}, Strides: []int{81, 1}}, dense([]int{100, 64}), dense([]int{100, 64}), kernelVariant{traversal: traverseStrided, width: 1}, 100 * 64 / 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRecorder()
			g := &compiled{}
			c := add(t, r.view(t, tt.dst), r.view(t, tt.x), r.view(t, tt.y))
			s := r.dev.DefaultStream()
			w := kernelLaunch{p: c.Program, call: c, dst: c.Dst}
			if w.choose(); w.variant != tt.want {
				t.Errorf("%s x%d, want %s x%d (%s)", traversalNames[w.variant.traversal], w.variant.width, traversalNames[tt.want.traversal], tt.want.width, c.Program.Key())
			}
			g.Explain(r.dev, c.Program, c.Choice()) // starts to compile the kernel that Run launches
			if err := devicetest.AwaitCompiled(r.dev, context.Background()); err != nil {
				t.Fatal(err)
			}
			if n, why := g.Explain(r.dev, c.Program, c.Choice()); n != 1 {
				t.Errorf("%d kernels: %s", n, why)
			}
			done, err := g.Run(s, c)
			if !done || err != nil || len(r.launches) != 1 {
				t.Fatal(done, err, r.launches)
			}
			l := r.launches[0]
			if n := l.Grid[0] * l.Grid[1] * l.Block[0] * l.Block[1]; n < tt.threads || !l.Dependent {
				t.Errorf("%+v has %d threads, for %d items", l, n, tt.threads)
			}
			if at := binary.LittleEndian.Uint64(r.params[0]); at != c.Dst.Buffer.Addr()+uint64(4*c.Dst.Offset) || len(r.params[0])%8 != 0 {
				t.Errorf("the destination is at %#x, %d bytes of parameters", at, len(r.params[0]))
			}
			if n := devicetest.LeastAllocs(20, func() { _, _ = g.Run(s, c) }); !raceEnabled && tt.want.traversal < traverseStrided && n > 4 { // the recorder's own; -race empties pools
				t.Errorf("%v allocations", n)
			}
		})
	}
}

// TestFolding: how reductions are shared out, and what is launched for them.
func TestFolding(t *testing.T) {
	for _, tt := range []struct {
		name        string
		op          expr.Op
		dt          dtype.DType
		shift       int
		shape, axes []int
		want        kernelVariant // but for the numbers of dimensions
		groups      bool          // there are branches
	}{
		{"rows", expr.Sum, dtype.Float32, 0, []int{2000, 4096}, []int{1}, kernelVariant{traverseFold, 4, fold{rows: 8, whole: true}}, false},
		{"rows that begin anywhere", expr.Sum, dtype.Float32, 0, []int{2000, 4095}, []int{1}, kernelVariant{traverseFold, 4, fold{rows: 8}}, false},
		{"shifted rows", expr.Sum, dtype.BFloat16, 1, []int{2000, 4096}, []int{1}, kernelVariant{traverseFold, 8, fold{rows: 8}}, false},
		{"short rows", expr.Sum, dtype.Float32, 0, []int{2000, 64}, []int{1}, kernelVariant{traverseFold, 4, fold{rows: 1, whole: true}}, false},
		{"three rows of a chunk", expr.Mean, dtype.Float32, 0, []int{2000, 300}, []int{1}, kernelVariant{traverseFold, 4, fold{rows: 4, whole: true}}, false},
		{"few long rows", expr.Sum, dtype.Float32, 0, []int{2, 1 << 20}, []int{1}, kernelVariant{traverseFold, 4, fold{rows: 8, whole: true}}, true},
		{"columns", expr.Sum, dtype.BFloat16, 0, []int{4096, 512}, []int{0}, kernelVariant{traverseFoldColumns, 8, fold{rows: 8, whole: true}}, true},
		{"odd columns", expr.Sum, dtype.BFloat16, 0, []int{600, 511}, []int{0}, kernelVariant{traverseFoldColumns, 1, fold{rows: 4}}, false},
		{"all", expr.Sum, dtype.Float32, 0, []int{4096, 512}, []int{0, 1}, kernelVariant{traverseFold, 4, fold{rows: 8, whole: true}}, true},
		{"largest of rows", expr.Max, dtype.Float32, 0, []int{5000, 512}, []int{1}, kernelVariant{traverseFold, 4, fold{whole: true, vectors: true}}, false},
		{"largest of odd rows", expr.Max, dtype.Float32, 0, []int{5000, 511}, []int{1}, kernelVariant{traverseFold, 4, fold{}}, false},
		{"largest of columns", expr.Max, dtype.Float32, 0, []int{8192, 512}, []int{0}, kernelVariant{traverseFoldColumns, 4, fold{whole: true}}, true},
		{"between", expr.Prod, dtype.Float32, 0, []int{300, 50, 64}, []int{1}, kernelVariant{traverseFoldColumns, 4, fold{whole: true}}, false},
		{"truth of bytes", expr.Any, dtype.Bool, 0, []int{5000, 512}, []int{1}, kernelVariant{traverseFold, 16, fold{whole: true, vectors: true}}, false},
		{"two passes", expr.Var, dtype.Float32, 0, []int{5000, 512}, []int{1}, kernelVariant{traverseFold, 4, fold{whole: true, vectors: true}}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRecorder()
			g := &compiled{}
			c := foldCall(t, r, tt.op, tt.dt, tt.shift, tt.shape, tt.axes...)
			f, ok := c.folding(false)
			got := f.variant
			got.fold.kept, got.fold.folded = 0, 0
			if !ok || got != tt.want || f.groups > 1 != tt.groups {
				t.Errorf("%v %+v, %d branches", ok, f.variant, f.groups)
			}
			if f.perGroup*f.groups < f.terms && !isSum(tt.op) {
				t.Errorf("%d branches of %d terms, of %d", f.groups, f.perGroup, f.terms)
			}
			s := r.dev.DefaultStream()
			for range 2 { // the first calls have the kernels compiled
				if _, err := g.Run(s, c); err != nil {
					t.Fatal(err)
				}
				if err := devicetest.AwaitCompiled(r.dev, context.Background()); err != nil {
					t.Fatal(err)
				}
			}
			r.launches, r.params = nil, nil
			done, err := g.Run(s, c)
			want := 1
			if tt.groups {
				want++
			}
			if tt.op == expr.Var {
				want *= 2
			}
			if !done || err != nil || len(r.launches) != want {
				t.Fatal(done, err, r.launches)
			}
			if at := binary.LittleEndian.Uint64(r.params[len(r.params)-1]); at != c.Dst.Buffer.Addr() {
				t.Errorf("the result goes to %#x", at)
			}
		})
	}
}

// TestCompiledExplain checks the text of Explain for kernels that are not compiled.
func TestCompiledExplain(t *testing.T) {
	l := layout.Dense([]int{64})
	r := newRecorder()
	c := add(t, r.view(t, l), r.view(t, l), r.view(t, l))
	g := &compiled{}
	g.Explain(r.dev, c.Program, c.Choice())
	if err := devicetest.AwaitCompiled(r.dev, context.Background()); err != nil {
		t.Fatal(err)
	}
	if one, why := g.Explain(r.dev, c.Program, c.Choice()); one != 1 || why != "" {
		t.Error(one, why)
	}
	r = newRecorder()
	r.log = "chain.cu(1): error: broken"
	c = add(t, r.view(t, l), r.view(t, l), r.view(t, l))
	g.Explain(r.dev, c.Program, c.Choice())
	if err := devicetest.AwaitCompiled(r.dev, context.Background()); err != nil {
		t.Fatal(err)
	}
	if one, why := g.Explain(r.dev, c.Program, c.Choice()); one != 0 || !strings.Contains(why, "broken") {
		t.Error(one, why)
	}
	if done, err := g.Run(r.dev.DefaultStream(), c); done || err != nil {
		t.Errorf("a kernel that does not compile: %v, %v", done, err)
	}
	none := devicetest.NewFake(device.Info{Kind: device.CUDA, SM: 90}, device.CapabilitiesOf(90))
	if one, why := g.Explain(none, c.Program, c.Choice()); one != 0 || why == "" {
		t.Error(one, why)
	}
}

// TestDivider divides as the kernels do, with the packed constants of a divisor.
func TestDivider(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		d, n := uint32(1+rng.Uint64()>>(33+rng.IntN(31))), uint32(rng.Uint64()>>(33+rng.IntN(31)))
		var w kernelLaunch
		w.packDivider(int(d))
		le := binary.LittleEndian
		m, s := le.Uint32(w.params[4:]), le.Uint32(w.params[8:])
		q := (uint32(uint64(n)*uint64(m)>>32) + n) >> s
		if s < 32 && q != n/d || le.Uint32(w.params) != d {
			t.Fatalf("%d / %d = %d, not %d", n, d, n/d, q)
		}
	}
}

// TestMixedLong checks that a mixed traversal is not used for rows that would overflow
// its 32-bit counters.
func TestMixedLong(t *testing.T) {
	for _, tt := range []struct {
		n    int
		want kernelVariant
	}{{1001, kernelVariant{traversal: traverseMixed, width: 4}}, {maxPiece/4 + 1, kernelVariant{traversal: traverseMixed, width: 1}}, {maxPiece + 1, kernelVariant{traversal: traverseStrided, width: 1}}} {
		w := kernelLaunch{
			p:    &Program{Leaves: []Leaf{{DType: dtype.Float32, Class: Dense}, {DType: dtype.Float32, Class: Row}}, Rank: 2, Steps: []Step{{Op: expr.Add, DType: dtype.Float32, N: 2}}},
			call: &Call{Shape: []int{3, tt.n}, Leaves: []Operand{{Strides: []int{tt.n, 1}}, {Strides: []int{0, 1}}}},
		}
		if got := w.unalignedRows(kernelVariant{traversal: traverseRows, width: 4}, tt.n); got != tt.want {
			t.Errorf("rows of %d: %v, want %v", tt.n, got, tt.want)
		}
		if tt.want.traversal == traverseStrided && w.shape[0] != tt.n {
			t.Errorf("rows of %d: shape %v", tt.n, w.shape)
		}
	}
}

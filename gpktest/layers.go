package gpktest

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/golden"
	"github.com/gpk-go/gpk/internal/observe"
	"github.com/gpk-go/gpk/matmul"
	"github.com/gpk-go/gpk/nn"
	"github.com/gpk-go/gpk/nn/bert"
)

// drawn is a source of parameters that generates the elements of each one on request.
type drawn struct {
	rng   *gpk.RNG
	names []string
	shape map[string][]int
}

func drawnFor(m nn.Module, seed uint64) *drawn {
	d := &drawn{rng: gpk.NewRNG(seed), shape: map[string][]int{}}
	for name, p := range nn.Parameters(m) {
		d.names = append(d.names, name)
		d.shape[name] = p.Shape()
	}
	return d
}

func (d *drawn) Names() []string { return d.names }

func (d *drawn) Load(name string) (*gpk.Array, error) {
	a := d.rng.Normal(gpk.Float32, 0, 0.3, d.shape[name]...)
	return a, a.Err()
}

// testLayers compares multi-head attention with the operations that it consists of, in a
// batch and packed, and a perceptron between norms.
func testLayers(t *testing.T, s *suite) {
	for _, c := range []struct {
		dt    gpk.DType
		bound float32
	}{{gpk.Float32, 4e-6}, {gpk.Float16, 2.5e-3}, {gpk.BFloat16, 2e-2}} {
		for _, d := range []struct{ heads, kvHeads, dim int }{{4, 4, 32}, {6, 2, 16}, {3, 1, 5}} {
			for _, bias := range []bool{false, true} {
				width := d.heads * d.dim
				m := nn.NewMultiHeadAttention(width, d.heads, d.kvHeads, d.dim, bias)
				mlp, norm := nn.NewMLP(width, 2*width+3, nn.GELU, bias), nn.NewLayerNorm(width, 1e-5)
				for i, m := range []nn.Module{m, mlp, norm} {
					if err := nn.Load(m, drawnFor(m, s.rng.Uint64()+uint64(i)), nn.LoadOptions{DType: c.dt}); err != nil {
						t.Fatal(err)
					}
					nn.SetPrecision(m, precisionFor(c.dt))
				}
				what := fmt.Sprintf("%v, %d heads of %d, %d for keys, bias %v", c.dt, d.heads, d.dim, d.kvHeads, bias)
				s.compareLayers(t, what, m, mlp, norm, c.dt, c.bound)
				for _, m := range []nn.Module{m, mlp, norm} {
					nn.Free(m)
				}
			}
		}
	}
}

func precisionFor(dt gpk.DType) (p matmul.Precision) {
	if dt == gpk.Float32 {
		p = gpk.FullPrecision
	}
	return p
}

// compareLayers runs the layers on a packed batch of sequences and on each sequence alone. The
// error is relative to the norm of the result: one element of 2,688 may be off by more.
func (s *suite) compareLayers(t *testing.T, what string, m *nn.MultiHeadAttention, mlp *nn.MLP, norm *nn.LayerNorm, dt gpk.DType, bound float32) {
	t.Helper()
	offsets := []int32{0, 1, 8, 8, 21}
	width := mlp.Up.Weight.Shape()[1]
	x := gpk.NewRNG(s.rng.Uint64()).Normal(gpk.Float32, 0, 1, 21, width).Cast(dt)
	forward := func(x *gpk.Array, o gpk.AttentionOptions) *gpk.Array {
		x = norm.Forward(m.Forward(x, o).Add(x))
		return mlp.Forward(x).Add(x)
	}
	packed := forward(x, gpk.AttentionOptions{Offsets: gpk.FromSlice(offsets)})
	for i := range len(offsets) - 1 {
		from, to := int(offsets[i]), int(offsets[i+1])
		if from == to {
			continue
		}
		part := x.Slice(0, from, to)
		alone := forward(part.Unsqueeze(0), gpk.AttentionOptions{}).Squeeze(0)
		plain := plainLayers(part.Cast(gpk.Float32), m, mlp, norm)
		for name, got := range map[string]*gpk.Array{"packed": packed.Slice(0, from, to), "alone": alone} {
			off, err := gpk.Item[float32](got.Cast(gpk.Float32).Sub(plain).Norm().Div(plain.Norm()))
			if err != nil || !(off <= bound) {
				t.Errorf("%s: sequence %d %s has a relative error of %v (%v)", what, i, name, off, err)
			}
		}
	}
}

// plainLayers computes the layers for one sequence by plain operations in float32.
func plainLayers(x *gpk.Array, m *nn.MultiHeadAttention, mlp *nn.MLP, norm *nn.LayerNorm) *gpk.Array {
	single := func(p *nn.Parameter) *gpk.Array { return p.Array().Cast(gpk.Float32) }
	linear := func(x *gpk.Array, l *nn.Linear) *gpk.Array {
		y := x.MatMul(single(l.Weight).T(), gpk.FullPrecision)
		if l.Bias != nil {
			y = y.Add(single(l.Bias))
		}
		return y
	}
	q, k, v := linear(x, m.Query), linear(x, m.Key), linear(x, m.Value)
	dim := m.Dim
	var heads []*gpk.Array
	for h := range m.Heads {
		of := h / (m.Heads / m.KVHeads)
		cut := func(a *gpk.Array, i int) *gpk.Array { return a.Slice(1, i*dim, (i+1)*dim) }
		scores := cut(q, h).MatMul(cut(k, of).T(), gpk.FullPrecision).Div(gpk.Full(gpk.Float32, dim).Sqrt())
		heads = append(heads, scores.Softmax(1).MatMul(cut(v, of), gpk.FullPrecision))
	}
	y := linear(gpk.Concat(1, heads...), m.Output).Add(x)
	y = gpk.LayerNorm(y, single(norm.Weight), single(norm.Bias), norm.Eps)
	return linear(linear(y, mlp.Up).GELU(), mlp.Down).Add(y)
}

// testEncoder embeds golden texts with the model whose folder GPK_MINILM names.
func testEncoder(t *testing.T, s *suite) {
	dir := os.Getenv("GPK_MINILM")
	if dir == "" {
		t.Skip("NOT run: GPK_MINILM names no folder of all-MiniLM-L6-v2")
	}
	cases, err := golden.MiniLM()
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, c := range cases {
		texts = append(texts, c.Text)
	}
	for _, c := range []struct {
		name   string
		opt    bert.Option
		cosine float64
	}{
		{"FullPrecision", bert.WithPrecision(gpk.FullPrecision), 0.999999},
		{"TF32", bert.WithPrecision(gpk.TF32), 0.9999},
		{"Float16", bert.WithDType(gpk.Float16), 0.9999},
		{"BFloat16", bert.WithDType(gpk.BFloat16), 0.999},
	} {
		e, err := bert.Load(dir, c.opt, bert.WithDevice(s.dev))
		if err != nil {
			t.Fatal(err)
		}
		check := func(pass string, first int, rows [][]float32) {
			t.Helper()
			for i, row := range rows {
				cosine, largest := golden.Compare(row, cases[first+i].Embedding)
				t.Logf("%s, %s, text %d: cosine %.9f, largest difference %.3g", c.name, pass, first+i, cosine, largest)
				if !(cosine >= c.cosine) || c.name == "FullPrecision" && largest > 2e-5 {
					t.Errorf("%s, %s, text %d: cosine %.9f, largest difference %.3g", c.name, pass, first+i, cosine, largest)
				}
			}
		}
		for _, pass := range []string{"first", "second", "third"} { // on a GPU, the second and third pass replay a graph
			work := countWork(t, func() {
				rows, err := e.Embed(context.Background(), slices.Concat(texts, texts[:2]))
				if err != nil {
					t.Fatal(err)
				}
				check(pass, 0, rows[:len(texts)])
				for i, text := range texts[:2] {
					rows, err := e.Embed(context.Background(), []string{text})
					if err != nil {
						t.Fatal(err)
					}
					check(pass+", alone", i, rows)
				}
			})
			t.Logf("%s, %s: %d launches, %d graphs", c.name, pass, work[device.Computing], work[device.Replaying])
			if pass != "first" && s.dev.Kind() != device.CPU && work[device.Replaying] < 3 {
				t.Errorf("%s, %s: %d graphs were launched, want at least 3", c.name, pass, work[device.Replaying])
			}
		}
		e.Close()
	}
}

// workCounter counts pieces of work by their kind.
type workCounter struct {
	mu    sync.Mutex
	kinds map[device.WorkKind]int
}

// EndWork implements observe.Observer.
func (c *workCounter) EndWork(m *device.Measurement) {
	c.mu.Lock()
	c.kinds[m.Kind]++
	c.mu.Unlock()
}

func (*workCounter) BeginOperation(*observe.Operation)            {}
func (*workCounter) EndOperation(*observe.Operation)              {}
func (*workCounter) BeginWork(*device.Measurement)                {}
func (*workCounter) Allocated(device.BufferUse)                   {}
func (*workCounter) Freed(device.BufferUse)                       {}
func (*workCounter) Captured(*device.Device)                      {}
func (*workCounter) KernelFound(*device.Device)                   {}
func (*workCounter) KernelCompiled(*device.Device, time.Duration) {}

// countWork counts the work that f starts.
func countWork(t *testing.T, f func()) map[device.WorkKind]int {
	t.Helper()
	c := &workCounter{kinds: map[device.WorkKind]int{}}
	stop, err := observe.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	f()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kinds
}

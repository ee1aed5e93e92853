package nn_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dist"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/interop/safetensors"
	"github.com/gpk-go/gpk/nn"
)

// seeded returns a generator with a printed seed.
func seeded(t testing.TB) *rand.Rand {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 21))
}

// group returns n ranks on the CPU, and makes the CPU the default device until the test ends.
func group(t testing.TB, n int) *dist.Group {
	t.Helper()
	d := devicetest.DefaultCPU(t)
	g, err := dist.Local(slices.Repeat([]*device.Device{d}, n)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// ranks runs f on n ranks, and fails the test with its error.
func ranks(t testing.TB, n int, f func(c *dist.Comm) error) {
	t.Helper()
	if err := group(t, n).Run(t.Context(), func(_ context.Context, c *dist.Comm) error { return f(c) }); err != nil {
		t.Fatal(err)
	}
}

// values returns normal numbers, and an array of them.
func values(r *rand.Rand, std float64, shape ...int) ([]float32, *gpk.Array) {
	n := 1
	for _, d := range shape {
		n *= d
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(std * r.NormFloat64())
	}
	return v, gpk.FromSlice(v, shape...)
}

// filled returns a module with random parameters, and their arrays.
func filled[M nn.Module](t testing.TB, r *rand.Rand, m M) (M, stored) {
	t.Helper()
	nn.SetPrecision(m, gpk.FullPrecision)
	w := stored{}
	for name, p := range nn.Parameters(m) {
		_, w[name] = values(r, 0.3, p.Shape()...)
		if err := p.Set(w[name]); err != nil {
			t.Fatal(err)
		}
	}
	return m, w
}

// both returns the elements of two arrays of float32.
func both(got, want *gpk.Array) (a, b []float32, err error) {
	if a, err = gpk.ToSlice[float32](got); err == nil {
		b, err = gpk.ToSlice[float32](want)
	}
	return a, b, err
}

// sameBits returns an error that names the position at which two float32 arrays differ.
func sameBits(got, want *gpk.Array) error {
	a, b, err := both(got, want)
	if err != nil {
		return err
	}
	if !slices.Equal(got.Shape(), want.Shape()) {
		return fmt.Errorf("the shape is %v, not %v", got.Shape(), want.Shape())
	}
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			return fmt.Errorf("element %d is %v, not %v", i, a[i], b[i])
		}
	}
	return nil
}

// TestColumnParallel checks that the rank's features, and those of all ranks, have the bits of the layer. Each
// rank has at least five features, because products with a matrix of up to four rows or columns add in another order.
func TestColumnParallel(t *testing.T) {
	r := seeded(t)
	for _, n := range []int{1, 2, 4} {
		for _, act := range []nn.Activation{nn.Identity, nn.GELU, nn.SiLU} {
			l, _ := filled(t, r, nn.NewLinear(1+r.IntN(70), n*(5+r.IntN(30)), r.IntN(2) == 0))
			l.Activation = act
			_, x := values(r, 1, 1+r.IntN(3), 1+r.IntN(40), l.Weight.Shape()[1])
			want := l.Forward(x)
			out := l.Weight.Shape()[0]
			ranks(t, n, func(c *dist.Comm) error {
				p, err := nn.NewColumnParallel(c, l)
				if err != nil {
					return err
				}
				k := out / n * c.Rank()
				if err := sameBits(p.Forward(x), want.Slice(-1, k, k+out/n)); err != nil {
					return fmt.Errorf("part of %d ranks: %w", n, err)
				}
				p.Gather = true
				return sameBits(p.Forward(x), want)
			})
		}
	}
}

// closeTo returns an error that names the position at which two float32 arrays differ by more than a fraction of the
// largest element.
func closeTo(got, want *gpk.Array, tol float64) error {
	a, b, err := both(got, want)
	if err != nil {
		return err
	}
	most := 0.0
	for _, v := range b {
		most = max(most, math.Abs(float64(v)))
	}
	if len(a) != len(b) || most == 0 || !slices.Equal(got.Shape(), want.Shape()) {
		return fmt.Errorf("%v of shape %v, want %v", len(a), got.Shape(), want.Shape())
	}
	for i := range a {
		if d := math.Abs(float64(a[i]) - float64(b[i])); !(d <= tol*most) {
			return fmt.Errorf("element %d is %v, want %v", i, a[i], b[i])
		}
	}
	return nil
}

// layerCase is a layer, its parallel form, and an input.
type layerCase struct {
	name     string
	layer    nn.Module
	x        *gpk.Array
	forward  func() *gpk.Array
	parallel func(c *dist.Comm) (nn.Module, func(x *gpk.Array) *gpk.Array, error)
	empty    func(c *dist.Comm) (nn.Module, func(x *gpk.Array) *gpk.Array, error) // from a layer whose parameters are not set
}

// layers returns the layers of several products, with features for n ranks.
func layers(t testing.TB, r *rand.Rand, n int) []layerCase {
	t.Helper()
	width, hidden := 24, n*(1+r.IntN(9))
	var list []layerCase
	{
		of := func() *nn.MLP { return nn.NewMLP(width, hidden, nn.GELU, true) }
		m, _ := filled(t, r, of())
		_, x := values(r, 1, 7, width)
		make := func(c *dist.Comm, m *nn.MLP) (nn.Module, func(x *gpk.Array) *gpk.Array, error) {
			p, err := nn.NewParallelMLP(c, m)
			if err != nil {
				return nil, nil, err
			}
			p.Down.Chunks = 2
			return p, p.Forward, nil
		}
		list = append(list, layerCase{"mlp", m, x, func() *gpk.Array { return m.Forward(x) }, func(c *dist.Comm) (nn.Module, func(x *gpk.Array) *gpk.Array, error) { return make(c, m) }, func(c *dist.Comm) (nn.Module, func(x *gpk.Array) *gpk.Array, error) { return make(c, of()) }})
	}
	for _, bias := range []bool{false, true} {
		of := func() *nn.GatedMLP { return nn.NewGatedMLP(width, hidden, nn.SiLU, bias) }
		m, _ := filled(t, r, of())
		_, x := values(r, 1, 2, 5, width)
		make := func(c *dist.Comm, m *nn.GatedMLP) (nn.Module, func(x *gpk.Array) *gpk.Array, error) {
			p, err := nn.NewParallelGatedMLP(c, m)
			if err != nil {
				return nil, nil, err
			}
			return p, p.Forward, nil
		}
		list = append(list, layerCase{fmt.Sprint("gated ", bias), m, x, func() *gpk.Array { return m.Forward(x) }, func(c *dist.Comm) (nn.Module, func(x *gpk.Array) *gpk.Array, error) { return make(c, m) }, func(c *dist.Comm) (nn.Module, func(x *gpk.Array) *gpk.Array, error) { return make(c, of()) }})
	}
	for _, ragged := range []bool{false, true} {
		of := func() *nn.MultiHeadAttention {
			m := nn.NewMultiHeadAttention(width, 2*n, n, 4, true)
			m.Rotary = &gpk.RoPEOptions{Base: 10000}
			return m
		}
		m, _ := filled(t, r, of())
		_, x := values(r, 1, 2, 6, width)
		o := gpk.AttentionOptions{Causal: true}
		if ragged {
			_, x = values(r, 1, 11, width)
			o.Offsets = gpk.FromSlice([]int32{0, 4, 11})
		}
		make := func(c *dist.Comm, m *nn.MultiHeadAttention) (nn.Module, func(x *gpk.Array) *gpk.Array, error) {
			p, err := nn.NewParallelAttention(c, m)
			if err != nil {
				return nil, nil, err
			}
			return p, func(x *gpk.Array) *gpk.Array { return p.Forward(x, o) }, nil
		}
		list = append(list, layerCase{fmt.Sprint("attention ", ragged), m, x, func() *gpk.Array { return m.Forward(x, o) }, func(c *dist.Comm) (nn.Module, func(x *gpk.Array) *gpk.Array, error) { return make(c, m) }, func(c *dist.Comm) (nn.Module, func(x *gpk.Array) *gpk.Array, error) { return make(c, of()) }})
	}
	return list
}

// recorder counts the bytes of the arrays that are loaded through it.
type recorder struct {
	nn.SlicedWeights
	mu    sync.Mutex
	bytes int
}

func (w *recorder) count(a *gpk.Array, err error) (*gpk.Array, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		w.bytes += a.NBytes()
	}
	return a, err
}

func (w *recorder) Load(name string) (*gpk.Array, error) {
	return w.count(w.SlicedWeights.Load(name))
}

func (w *recorder) LoadSlice(name string, axis, start, stop int) (*gpk.Array, error) {
	return w.count(w.SlicedWeights.LoadSlice(name, axis, start, stop))
}

// TestParallelLayers compares parallel layers of 1, 2 and 4 ranks with the layers that they are made from. It
// also fills them from the file of these layers: the parameters have the same names, and a rank reads only
// its parts.
func TestParallelLayers(t *testing.T) {
	r := seeded(t)
	for _, n := range []int{1, 2, 4} {
		for _, k := range layers(t, r, n) {
			want := k.forward()
			compare := func(y *gpk.Array) error {
				if n == 1 {
					return sameBits(y, want)
				}
				return closeTo(y, want, 1e-5) // sums of at most 100 products of float32, in two layers
			}
			arrays, names := map[string]*gpk.Array{}, []string{}
			for name, p := range nn.Parameters(k.layer) {
				arrays[name], names = p.Array(), append(names, name)
			}
			path := filepath.Join(t.TempDir(), "x.safetensors")
			if err := safetensors.WriteFile(path, arrays, nil); err != nil {
				t.Fatal(err)
			}
			ranks(t, n, func(c *dist.Comm) error {
				m, forward, err := k.parallel(c)
				if err != nil {
					return err
				}
				if err := compare(forward(k.x)); err != nil {
					return fmt.Errorf("%s of %d ranks: %w", k.name, n, err)
				}
				var got []string
				for name := range nn.Parameters(m) {
					got = append(got, name)
				}
				if !slices.Equal(got, names) {
					return fmt.Errorf("the parameters are %q, not %q", got, names)
				}
				return loaded(c, path, k, compare)
			})
		}
	}
}

// loaded fills a layer from a file, and from weights without slices, and compares both results.
func loaded(c *dist.Comm, path string, k layerCase, compare func(*gpk.Array) error) error {
	f, err := safetensors.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	file := nn.FromFile(f).(nn.SlicedWeights)
	for _, sliced := range []bool{true, false} {
		m, forward, err := k.empty(c)
		if err != nil {
			return err
		}
		nn.SetPrecision(m, gpk.FullPrecision)
		w := &recorder{SlicedWeights: file}
		from := nn.Weights(w)
		if !sliced {
			from = struct{ nn.Weights }{file}
		}
		if err := nn.Load(m, from, nn.LoadOptions{}); err != nil {
			return err
		}
		own := 0
		for _, p := range nn.Parameters(m) {
			own += p.Array().NBytes()
		}
		if sliced && w.bytes != own {
			return fmt.Errorf("%s: %d bytes were loaded for %d of parameters", k.name, w.bytes, own)
		}
		if err := compare(forward(k.x)); err != nil {
			return fmt.Errorf("%s from a file, sliced %v: %w", k.name, sliced, err)
		}
		nn.Free(m)
	}
	return nil
}

package nn_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dist"
	"github.com/gpk-go/gpk/interop/safetensors"
	"github.com/gpk-go/gpk/nn"
)

// seeded returns a generator with a printed seed.
func seeded(t testing.TB) *rand.Rand {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 21))
}

// group returns n ranks on the CPU, which is the default device meanwhile.
func group(t testing.TB, n int) *dist.Group {
	t.Helper()
	d, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	old := device.SetDefault(d)
	t.Cleanup(func() { device.SetDefault(old) })
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

// values are normal numbers, and the array of them.
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

// filled returns a module with random parameters, and what they are.
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

// sameBits says in what two arrays of float32 differ.
func sameBits(got, want *gpk.Array) error {
	a, err := gpk.ToSlice[float32](got)
	if err != nil {
		return err
	}
	b, err := gpk.ToSlice[float32](want)
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

// TestColumnParallel: the rank's features, and those of all ranks, are bit for bit those of the layer. Each
// rank has five at least: products with a matrix of up to four rows or columns add in another order.
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

// TestRowParallel compares with plain loops in float64. The bound is that of a sum of K products in any
// order, and of n+1 further roundings (Higham, Accuracy and Stability, section 3.1): |error| is at
// most g (|x| |w| + |b|), with g = m u/(1 - m u), m = K+n+2, u = 2^-24.
func TestRowParallel(t *testing.T) {
	r := seeded(t)
	for _, n := range []int{1, 2, 4} {
		for _, chunks := range []int{0, 1, 3, 1000} {
			in, out, rows := n*(1+r.IntN(60)), 1+r.IntN(40), 1+r.IntN(30)
			l := nn.NewLinear(in, out, true)
			nn.SetPrecision(l, gpk.FullPrecision)
			w, wa := values(r, 1, out, in)
			b, ba := values(r, 1, out)
			if err := errors.Join(l.Weight.Set(wa), l.Bias.Set(ba)); err != nil {
				t.Fatal(err)
			}
			xs, x := values(r, 1, rows, in)
			m := float64(in+n+2) * math.Ldexp(1, -24)
			bound := m / (1 - m)
			ranks(t, n, func(c *dist.Comm) error {
				p, err := nn.NewRowParallel(c, l)
				if err != nil {
					return err
				}
				p.Chunks = chunks
				k := in / n * c.Rank()
				y := p.Forward(x.Slice(-1, k, k+in/n))
				if n == 1 {
					return sameBits(y, l.Forward(x))
				}
				got, err := gpk.ToSlice[float32](y)
				if err != nil {
					return err
				}
				for i := range rows {
					for j := range out {
						sum, size := float64(b[j]), math.Abs(float64(b[j]))
						for q := range in {
							v := float64(xs[i*in+q]) * float64(w[j*in+q])
							sum, size = sum+v, size+math.Abs(v)
						}
						if d := math.Abs(float64(got[i*out+j]) - sum); !(d <= bound*size) {
							return fmt.Errorf("%d ranks, %d chunks: element %d, %d of %dx%d is %v, want %v within %v", n, chunks, i, j, rows, out, got[i*out+j], sum, bound*size)
						}
					}
				}
				// All ranks have the same bits.
				first := c.Broadcast(y, 0)
				return sameBits(y, first)
			})
		}
	}
}

// closeTo says where two arrays of float32 differ by more than a part of the largest element.
func closeTo(got, want *gpk.Array, tol float64) error {
	a, err := gpk.ToSlice[float32](got)
	if err != nil {
		return err
	}
	b, err := gpk.ToSlice[float32](want)
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
	empty    func(c *dist.Comm) (nn.Module, func(x *gpk.Array) *gpk.Array, error) // of a layer whose parameters are not set
}

// layers returns the layers of several products, with as many features as n ranks share.
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

// TestParallelLayers compares layers of 1, 2 and 4 ranks with the layers that they are made of, and those
// that are filled from the layers' file: the parameters have the same names, and a rank reads no more
// than its parts.
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

// loaded fills a layer from a file, and from weights that have no slices, and compares both.
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

// TestParallelLoadErrors: a file whose weights are of another shape or type than those of the whole layer.
func TestParallelLoadErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	err := safetensors.WriteFile(path, map[string]*gpk.Array{
		"up.weight": gpk.Ones(gpk.Float32, 12, 4), "up.bias": gpk.Ones(gpk.Int32, 8),
		"down.weight": gpk.Ones(gpk.Float32, 4, 8), "more": gpk.Ones(gpk.Float32, 1),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ranks(t, 2, func(c *dist.Comm) error {
		p, err := nn.NewParallelMLP(c, nn.NewMLP(4, 8, nn.ReLU, true))
		if err != nil {
			return err
		}
		f, err := safetensors.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		for _, w := range []nn.Weights{nn.FromFile(f), struct{ nn.Weights }{nn.FromFile(f)}} {
			err = nn.Load(p, w, nn.LoadOptions{})
			for _, say := range []string{"up.weight is [12 4], not [8 4]", "up.bias is int32", "missing: down.bias [4]", "unexpected: more"} {
				if err == nil || !strings.Contains(err.Error(), say) {
					return fmt.Errorf("%v lacks %q", err, say)
				}
			}
		}
		return nil
	})
}

// TestParallelRefusals: sizes that the ranks do not divide, with both numbers, and layers and Comms that are none.
func TestParallelRefusals(t *testing.T) {
	ranks(t, 3, func(c *dist.Comm) error {
		column, err1 := nn.NewColumnParallel(c, nn.NewLinear(6, 8, true))
		row, err2 := nn.NewRowParallel(c, nn.NewLinear(8, 6, true))
		mlp, err3 := nn.NewParallelMLP(c, nn.NewMLP(6, 11008, nn.SiLU, false))
		gated, err4 := nn.NewParallelGatedMLP(c, nn.NewGatedMLP(6, 8, nn.SiLU, false))
		heads, err5 := nn.NewParallelAttention(c, nn.NewMultiHeadAttention(6, 8, 8, 3, true))
		keys, err6 := nn.NewParallelAttention(c, nn.NewMultiHeadAttention(6, 6, 2, 3, true))
		if column != nil || row != nil || mlp != nil || gated != nil || heads != nil || keys != nil {
			return errors.New("a layer of sizes that 3 ranks do not divide")
		}
		for i, err := range []error{err1, err2, err3, err4, err5, err6} {
			say := []string{"3 does not divide 8", "3 does not divide 8", "up: shape: 11008 features cannot be dealt to 3 ranks", "3 does not divide 8", "8 heads", "3 does not divide 2"}[i]
			if !errors.Is(err, gpk.ErrShape) || !strings.Contains(err.Error(), say) {
				return fmt.Errorf("%d: %v", i, err)
			}
		}
		_, err1 = nn.NewColumnParallel(nil, nn.NewLinear(1, 1, true))
		_, err2 = nn.NewParallelMLP(c, nil)
		part, err := nn.NewColumnParallel(c, nn.NewLinear(6, 9, true))
		_, err3 = nn.NewColumnParallel(c, part.Linear)
		for i, err := range []error{err1, err2, err3} {
			if !errors.Is(err, gpk.ErrUnsupported) {
				return fmt.Errorf("%d: %v", i, err)
			}
		}
		return err
	})
}

// TestParallelErrors: an error of one rank, and ranks that disagree, are errors in all ranks that name the
// rank. Afterwards the ranks go on.
func TestParallelErrors(t *testing.T) {
	r := seeded(t)
	m, _ := filled(t, r, nn.NewMLP(6, 8, nn.GELU, true))
	_, x := values(r, 1, 12, 6)
	_, shorter := values(r, 1, 8, 6) // two chunks of 4 rows: as long as the first two of three
	failed := x.Add(gpk.Ones(gpk.Float32, 5))
	goroutines := runtime.NumGoroutine()
	ranks(t, 4, func(c *dist.Comm) error {
		p, err := nn.NewParallelMLP(c, m)
		if err != nil {
			return err
		}
		unset, err := nn.NewParallelMLP(c, nn.NewMLP(6, 8, nn.GELU, true))
		if err != nil {
			return err
		}
		for i, k := range []struct {
			x      *gpk.Array // of rank 2
			chunks int
			layer  *nn.ParallelMLP
			is     error
		}{
			{failed, 3, p, gpk.ErrShape},
			{gpk.Ones(gpk.Float32, 12, 7), 3, p, gpk.ErrShape},
			{gpk.Ones(gpk.Int32, 12, 6), 3, p, gpk.ErrDType},
			{x, 3, unset, gpk.ErrUnsupported},
			{x, 2, p, gpk.ErrShape},
			{shorter, 2, p, gpk.ErrShape},
			{gpk.Ones(gpk.Float32, 11, 6), 3, p, gpk.ErrShape},
		} {
			layer, in := p, x
			p.Down.Chunks = 3
			if c.Rank() == 2 {
				layer, in, p.Down.Chunks = k.layer, k.x, k.chunks
			}
			y := layer.Forward(in)
			var of *dist.RankError
			if err := y.Err(); !errors.Is(err, k.is) || !errors.As(err, &of) || of.Rank != 2 {
				return fmt.Errorf("%d: rank %d: %v", i, c.Rank(), err)
			}
			p.Down.Chunks = 3
			if err := closeTo(p.Forward(x), m.Forward(x), 1e-5); err != nil {
				return fmt.Errorf("%d: afterwards: %w", i, err)
			}
		}
		return nil
	})
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > goroutines; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), goroutines)
		}
	}
}

// TestParallelScope: what parallel layers compute is freed with the scope of their input, but for what
// is kept.
func TestParallelScope(t *testing.T) {
	r := seeded(t)
	m, _ := filled(t, r, nn.NewMLP(32, 64, nn.GELU, true))
	_, x := values(r, 1, 100, 32)
	ranks(t, 2, func(c *dist.Comm) error {
		p, err := nn.NewParallelMLP(c, m)
		if err != nil {
			return err
		}
		for _, chunks := range []int{1, 4} {
			p.Down.Chunks = chunks
			s := gpk.NewScope()
			y := p.Forward(s.In(x))
			kept := s.Keep(p.Forward(s.In(x)))
			if err := errors.Join(gpk.Eval(y), s.Close()); err != nil {
				return err
			}
			if err := y.Err(); !errors.Is(err, gpk.ErrFreed) {
				return fmt.Errorf("%d chunks: behind the scope: %v", chunks, err)
			}
			if err := closeTo(kept, m.Forward(x), 1e-5); err != nil {
				return err
			}
			kept.Free()
		}
		return nil
	})
}

// TestOverlap: while a rank waits in the AllReduce of the first chunk, the products of the others are
// computed. The other rank calls Forward only once it sees an allocation for each.
func TestOverlap(t *testing.T) {
	const rows, out, chunks = 4096, 256, 32
	l, _ := filled(t, seeded(t), nn.NewLinear(8, out, false))
	ranks(t, 2, func(c *dist.Comm) error {
		p, err := nn.NewRowParallel(c, l)
		if err != nil {
			return err
		}
		p.Chunks = chunks
		x := gpk.Ones(gpk.Float32, rows, 4)
		if err := gpk.Eval(x, p.Linear.Forward(gpk.Ones(gpk.Float32, 1, 4))); err != nil { // which packs the weight
			return err
		}
		allocations := func() uint64 { return c.Device().Pool().Allocs + c.Device().Pool().Reuses }
		before := allocations()
		if err := c.Barrier(t.Context()); err != nil { // both have counted
			return err
		}
		if c.Rank() == 1 {
			for end := time.Now().Add(10 * time.Second); allocations() < before+chunks; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					return fmt.Errorf("%d allocations for %d products", allocations()-before, chunks)
				}
			}
		}
		return p.Forward(x).Err()
	})
}

// TestRowShapes: RowParallel takes the shapes, types and activations that Linear takes. In bfloat16 the
// rounding of two products and of their sum is three times 2^-9 of numbers that are at most twice the largest.
func TestRowShapes(t *testing.T) {
	r := seeded(t)
	for _, dt := range []gpk.DType{gpk.Float32, gpk.BFloat16} {
		for _, act := range []nn.Activation{nn.Identity, nn.GELU, nn.GELUTanh, nn.ReLU, nn.SiLU} {
			l, _ := filled(t, r, nn.NewLinear(8, 6, true))
			l.Activation = act
			if err := nn.Cast(l, dt); err != nil {
				t.Fatal(err)
			}
			for _, shape := range [][]int{{8}, {0, 8}, {2, 0, 8}, {1, 8}, {2, 3, 8}, {2, 1, 2, 8}} {
				_, x := values(r, 1, shape...)
				x = x.Cast(dt)
				want := l.Forward(x)
				ranks(t, 2, func(c *dist.Comm) error {
					p, err := nn.NewRowParallel(c, l)
					if err != nil {
						return err
					}
					p.Chunks = 2
					y := p.Forward(x.Slice(-1, 4*c.Rank(), 4*c.Rank()+4))
					if y.DType() != dt || !slices.Equal(y.Shape(), want.Shape()) {
						return fmt.Errorf("%v: %v %v, want %v", shape, y.DType(), y, want.Shape())
					}
					if want.Size() == 0 {
						return gpk.Eval(y)
					}
					tol := map[gpk.DType]float64{gpk.Float32: 1e-5, gpk.BFloat16: 6 * math.Ldexp(1, -9)}[dt]
					return closeTo(y.Cast(gpk.Float32), want.Cast(gpk.Float32), tol)
				})
			}
		}
	}
}

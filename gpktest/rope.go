package gpktest

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/bigmath"
)

// ropeTypes are the types of RoPE.
var ropeTypes = []gpk.DType{gpk.Float32, gpk.Float64, gpk.Float16, gpk.BFloat16}

// ropeCase is one problem: x is [batch, heads, rows, dim], or ragged [heads, rows, dim].
type ropeCase struct {
	gpk.RoPEOptions
	x           tensor
	ragged      bool
	positions   []int64 // positions of [batch, rows]
	given       string  // how the program says them: "", "rows", "batch"
	positionsDT gpk.DType
	arrangement string
}

func (c *ropeCase) String() string {
	scaling := ""
	if c.Scaling != nil {
		scaling = fmt.Sprintf("%+v", *c.Scaling)
	}
	return fmt.Sprintf("%v %v, base %v, interleaved %v, Dim %d, scaling %s, %v positions of %q, ragged %v, %s",
		c.x.dt, c.x.shape, c.Base, c.Interleaved, c.Dim, scaling, c.positionsDT, c.given, c.ragged, c.arrangement)
}

// rope draws a problem.
func (s *suite) rope(dt gpk.DType) *ropeCase {
	c := &ropeCase{ragged: s.rng.IntN(3) == 0, positionsDT: pick(s, gpk.Int32, gpk.Int64)}
	batch, rows := 1+s.rng.IntN(3), pick(s, 0, 1, 1, 2, 5, 16, 17, 33)
	if c.ragged {
		batch = 1
	}
	dim := pick(s, 2, 4, 6, 32, 34, 64, 128, 3, 7, 33, 0)
	if c.Dim = dim &^ 1; dim%2 == 0 {
		c.Dim = 0
		if s.rng.IntN(3) == 0 {
			c.Dim = 2 * s.rng.IntN(dim/2+1)
		}
	}
	c.Base, c.Interleaved = pick(s, 0, 10000, 500000, 100.5), s.rng.IntN(2) == 0
	if s.rng.IntN(3) == 0 {
		c.Scaling = &gpk.RoPEScaling{Factor: pick(s, 8, 32, 0.5), LowFreqFactor: 1, HighFreqFactor: 4, OriginalPositions: pick(s, 64, 8192)}
	}
	c.given = pick(s, "", "rows", "batch")
	if c.ragged && c.given == "batch" {
		c.given = "rows"
	}
	c.positions = make([]int64, batch*rows)
	largest := pick(s, int64(40), 5000, 1_000_000)
	for i := range c.positions {
		switch {
		case c.given == "":
			c.positions[i] = int64(i % rows)
		case c.given == "rows" && i >= rows:
			c.positions[i] = c.positions[i-rows]
		default:
			c.positions[i] = s.rng.Int64N(2*largest+1) - largest
		}
	}
	c.x = s.random(dt, batch, 1+s.rng.IntN(4), rows, dim)
	c.arrangement = pick(s, "dense", "transposed", "strided", "reversed")
	return c
}

// arrays puts the operands on the device, as the arrangement says.
func (c *ropeCase) arrays(s *suite) (x, positions *gpk.Array) {
	switch c.arrangement {
	case "transposed": // [batch, rows, heads, dim]
		x = c.x.transpose([]int{0, 2, 1, 3}).array().Transpose(0, 2, 1, 3)
	case "strided":
		x = s.inside(c.x, 1, 2)
	case "reversed":
		x = backwards(backwards(reversed(c.x).array(), 3), 2)
	default:
		x = c.x.array()
	}
	if c.ragged {
		x = x.Squeeze(0)
	}
	batch, rows := c.x.shape[0], c.x.shape[2]
	switch c.given {
	case "":
		return x, nil
	case "rows":
		positions = gpk.FromSlice(c.positions[:rows], rows)
	default:
		positions = gpk.FromSlice(c.positions, batch, rows)
	}
	if positions = positions.Cast(c.positionsDT); c.arrangement == "strided" {
		positions = gpk.Stack(-1, positions, positions.Mul(7)).Slice(-1, 0, 1).Squeeze(-1)
	}
	return x, positions
}

// dims are how many features are turned, and how many there are.
func (c *ropeCase) dims() (turned, dim int) {
	if dim = c.x.shape[3]; c.Dim == 0 {
		return dim, dim
	}
	return c.Dim, dim
}

// frequency is the radians a position of pair i, in float64, by the rule as Llama 3.1 was
// published with it, and the larger of the frequencies it is interpolated between: one unscaled,
// one divided by Factor. The interpolation is a difference, so its error is that of the larger.
//
// steps is how many roundings of float64 the larger may be off by: a power is computed as
// the exponential of a logarithm, whose own rounding counts as often as it is large.
func (c *ropeCase) frequency(i int) (f, larger, steps float64) {
	base := c.Base
	if base == 0 {
		base = 10000
	}
	turned, _ := c.dims()
	f = exactFrequency(base, turned, i)
	steps = 8 + 4*math.Abs(math.Log(f))
	larger = f
	if r := c.Scaling; r != nil {
		larger = max(f, f/r.Factor)
		wavelength, context := 2*math.Pi/f, float64(r.OriginalPositions)
		switch {
		case wavelength < context/r.HighFreqFactor:
		case wavelength > context/r.LowFreqFactor:
			f /= r.Factor
		default:
			smooth := (context/wavelength - r.LowFreqFactor) / (r.HighFreqFactor - r.LowFreqFactor)
			f = (1-smooth)*f/r.Factor + smooth*f
		}
	}
	return f, larger, steps
}

// exactFrequencies keeps what exactFrequency has computed, by its arguments.
var exactFrequencies sync.Map

// exactFrequency is base^(-2i/n), rounded once to float64.
func exactFrequency(base float64, n, i int) float64 {
	key := [3]float64{base, float64(n), float64(i)}
	if f, ok := exactFrequencies.Load(key); ok {
		return f.(float64)
	}
	exponent := bigmath.Quo(bigmath.Of(float64(-2*i)), bigmath.Of(float64(n)))
	f, _ := bigmath.Exp(bigmath.Mul(exponent, bigmath.Log(bigmath.Of(base)))).Float64()
	exactFrequencies.Store(key, f)
	return f
}

// pair returns the features of pair i.
func (c *ropeCase) pair(i int) (first, second int) {
	if turned, _ := c.dims(); !c.Interleaved {
		return i, i + turned/2
	}
	return 2 * i, 2*i + 1
}

// check compares a result with the reference, and returns the largest error in units of the
// last place of the reference, beyond what the angle explains: where the two products nearly
// cancel, a rounding of the angle in float64 is many units of the small result.
//
// An angle may lose some roundings of float64. Where not all of it is float64, the cosines,
// sines, products and sums are rounded to float32.
func (c *ropeCase) check(got tensor, inFloat64 bool) (ulps float64, err error) {
	turned, dim := c.dims()
	heads, rows := c.x.shape[1], c.x.shape[2]
	pairs := make([]struct{ f, larger, steps float64 }, turned/2)
	for i := range pairs {
		pairs[i].f, pairs[i].larger, pairs[i].steps = c.frequency(i)
	}
	for line := range size(c.x.shape[:3]) {
		position := float64(c.positions[line/(heads*rows)*rows+line%rows])
		x, y := c.x.values[line*dim:][:dim], got.values[line*dim:][:dim]
		for i := turned; i < dim; i++ {
			if y[i] != x[i] && !same(real(y[i]), real(x[i])) {
				return ulps, fmt.Errorf("line %d, feature %d: %v, want a copy of %v", line, i, y[i], x[i])
			}
		}
		for i := range turned / 2 {
			f, larger, steps := pairs[i].f, pairs[i].larger, pairs[i].steps
			sin, cos := math.Sincos(position * f)
			j, k := c.pair(i)
			p, q := real(x[j]), real(x[k])
			lost := 0x1p-53 * (8 + steps*math.Abs(position*larger)) * math.Hypot(p, q)
			if !inFloat64 && c.x.dt != gpk.Float64 {
				lost += 3.5 * 0x1p-24 * math.Hypot(p, q)
			}
			for at, w := range map[int]float64{j: p*cos - q*sin, k: q*cos + p*sin} {
				g, w := real(y[at]), real(round(c.x.dt, complex(w, 0)))
				if math.IsNaN(w) || math.IsInf(w, 0) || same(g, w) {
					if !same(g, w) {
						return ulps, fmt.Errorf("line %d, feature %d at %v: %v, want %v", line, at, position, g, w)
					}
					continue
				}
				unit := spacing(c.x.dt, w)
				ulps = max(ulps, (math.Abs(g-w)-lost)/unit)
				// Rounding both, and half types from float32, differs by one unit.
				if bound := lost + unit; !(math.Abs(g-w) <= bound) {
					return ulps, fmt.Errorf("line %d, feature %d at %v: %v, want %v: %.3g times what rounding explains", line, at, position, g, w, math.Abs(g-w)/bound)
				}
			}
		}
	}
	return ulps, nil
}

// rotate computes the problem into poisoned memory, at random into a view.
func (c *ropeCase) rotate(t testing.TB, s *suite) tensor {
	t.Helper()
	x, positions := c.arrays(s)
	r := gpk.RoPEWith(x, positions, c.RoPEOptions)
	if err := r.Err(); err != nil {
		t.Fatalf("%v: %v", c, err)
	}
	return s.evaluateInto(t, r)
}

// plain computes the rotation by plain operations, in float64 until the result is rounded.
func (c *ropeCase) plain(s *suite) *gpk.Array {
	turned, dim := c.dims()
	x, _ := c.arrays(s)
	if c.ragged {
		x = x.Unsqueeze(0)
	}
	batch, rows := c.x.shape[0], c.x.shape[2]
	frequencies := make([]float64, turned/2)
	for i := range frequencies {
		frequencies[i], _, _ = c.frequency(i)
	}
	angles := gpk.FromSlice(c.positions, batch, 1, rows, 1).Cast(gpk.Float64).Mul(gpk.FromSlice(frequencies, turned/2))
	cos, sin := angles.Cos(), angles.Sin()
	wide := x.Cast(gpk.Float64)
	first, second := wide.Slice(3, 0, turned/2), wide.Slice(3, turned/2, turned)
	if c.Interleaved {
		first, second = wide.Slice(3, 0, turned, 2), wide.Slice(3, 1, turned, 2)
	}
	out1, out2 := first.Mul(cos).Sub(second.Mul(sin)), second.Mul(cos).Add(first.Mul(sin))
	whole := gpk.Concat(3, out1, out2)
	if c.Interleaved {
		shape := append(whole.Shape()[:3], turned)
		whole = gpk.Stack(4, out1, out2).Reshape(shape...)
	}
	return gpk.Concat(3, whole, wide.Slice(3, turned, dim)).Cast(c.x.dt)
}

// testRoPE compares random problems of every type, and their twins of plain operations, with
// a reference in float64.
func testRoPE(t *testing.T, s *suite) {
	onCPU := s.dev.Kind() == device.CPU
	worst := map[gpk.DType]float64{}
	for i := range rounds(1000, 200) {
		c := s.rope(ropeTypes[i%len(ropeTypes)])
		ulps, err := c.check(c.rotate(t, s), onCPU)
		if err != nil {
			t.Fatalf("problem %d, %v: %v", i, c, err)
		}
		if c.x.dt != gpk.Float64 { // the angles of float64 are not exact to the last place
			worst[c.x.dt] = max(worst[c.x.dt], ulps)
		}
		if turned, _ := c.dims(); turned > 0 {
			if _, err := c.check(evaluate(t, c.plain(s)), true); err != nil {
				t.Fatalf("problem %d, %v, by plain operations: %v", i, c, err)
			}
		}
	}
	t.Logf("the largest errors beyond the angle's, in units of the last place: %v", worst) // check has bounded them
	for range 40 {                                                                         // NaN and infinities stay in their pair
		c := s.rope(pick(s, ropeTypes...))
		for range min(3, len(c.x.values)) {
			c.x.values[s.rng.IntN(len(c.x.values))] = complex(pick(s, math.NaN(), math.Inf(1), math.Inf(-1)), 0)
		}
		if _, err := c.check(c.rotate(t, s), onCPU); err != nil {
			t.Fatalf("not finite, %v: %v", c, err)
		}
	}
}

// testRoPEForms checks that RoPE equals RoPEWith without options, that the bits do not depend on
// heads, batches and views, and that graphs and scopes work.
func testRoPEForms(t *testing.T, s *suite) {
	for range 20 {
		c := s.rope(pick(s, ropeTypes...))
		want := c.rotate(t, s)
		other := *c
		other.arrangement = "dense"
		equal(t, c.String()+", dense", other.rotate(t, s), want)
		if turned, dim := c.dims(); turned == dim {
			other.RoPEOptions = gpk.RoPEOptions{Base: c.Base}
			x, positions := other.arrays(s)
			equal(t, c.String()+", RoPE", evaluate(t, gpk.RoPE(x, positions, c.Base)), other.rotate(t, s))
		}
	}
	c := s.rope(gpk.Float32)
	for c.given == "" || len(c.x.values) == 0 {
		c = s.rope(gpk.Float32)
	}
	c.arrangement = "dense"
	x, positions := c.arrays(s)
	g, err := gpk.Capture([]*gpk.Array{x, positions}, func(in []*gpk.Array) []*gpk.Array {
		return []*gpk.Array{gpk.RoPEWith(in[0], in[1], c.RoPEOptions)}
	})
	noError(t, err)
	defer g.Free()
	noError(t, g.Replay())
	equal(t, c.String()+", replayed", read(t, g.Outputs()[0]), c.rotate(t, s))
	for i := range c.positions {
		c.positions[i]++
	}
	_, next := c.arrays(s)
	noError(t, positions.CopyFrom(next))
	noError(t, g.Replay())
	equal(t, c.String()+", replayed at the next positions", read(t, g.Outputs()[0]), c.rotate(t, s))

	scaling := gpk.RoPEScaling{Factor: 8, LowFreqFactor: 1, HighFreqFactor: 4, OriginalPositions: 64}
	pending := gpk.RoPEWith(x, positions, gpk.RoPEOptions{Dim: c.Dim, Scaling: &scaling})
	scaling.Factor = -1 // after the line
	if _, err := gpk.ToSlice[float32](pending); err != nil {
		t.Error(err)
	}
	s.leavesNothing(t, "RoPE", func(c *gpk.Scope) []*gpk.Array {
		return []*gpk.Array{gpk.RoPEWith(c.In(x), positions, gpk.RoPEOptions{Dim: scaledDim(x)})}
	})
}

// scaledDim returns the largest even number of features of x.
func scaledDim(x *gpk.Array) int { return x.Shape()[x.NDim()-1] &^ 1 }

// leavesNothing computes and reads arrays in a scope, which frees them. Reading them settles
// the errors that the device may find, whose memory is then free.
func (s *suite) leavesNothing(t *testing.T, what string, f func(c *gpk.Scope) []*gpk.Array) {
	t.Helper()
	var lost []*gpk.Array
	before := int64(0)
	for i := range 5 {
		noError(t, gpk.Scoped(func(c *gpk.Scope) error {
			lost = f(c)
			for _, a := range lost {
				read(t, a)
			}
			return gpk.Eval(lost...)
		}))
		now := s.dev.Pool().InUse
		if i > 0 && now > before {
			t.Errorf("%s: %d bytes are in use after a scope, %d before", what, now, before)
		}
		before = now
	}
	for i, a := range lost {
		if err := gpk.Eval(a); !errors.Is(err, gpk.ErrFreed) {
			t.Errorf("%s: result %d outlives its scope: %v", what, i, err)
		}
	}
}

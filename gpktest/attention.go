package gpktest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/matmul"
)

// attentionVarieties are the types and precisions of Attention, with the relative
// error that the results of many problems together may have.
var attentionVarieties = []variety{
	{"fp32", gpk.Float32, []matmul.Option{gpk.FullPrecision}, 3e-6},
	{"tf32", gpk.Float32, []matmul.Option{gpk.TF32}, 2e-3},
	{"bf16", gpk.BFloat16, nil, 4e-3},
	{"fp16", gpk.Float16, nil, 6e-4},
	{"fp64", gpk.Float64, nil, 1e-14},
}

// attentionCase is one problem of Attention with its operands on the host. The operands of a
// ragged batch have a batch of 1.
type attentionCase struct {
	variety
	batch, kvHeads, group  int
	queries, keys          int
	dim, valueDim          int
	causal                 bool
	scale                  float64
	offsets                []int // ragged: of the sequences; nil otherwise
	q, k, v, mask          tensor
	masked                 bool
	arrangement, maskShape string
}

func (c *attentionCase) String() string {
	return fmt.Sprintf("%s batch %d, heads %dx%d, %d queries, %d keys, dims %d and %d, causal %v, scale %v, offsets %v, mask %v %v, %s",
		c.name, c.batch, c.kvHeads, c.group, c.queries, c.keys, c.dim, c.valueDim, c.causal, c.scale, c.offsets, c.mask.dt, c.maskShape, c.arrangement)
}

// pick returns one of the values at random.
func pick[T any](s *suite, values ...T) T { return values[s.rng.IntN(len(values))] }

// attentionWork bounds the multiplications of a random problem.
const attentionWork = 1 << 21

// attention draws a problem.
func (s *suite) attention(v variety) *attentionCase {
	c := &attentionCase{variety: v}
	for {
		c.batch, c.kvHeads, c.group = 1+s.rng.IntN(3), 1+s.rng.IntN(3), pick(s, 1, 1, 1, 2, 3, 8)
		lengths := []int{0, 1, 1, 2, 3, 4, 5, 15, 16, 17, 31, 33, 37, 63, 64, 65, 100, 127, 128, 129, 130, 200, 255, 257, 300}
		c.queries, c.keys = pick(s, lengths...), pick(s, lengths...)
		if s.rng.IntN(3) == 0 {
			c.keys = c.queries
		}
		c.dim = pick(s, 32, 64, 80, 96, 128, 256, 1, 3, 7, 33, 65, 0)
		c.valueDim = c.dim
		if s.rng.IntN(4) == 0 {
			c.valueDim = pick(s, 1, 5, 16, 31, 32, 33, 64, 96, 0)
		}
		if s.rng.IntN(3) == 0 {
			c.ragged(s)
		} else {
			c.offsets = nil
		}
		if c.batch*c.kvHeads*c.group*c.queries*c.keys*(c.dim+c.valueDim) <= attentionWork {
			break
		}
	}
	c.causal = s.rng.IntN(2) == 0
	if s.rng.IntN(3) == 0 {
		c.scale = pick(s, 0.3, -0.5, 1, 0.01)
	}
	heads := c.kvHeads * c.group
	c.q = s.random(v.in, c.batch, heads, c.queries, c.dim)
	c.k = s.random(v.in, c.batch, c.kvHeads, c.keys, c.dim)
	c.v = s.random(v.in, c.batch, c.kvHeads, c.keys, c.valueDim)
	c.arrangement = pick(s, "dense", "transposed", "strided", "reversed")
	if c.offsets == nil && s.rng.IntN(2) == 0 {
		c.addMask(s)
	}
	return c
}

// ragged makes the problem ragged: one batch of rows, cut into sequences.
func (c *attentionCase) ragged(s *suite) {
	c.batch, c.offsets, c.queries = 1, []int{0}, 0
	for range s.rng.IntN(6) {
		c.queries += pick(s, 0, 1, 2, 3, 16, 17, 37, 64, 70, 130)
		c.offsets = append(c.offsets, c.queries)
	}
	c.keys = c.queries
}

// addMask gives the problem a mask of a random type and shape that hides all keys from some
// queries.
func (c *attentionCase) addMask(s *suite) {
	c.masked = true
	full := []int{c.batch, c.kvHeads * c.group, c.queries, c.keys}
	shape := slices.Clone(full)
	switch s.rng.IntN(4) {
	case 0: // one row of the mask for all heads and queries of a sequence
		shape[1], shape[2] = 1, 1
	case 1:
		shape = shape[2:]
	case 2:
		shape[s.rng.IntN(4)] = 1
	}
	c.maskShape = fmt.Sprint(shape)
	dt := pick(s, gpk.Bool, gpk.Bool, gpk.Float32, gpk.BFloat16, gpk.Float16, gpk.Float64, gpk.Int8)
	c.mask = s.random(dt, shape...)
	hidden := pick(s, 0, 0.1, 0.9)
	last := max(shape[len(shape)-1], 1)
	for i := range size(shape) {
		hide := s.rng.Float64() < hidden || i/last%7 == 3 && hidden > 0
		switch {
		case dt == gpk.Bool:
			c.mask.ints[i] = 1
			if hide {
				c.mask.ints[i] = 0
			}
		case dt == gpk.Int8:
			c.mask.ints[i] %= 4
		case hide:
			c.mask.values[i] = complex(math.Inf(-1), 0)
		case dt == gpk.Float64: // rounded to float32 where the scores are
			c.mask.values[i] = round(gpk.Float32, c.mask.values[i])
		}
	}
}

// arrays puts the operands on the device in the case's memory layout.
func (c *attentionCase) arrays(s *suite) (q, k, v *gpk.Array, opts gpk.AttentionOptions) {
	put := func(x tensor) *gpk.Array {
		var a *gpk.Array
		switch c.arrangement {
		case "transposed": // [batch, rows, heads, dim]
			a = x.transpose([]int{0, 2, 1, 3}).array().Transpose(0, 2, 1, 3)
		case "strided":
			a = s.inside(x, 1, 2)
		case "reversed":
			a = backwards(backwards(reversed(x).array(), 3), 2)
		default:
			a = x.array()
		}
		if c.offsets != nil {
			a = a.Squeeze(0)
		}
		return a
	}
	opts = gpk.AttentionOptions{Causal: c.causal, Scale: c.scale}
	if len(c.opts) > 0 {
		opts.Precision = c.opts[0].(matmul.Precision)
	}
	if c.masked {
		opts.Mask = c.mask.array()
	}
	if c.offsets != nil {
		opts.Offsets = offsetsOf(c.offsets...)
	}
	return put(c.q), put(c.k), put(c.v), opts
}

func offsetsOf(at ...int) *gpk.Array {
	data := make([]int32, len(at))
	for i, v := range at {
		data[i] = int32(v)
	}
	return gpk.FromSlice(data)
}

// row is a query's reference: its scores, its weights, and the sums of |q||k|.
type attentionRow struct {
	scores, weights, moduli []float64
	least, largest          float64 // extremes of the scores that are not masked
}

// row computes the weights of query i of a head in float64. Keys run from first to end.
func (c *attentionCase) row(batch, head, i, first, end, n int) attentionRow {
	m := end - first
	r := attentionRow{scores: make([]float64, m), weights: make([]float64, m), moduli: make([]float64, m), largest: math.Inf(-1)}
	heads, scale := c.kvHeads*c.group, c.scale
	if scale == 0 && c.dim > 0 {
		scale = 1 / math.Sqrt(float64(c.dim))
	}
	q := c.q.values[((batch*heads+head)*c.queries+i)*c.dim:][:c.dim]
	for j := range m {
		k := c.k.values[((batch*c.kvHeads+head/c.group)*c.keys+first+j)*c.dim:][:c.dim]
		for d, x := range q {
			r.scores[j] += real(x) * real(k[d])
			r.moduli[j] += math.Abs(real(x) * real(k[d]))
		}
		r.scores[j], r.moduli[j] = r.scores[j]*scale, r.moduli[j]*math.Abs(scale)
		if c.masked {
			switch p := at(c.mask.shape, []int{batch, head, i, j}[4-len(c.mask.shape):]); {
			case c.mask.dt == gpk.Bool && c.mask.ints[p] == 0:
				r.scores[j] = math.Inf(-1)
			case c.mask.dt == gpk.Bool:
			case exact(c.mask.dt):
				r.scores[j] += float64(c.mask.ints[p])
			default:
				r.scores[j] += real(c.mask.values[p])
			}
		}
		if c.causal && j > i-first+m-n {
			r.scores[j] = math.Inf(-1)
		}
		r.largest = max(r.largest, r.scores[j])
	}
	if r.least = r.largest; math.IsInf(r.largest, -1) {
		return r // this query sees no key
	}
	total := 0.0
	for j, v := range r.scores {
		if !math.IsInf(v, -1) {
			r.weights[j], r.least = math.Exp(v-r.largest), min(r.least, v)
			total += r.weights[j]
		}
	}
	for j := range r.weights {
		r.weights[j] /= total
	}
	return r
}

// attentionErrors gathers the errors of many problems of a variety.
type attentionErrors struct{ diff2, norm2, worst float64 }

// check compares a result with the reference.
//
// The error of a score is that of its product and of two roundings: of the scaled query and
// of the sum with the mask. A weight is the exponential of a difference of two scores. Its
// error adds the errors of both scores, the rounding of the difference, and the error of the
// exponential; the last one counts once more for every block of keys, because the blocks'
// maxima multiply the weight. The two sums over the keys have the error of a product of that
// depth. A GPU rounds the weights to the type before it multiplies them.
func (c *attentionCase) check(s *suite, got tensor, e *attentionErrors) error {
	kind := s.dev.Kind()
	rounding := c.rounding(kind)
	unit := 0x1p-24
	if c.in == gpk.Float64 {
		unit = 0x1p-53
	}
	scoring := rounding.factor(c.dim, false) + 3*unit
	heads := c.kvHeads * c.group
	for row := range c.batch * heads * c.queries {
		batch, head, i := row/(heads*c.queries), row/c.queries%heads, row%c.queries
		first, end, n := 0, c.keys, c.queries
		for q := 1; q < len(c.offsets); q++ {
			if i >= c.offsets[q-1] && i < c.offsets[q] {
				first, end, n = c.offsets[q-1], c.offsets[q], c.offsets[q]-c.offsets[q-1]
			}
		}
		r := c.row(batch, head, i, first, end, n)
		lost := 0.0
		for j, v := range r.scores {
			if !math.IsInf(v, -1) {
				lost = max(lost, scoring*r.moduli[j]+2*unit*(math.Abs(v)+r.moduli[j]))
			}
		}
		if math.IsInf(r.largest, -1) {
			r.least, r.largest = 0, 0
		}
		blocks := float64(len(r.scores)/128 + 1)
		weighing := 2*lost + 4*unit*min(r.largest-r.least, 200) + 12*blocks*unit
		if kind != device.CPU {
			weighing += spacing(c.in, 1) / 2
		}
		summing := rounding.factor(len(r.scores), false) + (float64(len(r.scores))+4*blocks)*unit
		relative := math.Expm1(weighing)*2 + summing
		want, scale, tiny := make([]float64, c.valueDim), make([]float64, c.valueDim), 0.0
		for j, w := range r.weights {
			if math.IsInf(r.scores[j], -1) {
				continue
			}
			v := c.v.values[((batch*c.kvHeads+head/c.group)*c.keys+first+j)*c.valueDim:][:c.valueDim]
			for d, x := range v {
				want[d] += w * real(x)
				scale[d] += w * math.Abs(real(x))
				e.norm2 += w * w * real(x) * real(x)
			}
			tiny += 0x1p-120 + 4*spacing(c.in, 0) // weights that are too small to count
		}
		for d, w := range want {
			bound := relative*scale[d] + tiny
			bound += spacing(c.in, math.Abs(w)+bound) / 2
			g := real(got.values[row*c.valueDim+d])
			diff := math.Abs(g - w)
			e.diff2 += diff * diff
			if q := diff / bound; diff != 0 {
				e.worst = max(e.worst, q)
			}
			if !(diff <= bound) {
				return fmt.Errorf("batch %d, head %d, query %d, element %d: %v, want %v: %.3g times what rounding explains", batch, head, i, d, g, w, diff/bound)
			}
		}
	}
	return nil
}

// attend computes the problem into poisoned memory, at random into a view.
func (c *attentionCase) attend(t testing.TB, s *suite) tensor {
	t.Helper()
	q, k, v, opts := c.arrays(s)
	r := gpk.Attention(q, k, v, opts)
	if err := r.Err(); err != nil {
		t.Fatalf("%v: %v", c, err)
	}
	return s.evaluateInto(t, r)
}

// evaluateInto evaluates r, in one of three cases into a poisoned array whose axes -3 and -2
// are swapped.
func (s *suite) evaluateInto(t testing.TB, r *gpk.Array) tensor {
	t.Helper()
	if s.rng.IntN(3) > 0 {
		return evaluate(t, r)
	}
	n := r.NDim()
	shape := r.Shape()
	shape[n-2], shape[n-3] = shape[n-3], shape[n-2]
	axes := []int{0, 1, 2, 3}[:n]
	axes[n-2], axes[n-3] = n-3, n-2
	dst := poison(r.DType(), shape...).Transpose(axes...)
	noError(t, gpk.Into(dst, r))
	return read(t, dst)
}

// testAttention compares random problems of every type with a reference in float64.
func testAttention(t *testing.T, s *suite) {
	sums := make([]attentionErrors, len(attentionVarieties))
	for i := range rounds(2000, 250) {
		k := i % len(attentionVarieties)
		c := s.attention(attentionVarieties[k])
		if err := c.check(s, c.attend(t, s), &sums[k]); err != nil {
			t.Fatalf("problem %d, %v: %v", i, c, err)
		}
	}
	for i, v := range attentionVarieties {
		e := math.Sqrt(sums[i].diff2 / sums[i].norm2)
		t.Logf("%s: relative error %.3g, the worst element %.3g of its bound", v.name, e, sums[i].worst)
		if !(e <= v.bound) {
			t.Errorf("%s: relative error %.3g, bound %.3g", v.name, e, v.bound)
		}
	}
	s.attentionNonFinite(t)
}

// attentionNonFinite checks the results of attention on operands with NaN and infinities.
func (s *suite) attentionNonFinite(t *testing.T) {
	if s.dev.Kind() != device.CPU {
		return // attention composed of products spreads NaN to other rows of the result
	}
	for range 50 {
		c := s.attention(attentionVarieties[0])
		if c.queries == 0 || c.keys == 0 || c.dim == 0 || c.valueDim == 0 || c.offsets != nil {
			continue
		}
		c.scale = 0
		for range 1 + s.rng.IntN(3) {
			x := pick(s, c.q, c.k, c.v, c.v)
			x.values[s.rng.IntN(len(x.values))] = complex(pick(s, math.NaN(), math.Inf(1), math.Inf(-1)), 0)
		}
		got := c.attend(t, s)
		heads := c.kvHeads * c.group
		for row := range c.batch * heads * c.queries {
			batch, head := row/(heads*c.queries), row/c.queries%heads
			r := c.row(batch, head, row%c.queries, 0, c.keys, c.queries)
			for d := range c.valueDim {
				total, want := 0.0, 0.0
				for j, v := range r.scores {
					if w := math.Exp(v - r.largest); !math.IsInf(v, -1) {
						total += w
						want += w * real(c.v.values[((batch*c.kvHeads+head/c.group)*c.keys+j)*c.valueDim+d])
					}
				}
				if total != 0 {
					want /= total
				}
				if g := real(got.values[row*c.valueDim+d]); !(math.Abs(g-want) < 1e-4) && !same(g, want) {
					t.Fatalf("%v: row %d, element %d is %v, want %v", c, row, d, g, want)
				}
			}
		}
	}
}

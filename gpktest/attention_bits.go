package gpktest

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

// testAttentionBits checks that the bits of a sequence depend on nothing but the
// sequence: not on the run, the number of processors, the rest of the batch, whether the
// batch is ragged, or the layout of the operands.
func testAttentionBits(t *testing.T, s *suite) {
	for range rounds(40, 10) {
		for _, v := range attentionVarieties {
			c := s.attention(v)
			want := c.attend(t, s)
			old := runtime.GOMAXPROCS(1)
			equal(t, c.String()+", one processor", c.attend(t, s), want)
			runtime.GOMAXPROCS(2)
			equal(t, c.String()+", two processors", c.attend(t, s), want)
			runtime.GOMAXPROCS(old)
			other := *c
			other.arrangement = "dense"
			equal(t, c.String()+", dense", other.attend(t, s), want)
			if c.offsets == nil {
				s.alone(t, c, want)
			} else {
				s.unpacked(t, c, want)
			}
		}
	}
}

// batchOf returns element i of the batch as a tensor with a batch of 1.
func (x tensor) batchOf(i int) tensor {
	if len(x.shape) < 4 || x.shape[0] == 1 {
		return x
	}
	return x.slice(0, i, i+1, 1)
}

// alone compares a batch with the results of its sequences, each computed in a call of its own.
func (s *suite) alone(t *testing.T, c *attentionCase, want tensor) {
	t.Helper()
	for i := range c.batch {
		one := *c
		one.batch = 1
		one.q, one.k, one.v = c.q.batchOf(i), c.k.batchOf(i), c.v.batchOf(i)
		if c.masked {
			one.mask = c.mask.batchOf(i)
		}
		equal(t, fmt.Sprintf("%v, sequence %d alone", c, i), one.attend(t, s), want.batchOf(i))
	}
}

// unpacked compares a ragged batch with the results of its sequences, each computed in a call of its own.
func (s *suite) unpacked(t *testing.T, c *attentionCase, want tensor) {
	t.Helper()
	whole := want
	whole.shape = append([]int{1}, want.shape...)
	for i := range c.offsets[1:] {
		from, to := c.offsets[i], c.offsets[i+1]
		one := *c
		one.offsets, one.queries, one.keys = nil, to-from, to-from
		one.q, one.k, one.v = c.q.slice(2, from, to, 1), c.k.slice(2, from, to, 1), c.v.slice(2, from, to, 1)
		equal(t, fmt.Sprintf("%v, sequence %d alone", c, i), one.attend(t, s), whole.slice(2, from, to, 1))
	}
}

// attentionPlans checks that Explain names the kernel on a GPU, or plain operations if no kernel takes the
// problem.
func (s *suite) attentionPlans(t *testing.T) {
	if s.dev.Kind() == device.CPU {
		return
	}
	for _, c := range []struct {
		dt                 gpk.DType
		queries, keys, dim int
		want               string
	}{
		{gpk.BFloat16, 37, 37, 32, "one kernel, attention_tiles"},
		{gpk.Float16, 1, 1024, 128, "one kernel, attention_few"},
		{gpk.Float32, 1, 1024, 128, "one kernel, attention_tiles"},
		{gpk.Float32, 5, 5, 256, "one kernel, attention_tiles"},
		{gpk.Float32, 5, 5, 257, "composed of plain operations"},
		{gpk.Float64, 5, 5, 64, "composed of plain operations"},
	} {
		q, k := gpk.Ones(c.dt, 2, 8, c.queries, c.dim), gpk.Ones(c.dt, 2, 2, c.keys, c.dim)
		if got := gpk.Attention(q, k, k, gpk.AttentionOptions{}).Explain(); !strings.Contains(got, c.want) {
			t.Errorf("%v, %d queries, %d keys, heads of %d: %q does not name %q", c.dt, c.queries, c.keys, c.dim, got, c.want)
		}
	}
}

// testAttentionTwin compares Attention with plain operations: both keep the reference's
// bound.
func testAttentionTwin(t *testing.T, s *suite) {
	s.attentionPlans(t)
	for _, v := range attentionVarieties {
		for range 5 {
			c := s.attention(v)
			for c.offsets != nil || c.group > 1 || c.queries*c.keys*c.dim*c.valueDim == 0 || c.queries > c.keys {
				c = s.attention(v)
			}
			c.masked = false
			var fused, plain attentionErrors
			if err := c.check(s, c.attend(t, s), &fused); err != nil {
				t.Fatalf("%v: %v", c, err)
			}
			if v.in.IsHalf() {
				continue // the twin's scores are rounded to the type
			}
			q, k, w, opts := c.arrays(s)
			scale := opts.Scale
			if scale == 0 {
				scale = 1 / math.Sqrt(float64(c.dim))
			}
			scores := q.MatMul(k.T(), opts.Precision).Mul(scale)
			if c.causal {
				last := gpk.Arange(gpk.Int32, c.queries).Add(c.keys - c.queries).Unsqueeze(1)
				scores = gpk.Where(gpk.Arange(gpk.Int32, c.keys).Le(last), scores, math.Inf(-1))
			}
			if err := c.check(s, evaluate(t, scores.Softmax(-1).MatMul(w, opts.Precision)), &plain); err != nil {
				t.Errorf("%v, by plain operations: %v", c, err)
			}
		}
	}
}

// testAttentionGraph replays a captured attention after its operands have changed.
func testAttentionGraph(t *testing.T, s *suite) {
	for _, v := range attentionVarieties {
		s.raggedGraph(t, v)
	}
	c := s.attention(attentionVarieties[0])
	for c.offsets != nil {
		c = s.attention(attentionVarieties[0])
	}
	c.arrangement = "dense"
	q, k, v, opts := c.arrays(s)
	g, err := gpk.Capture([]*gpk.Array{q}, func(in []*gpk.Array) []*gpk.Array {
		return []*gpk.Array{gpk.Attention(in[0], k, v, opts)}
	})
	noError(t, err)
	defer g.Free()
	noError(t, g.Replay())
	equal(t, c.String()+", replayed", read(t, g.Outputs()[0]), c.attend(t, s))
	c.q = s.random(c.in, c.q.shape...)
	noError(t, q.CopyFrom(c.q.array()))
	noError(t, g.Replay())
	equal(t, c.String()+", replayed on others", read(t, g.Outputs()[0]), c.attend(t, s))
}

// raggedGraph replays a captured attention of a ragged batch, whose offsets change. The CPU reads them when
// it replays, and so does a kernel.
func (s *suite) raggedGraph(t *testing.T, v variety) {
	if s.dev.Kind() != device.CPU && v.in == gpk.Float64 {
		return // composed: ErrUnsupported
	}
	c := s.attention(v)
	for len(c.offsets) < 3 || c.queries == 0 || c.dim == 0 || c.valueDim == 0 {
		c = s.attention(v)
	}
	c.arrangement = "dense"
	q, k, w, opts := c.arrays(s)
	g, err := gpk.Capture([]*gpk.Array{q, opts.Offsets}, func(in []*gpk.Array) []*gpk.Array {
		o := opts
		o.Offsets = in[1]
		return []*gpk.Array{gpk.Attention(in[0], k, w, o)}
	})
	noError(t, err)
	defer g.Free()
	noError(t, g.Replay())
	equal(t, c.String()+", replayed", read(t, g.Outputs()[0]), c.attend(t, s))
	for i := range c.offsets[1 : len(c.offsets)-1] {
		c.offsets[i+1] = c.offsets[i] + s.rng.IntN(c.queries-c.offsets[i]+1)
	}
	noError(t, opts.Offsets.CopyFrom(offsetsOf(c.offsets...)))
	noError(t, g.Replay())
	equal(t, c.String()+", replayed with other offsets", read(t, g.Outputs()[0]), c.attend(t, s))
}

// testAttentionErrors checks the errors of Attention for invalid arguments.
func testAttentionErrors(t *testing.T, s *suite) {
	f := func(shape ...int) *gpk.Array { return gpk.Ones(gpk.Float32, shape...) }
	q, r := f(2, 4, 5, 8), f(4, 6, 8)
	type options = gpk.AttentionOptions
	ints := gpk.Zeros(gpk.Int32, 2, 4, 5, 8)
	freed := f(2, 4, 5, 8)
	freed.Free()
	for what, c := range map[string]struct {
		q, k, v *gpk.Array
		opts    options
		want    error
	}{
		"three axes":        {r, r, r, options{}, gpk.ErrShape},
		"four axes, ragged": {q, q, q, options{Offsets: offsetsOf(0, 5)}, gpk.ErrShape},
		"a vector":          {q, f(8), q, options{}, gpk.ErrShape},
		"batches":           {q, f(1, 4, 5, 8), f(1, 4, 5, 8), options{}, gpk.ErrShape},
		"heads":             {q, f(2, 3, 5, 8), f(2, 3, 5, 8), options{}, gpk.ErrShape},
		"no KV heads":       {q, f(2, 0, 5, 8), f(2, 0, 5, 8), options{}, gpk.ErrShape},
		"heads of values":   {q, q, f(2, 2, 5, 8), options{}, gpk.ErrShape},
		"keys and values":   {q, q, f(2, 4, 6, 8), options{}, gpk.ErrShape},
		"dim":               {q, f(2, 4, 5, 7), q, options{}, gpk.ErrShape},
		"ragged rows":       {r, f(4, 5, 8), f(4, 5, 8), options{Offsets: offsetsOf(0, 6)}, gpk.ErrShape},
		"mask":              {q, q, q, options{Mask: f(5, 6)}, gpk.ErrShape},
		"a mask too large":  {q, q, q, options{Mask: f(1, 2, 4, 5, 5)}, gpk.ErrShape},
		"integers":          {ints, ints, ints, options{}, gpk.ErrDType},
		"complex":           {q.Cast(gpk.Complex64), q.Cast(gpk.Complex64), q.Cast(gpk.Complex64), options{}, gpk.ErrDType},
		"mixed":             {q, q, q.Cast(gpk.Float16), options{}, gpk.ErrDType},
		"a complex mask":    {q, q, q, options{Mask: gpk.Ones(gpk.Complex64, 5, 5)}, gpk.ErrDType},
		"TF32 of halves":    {q.Cast(gpk.Float16), q.Cast(gpk.Float16), q.Cast(gpk.Float16), options{Precision: gpk.TF32}, gpk.ErrDType},
		"no precision":      {q, q, q, options{Precision: 9}, gpk.ErrDType},
		"offsets of int64":  {r, r, r, options{Offsets: gpk.Zeros(gpk.Int64, 2)}, gpk.ErrDType},
		"no offsets":        {r, r, r, options{Offsets: gpk.Zeros(gpk.Int32, 0)}, gpk.ErrShape},
		"offsets of 2 axes": {r, r, r, options{Offsets: gpk.Zeros(gpk.Int32, 2, 1)}, gpk.ErrShape},
		"a ragged mask":     {r, r, r, options{Offsets: offsetsOf(0, 6), Mask: f(6, 6)}, gpk.ErrUnsupported},
		"nil":               {q, nil, q, options{}, gpk.ErrShape},
		"zero":              {q, q, new(gpk.Array), options{}, gpk.ErrShape},
		"freed":             {q, freed, q, options{}, gpk.ErrFreed},
		"sticky":            {q, q.Reshape(3), q, options{}, gpk.ErrShape},
		"packed":            {q, q, gpk.Pack(f(3, 3)), options{}, gpk.ErrUnsupported},
	} {
		a := gpk.Attention(c.q, c.k, c.v, c.opts)
		err := a.Err()
		if err == nil {
			err = gpk.Eval(a)
		}
		s.attentionError(t, what, err, c.want)
	}
	if cpu, err := device.Open("cpu"); err == nil && cpu != s.dev {
		s.attentionError(t, "devices", gpk.Attention(q, q.To(cpu), q, options{}).Err(), gpk.ErrDevice)
		s.attentionError(t, "a mask elsewhere", gpk.Attention(q, q, q, options{Mask: f(5, 5).To(cpu)}).Err(), gpk.ErrDevice)
	}
	// These errors depend on the values of the offsets.
	for said, offsets := range map[string]*gpk.Array{
		"begin at 1":    offsetsOf(1, 3, 6),
		"begin at -1":   offsetsOf(-1, 6),
		"end at 5":      offsetsOf(0, 5),
		"end at 7":      offsetsOf(0, 2, 7),
		"end at 0":      offsetsOf(0),
		"offset 2 is 3": offsetsOf(0, 4, 3, 6),
	} {
		a := gpk.Attention(r, r, r, options{Offsets: offsets})
		_, err := gpk.ToSlice[float32](a.Mul(2))
		s.attentionError(t, said, err, gpk.ErrShape)
		if err == nil || !strings.Contains(err.Error(), said) {
			t.Errorf("%s: %v", said, err)
		}
		before := s.random(gpk.Float32, 4, 6, 8)
		b := before.array()
		part := b.Slice(0, 1, 3)
		s.attentionError(t, said+", into a part", gpk.Into(part, gpk.Attention(r.Slice(0, 1, 3), r.Slice(0, 1, 3), r.Slice(0, 1, 3), options{Offsets: offsets})), gpk.ErrShape)
		equal(t, said+", into a part", read(t, b), before)
	}
	even := gpk.FromSlice([]int32{0, 9, 2, 9, 6, 9}).Slice(0, 0, 6, 2)
	if got := read(t, gpk.Attention(r, r, r, options{Offsets: even})); slices.ContainsFunc(got.values, func(v complex128) bool { return v != 1 }) {
		t.Error("strided offsets: a mean of ones is not 1")
	}
}

// attentionError checks the cause of an error, and that it names Attention and this file.
func (s *suite) attentionError(t *testing.T, what string, err, want error) {
	t.Helper()
	var oe *gpk.OpError
	switch {
	case !errors.Is(err, want):
		t.Errorf("%s: %v, want %v", what, err, want)
	case !errors.As(err, &oe) || !strings.Contains(oe.Site, "attention_bits.go:"):
		t.Errorf("%s: not the error of this file: %v", what, err)
	case oe.Op != "Attention" && what != "sticky":
		t.Errorf("%s: not the error of Attention: %v", what, err)
	}
}

// testAttentionLong tests the Hopper kernel, which takes sequences of at least 256 queries. It computes lengths
// around and above 256, for every head size of that kernel and every memory layout. It also compares each
// sequence of a ragged batch with the same sequence alone.
func testAttentionLong(t *testing.T, s *suite) {
	dims := []int{64, 96, 128, 256}
	if quick() {
		dims = []int{64, 96}
	}
	for _, v := range attentionVarieties {
		if !v.in.IsHalf() {
			continue
		}
		var sums attentionErrors
		for _, dim := range dims {
			for _, ragged := range []bool{false, true} {
				c := &attentionCase{variety: v, batch: 1, kvHeads: 1, group: 2, dim: dim, valueDim: dim}
				c.queries, c.keys = pick(s, 256, 257, 300), pick(s, 1, 128, 300, 385)
				if ragged {
					c.offsets = []int{0, 37, 37, 37 + 300, 37 + 300 + 255, 37 + 300 + 255 + 256}
					c.queries, c.keys = c.offsets[5], c.offsets[5]
				}
				c.causal = pick(s, true, false)
				c.arrangement = pick(s, "dense", "transposed", "strided", "reversed")
				c.q, c.k, c.v = s.random(v.in, 1, 2, c.queries, dim), s.random(v.in, 1, 1, c.keys, dim), s.random(v.in, 1, 1, c.keys, dim)
				got := c.attend(t, s)
				if err := c.check(s, got, &sums); err != nil {
					t.Fatalf("%v: %v", c, err)
				}
				if ragged {
					s.unpacked(t, c, got)
				}
			}
		}
	}
	if s.dev.Kind() == device.CPU || s.dev.Capabilities().SM != 90 || !slices.Contains(s.dev.Library().Describe().Archs, "90a") {
		return
	}
	q := gpk.Ones(gpk.BFloat16, 1, 2, 256, 64)
	if got := gpk.Attention(q, q, q, gpk.AttentionOptions{}).Explain(); !strings.Contains(got, "one kernel, attention_sm90") {
		t.Errorf("256 queries: %q does not name attention_sm90", got)
	}
}

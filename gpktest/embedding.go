package gpktest

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/bigmath"
)

// testEmbeddingNorm compares EmbeddingNorm with Take, Add and LayerNorm, bit by bit. The problems have
// every type, one to four tables, and lines of lengths that the kernel supports and of others.
func testEmbeddingNorm(t *testing.T, s *suite) {
	for _, dt := range []gpk.DType{gpk.Float32, gpk.Float64, gpk.Float16, gpk.BFloat16} {
		for _, width := range []int{1, 7, 16, 384, 520, 1024, 4096, 4099, 9000} {
			for _, shape := range [][]int{{37}, {2, 3}, {0}} {
				s.embeddingNorm(t, dt, width, shape)
			}
		}
	}
	s.embeddingForms(t)
	s.embeddingErrors(t)
}

// embeddingNorm compares one problem with a random number of tables.
func (s *suite) embeddingNorm(t *testing.T, dt gpk.DType, width int, shape []int) {
	t.Helper()
	var tables, ids []*gpk.Array
	var sum *gpk.Array
	n := 1 + s.rng.IntN(4)
	for i := range n {
		rows := 1 + s.rng.IntN(50)
		x := s.random(dt, rows, width)
		table := x.array()
		if s.rng.IntN(4) == 0 {
			table = s.inside(x, 1, 2)
		}
		tables = append(tables, table)
		if i > 0 && s.rng.IntN(3) == 0 { // nil ids: every line adds row 0
			ids = append(ids, nil)
			sum = sum.Add(table.Slice(0, 0, 1).Squeeze(0))
			continue
		}
		id := s.indicesInto([]gpk.DType{gpk.Int32, gpk.Int64}[s.rng.IntN(2)], rows, shape...).array()
		ids = append(ids, id)
		if i == 0 {
			sum = gpk.Take(table, id, 0)
		} else {
			sum = sum.Add(gpk.Take(table, id, 0))
		}
	}
	gamma, beta := s.random(dt, width).array(), s.random(dt, width).array()
	if s.rng.IntN(3) == 0 {
		gamma = nil
	}
	if s.rng.IntN(3) == 0 {
		beta = nil
	}
	what := fmt.Sprintf("EmbeddingNorm, %v, %d tables, ids %v, width %d", dt, n, shape, width)
	noError(t, gpk.Eval(sum))
	want := read(t, gpk.LayerNorm(sum, gamma, beta, 1e-5))
	equal(t, what, read(t, gpk.EmbeddingNorm(tables, ids, gamma, beta, 1e-5)), want)
	dst := gpk.Full(dt, -9, append([]int{width}, shape...)...) // in use, and not dense
	noError(t, gpk.Eval(dst))
	order := make([]int, len(shape)+1)
	for i := range order {
		order[i] = (i + 1) % len(order)
	}
	noError(t, gpk.Into(dst.Transpose(order...), gpk.EmbeddingNorm(tables, ids, gamma, beta, 1e-5)))
	equal(t, what+", into memory in use", read(t, dst.Transpose(order...)), want)
}

// embeddingForms replays a captured one with other ids, and checks pending operands and scopes.
func (s *suite) embeddingForms(t *testing.T) {
	table, row := s.random(gpk.Float32, 20, 16).array(), s.random(gpk.Float32, 3, 16).array()
	f := func(id *gpk.Array) *gpk.Array {
		return gpk.EmbeddingNorm([]*gpk.Array{table, row.Mul(2)}, []*gpk.Array{id, nil}, nil, nil, 1e-5)
	}
	in := s.indicesInto(gpk.Int32, 20, 9).array()
	g, err := gpk.Capture([]*gpk.Array{in}, func(in []*gpk.Array) []*gpk.Array { return []*gpk.Array{f(in[0])} })
	noError(t, err)
	defer g.Free()
	for range 3 {
		noError(t, g.Replay())
		equal(t, "EmbeddingNorm, replayed", read(t, g.Outputs()[0]), read(t, f(in)))
		noError(t, in.CopyFrom(s.indicesInto(gpk.Int32, 20, 9).array()))
	}
	if text := f(in).Explain(); !strings.Contains(text, "one kernel") && !strings.Contains(text, "one pass") {
		t.Errorf("Explain says %q", text)
	}
	tables := []*gpk.Array{table, row}
	s.leavesNothing(t, "EmbeddingNorm", func(c *gpk.Scope) []*gpk.Array {
		return []*gpk.Array{gpk.EmbeddingNorm(tables, []*gpk.Array{c.In(in), nil}, nil, nil, 1e-5)}
	})
}

// embeddingErrors checks the errors of EmbeddingNorm for invalid arguments: on the line of the call, or, for
// ids outside their tables, at the next boundary.
func (s *suite) embeddingErrors(t *testing.T) {
	table, id := gpk.Ones(gpk.Float32, 5, 8), gpk.Zeros(gpk.Int32, 3)
	list := func(as ...*gpk.Array) []*gpk.Array { return as }
	for what, c := range map[string]struct {
		tables, ids []*gpk.Array
		gamma       *gpk.Array
		want        error
	}{
		"no tables":          {nil, nil, nil, gpk.ErrShape},
		"five tables":        {list(table, table, table, table, table), list(id, id, id, id, id), nil, gpk.ErrShape},
		"ids missing":        {list(table, table), list(id), nil, gpk.ErrShape},
		"no ids":             {list(table), list(nil), nil, gpk.ErrShape},
		"widths":             {list(table, gpk.Ones(gpk.Float32, 5, 7)), list(id, id), nil, gpk.ErrShape},
		"a vector":           {list(gpk.Ones(gpk.Float32, 8)), list(id), nil, gpk.ErrShape},
		"ids of two shapes":  {list(table, table), list(id, gpk.Zeros(gpk.Int32, 4)), nil, gpk.ErrShape},
		"no rows":            {list(gpk.Ones(gpk.Float32, 0, 8)), list(id), nil, gpk.ErrShape},
		"gamma too short":    {list(table), list(id), gpk.Ones(gpk.Float32, 7), gpk.ErrShape},
		"gamma of another":   {list(table), list(id), gpk.Ones(gpk.Float64, 8), gpk.ErrDType},
		"types":              {list(table, table.Cast(gpk.Float16)), list(id, id), nil, gpk.ErrDType},
		"integers":           {list(table.Cast(gpk.Int32)), list(id), nil, gpk.ErrDType},
		"ids are no indices": {list(table), list(id.Cast(gpk.Float32)), nil, gpk.ErrDType},
		"a nil table":        {list(nil), list(id), nil, gpk.ErrShape},
	} {
		y := gpk.EmbeddingNorm(c.tables, c.ids, c.gamma, nil, 1e-5)
		refusedBy(t, "EmbeddingNorm: "+what, y.Err(), c.want, "EmbeddingNorm", "embedding.go:")
	}
	for _, width := range []int{8, 7} { // 8: the kernel; 7: composed operations
		table := gpk.Ones(gpk.Float32, 5, width)
		for _, bad := range []int64{5, -6, math.MaxInt64, math.MinInt64} {
			for place := range 2 {
				ids := []*gpk.Array{gpk.Zeros(gpk.Int64, 3), gpk.Zeros(gpk.Int64, 3)}
				ids[place] = gpk.FromSlice([]int64{4, bad, -5})
				y := gpk.EmbeddingNorm([]*gpk.Array{table, table}, ids, nil, nil, 1e-5)
				_, err := gpk.ToSlice[float32](y.Mul(2))
				refusedBy(t, fmt.Sprintf("EmbeddingNorm: id %d of table %d, width %d", bad, place, width), err, gpk.ErrShape, "EmbeddingNorm", "embedding.go:")
				dst := gpk.Full(gpk.Float32, 3, 3, width)
				noError(t, gpk.Eval(dst))
				err = gpk.Into(dst.Slice(0, 0, 2), y.Slice(0, 0, 2))
				if err == nil {
					t.Errorf("EmbeddingNorm: id %d of table %d was written", bad, place)
				}
				equal(t, "what was not written", read(t, dst), read(t, gpk.Full(gpk.Float32, 3, 3, width)))
			}
		}
	}
}

// testRaggedPool compares RaggedPool with big floats, in every type, with sequences of no, one and many
// rows.
func testRaggedPool(t *testing.T, s *suite) {
	for _, dt := range []gpk.DType{gpk.Float32, gpk.Float64, gpk.Float16, gpk.BFloat16} {
		for _, width := range []int{1, 31, 384, 1030, 4500, 9000} {
			if width > 4096 && dt != gpk.BFloat16 {
				continue
			}
			for range 3 {
				offsets := []int{0}
				for range s.rng.IntN(6) {
					offsets = append(offsets, offsets[len(offsets)-1]+s.rng.IntN(3)*s.rng.IntN(12))
				}
				x := s.random(dt, offsets[len(offsets)-1], width)
				a := x.array()
				if s.rng.IntN(2) == 0 {
					a = s.inside(x, 1, 2)
				}
				for _, opts := range []gpk.RaggedPoolOptions{{}, {Normalize: true}, {First: true}, {First: true, Normalize: true}} {
					what := fmt.Sprintf("RaggedPool %+v, %v, offsets %v, width %d", opts, dt, offsets, width)
					checkRaggedPool(t, what, x, offsets, opts, read(t, gpk.RaggedPool(a, offsetsOf(offsets...), opts)))
				}
			}
		}
	}
	s.raggedPoolForms(t)
}

// checkRaggedPool compares with big floats. With r rows and n columns, the error of a sum in float64 is at
// most (r-1) 2^-53 of the sum of magnitudes (Higham, 2002, section 4.2). The length is a root of a sum of
// squares, all positive, so that its error is at most (n+3) 2^-53 more, relative to it. Each division, and the
// rounding of the mean, adds 2^-53. The result is then rounded.
func checkRaggedPool(t *testing.T, what string, x tensor, offsets []int, opts gpk.RaggedPoolOptions, got tensor) {
	t.Helper()
	width, batch := x.shape[1], len(offsets)-1
	out := gpk.Float32
	if x.dt == gpk.Float64 {
		out = gpk.Float64
	}
	if got.dt != out || len(got.shape) != 2 || got.shape[0] != batch || got.shape[1] != width {
		t.Fatalf("%s: %v %v", what, got.dt, got.shape)
	}
	const unit = 0x1p-53
	for i := range batch {
		from, to := offsets[i], offsets[i+1]
		if opts.First {
			to = min(to, from+1)
		}
		rows := float64(max(to-from, 1))
		want, magnitude, squares, error2 := make([]float64, width), make([]float64, width), bigmath.New(), 0.0
		for j := range width {
			sum := bigmath.New()
			for r := from; r < to; r++ {
				v := real(x.values[r*width+j])
				sum = bigmath.Add(sum, bigmath.Of(v))
				magnitude[j] += math.Abs(v) / rows
			}
			mean := bigmath.Quo(sum, bigmath.Of(rows))
			squares = bigmath.Add(squares, bigmath.Mul(mean, mean))
			want[j], _ = mean.Float64()
			error2 += math.Pow((rows+1)*unit*magnitude[j], 2)
		}
		length, relative := 1.0, 0.0
		if opts.Normalize {
			total, _ := squares.Float64()
			length = max(math.Sqrt(total), 1e-12)
			relative = float64(width+4)*unit + math.Sqrt(error2)/length
		}
		for j := range width {
			w, g := want[j]/length, real(got.values[i*width+j])
			bound := (rows+1)*unit*magnitude[j]/length + (relative+2*unit)*math.Abs(w)
			bound += spacing(out, math.Abs(w)+bound) / 2
			if !(math.Abs(g-w) <= bound) {
				t.Fatalf("%s: sequence %d, column %d is %v, want %v", what, i, j, g, w)
			}
		}
	}
}

// raggedPoolForms checks that a line depends only on the rows of its sequence, and checks graphs, scopes and
// errors.
func (s *suite) raggedPoolForms(t *testing.T) {
	x := s.random(gpk.BFloat16, 40, 48).array()
	opts := gpk.RaggedPoolOptions{Normalize: true}
	whole := gpk.RaggedPool(x, offsetsOf(0, 3, 3, 29, 40), opts)
	equal(t, "RaggedPool, a sequence alone", read(t, gpk.RaggedPool(x.Slice(0, 3, 29), offsetsOf(0, 26), opts)), read(t, whole.Slice(0, 2, 3)))
	dst := gpk.Full(gpk.Float32, 5, 48, 4)
	noError(t, gpk.Eval(dst))
	noError(t, gpk.Into(dst.T(), whole))
	equal(t, "RaggedPool, into memory that is not dense", read(t, dst.T()), read(t, whole))

	at := offsetsOf(0, 7, 40)
	g, err := gpk.Capture([]*gpk.Array{x, at}, func(in []*gpk.Array) []*gpk.Array {
		return []*gpk.Array{gpk.RaggedPool(in[0].Mul(2), in[1], opts)}
	})
	noError(t, err)
	defer g.Free()
	for _, offsets := range [][]int{{0, 7, 40}, {0, 0, 40}, {0, 31, 40}} {
		noError(t, at.CopyFrom(offsetsOf(offsets...)))
		noError(t, g.Replay())
		equal(t, fmt.Sprint("RaggedPool, replayed with ", offsets), read(t, g.Outputs()[0]), read(t, gpk.RaggedPool(x.Mul(2), offsetsOf(offsets...), opts)))
	}
	all := offsetsOf(0, 40)
	s.leavesNothing(t, "RaggedPool", func(c *gpk.Scope) []*gpk.Array {
		return []*gpk.Array{gpk.RaggedPool(c.In(x), all, opts)}
	})

	for what, c := range map[string]struct {
		x, offsets *gpk.Array
		want       error
	}{
		"a vector":             {gpk.Ones(gpk.Float32, 4), offsetsOf(0, 4), gpk.ErrShape},
		"no offsets":           {x, gpk.Zeros(gpk.Int32, 0), gpk.ErrShape},
		"offsets of two axes":  {x, gpk.Zeros(gpk.Int32, 1, 2), gpk.ErrShape},
		"offsets of int64":     {x, offsetsOf(0, 40).Cast(gpk.Int64), gpk.ErrDType},
		"integers":             {x.Cast(gpk.Int32), offsetsOf(0, 40), gpk.ErrDType},
		"nil":                  {nil, offsetsOf(0, 40), gpk.ErrShape},
		"offsets are nil":      {x, nil, gpk.ErrShape},
		"they begin behind 0":  {x, offsetsOf(1, 40), gpk.ErrShape},
		"they fall":            {x, offsetsOf(0, 9, 8, 40), gpk.ErrShape},
		"they end too soon":    {x, offsetsOf(0, 9, 39), gpk.ErrShape},
		"they end too late":    {x, offsetsOf(0, 9, 41), gpk.ErrShape},
		"they begin before 0":  {x, offsetsOf(-1, 40), gpk.ErrShape},
		"they fall and end so": {x, offsetsOf(0, 41, 39), gpk.ErrShape},
	} {
		y := gpk.RaggedPool(c.x, c.offsets, opts)
		err := y.Err()
		if err == nil {
			_, err = gpk.ToSlice[float32](y)
		}
		refusedBy(t, "RaggedPool: "+what, err, c.want, "RaggedPool", "embedding.go:")
	}
}

// testAttentionRows compares RowsFirst with the transposed result, bit by bit, of batches and of ragged
// ones, stored anew, into memory that is there and in a graph.
func testAttentionRows(t *testing.T, s *suite) {
	for _, v := range attentionVarieties {
		for range 4 {
			c := s.attention(v)
			q, k, w, opts := c.arrays(s)
			plain := gpk.Attention(q, k, w, opts)
			order := []int{0, 2, 1, 3}
			if opts.Offsets != nil {
				order = []int{1, 0, 2}
			}
			want := read(t, plain.Transpose(order...))
			opts.RowsFirst = true
			equal(t, c.String()+", rows first", read(t, gpk.Attention(q, k, w, opts)), want)
			dst := gpk.Full(want.dt, 7, want.shape...)
			noError(t, gpk.Eval(dst))
			noError(t, gpk.Into(dst, gpk.Attention(q, k, w, opts)))
			equal(t, c.String()+", rows first, into memory in use", read(t, dst), want)
		}
	}
}

// testOffsetsOnce reads the same offsets by several operations. A GPU checks them once, and again after a
// write. If they are bad, every reader returns the error; if they are good, none does.
func testOffsetsOnce(t *testing.T, s *suite) {
	q := s.random(gpk.BFloat16, 2, 12, 32).array()
	at := offsetsOf(0, 5, 12)
	pool := func() *gpk.Array { return gpk.RaggedPool(q.Slice(0, 0, 1).Squeeze(0), at, gpk.RaggedPoolOptions{}) }
	attend := func() *gpk.Array { return gpk.Attention(q, q, q, gpk.AttentionOptions{Offsets: at}) }
	for round, c := range []struct {
		offsets []int
		fine    bool
	}{{[]int{0, 5, 12}, true}, {[]int{0, 3, 12}, true}, {[]int{0, 5, 11}, false}, {[]int{0, 0, 12}, true}, {[]int{1, 5, 12}, false}} {
		noError(t, at.CopyFrom(offsetsOf(c.offsets...)))
		var want []tensor
		if c.fine {
			for _, y := range []*gpk.Array{attend(), pool()} { // references, each read before the next call
				want = append(want, read(t, y))
			}
		}
		for i, f := range []func() *gpk.Array{attend, pool, attend, pool} {
			y := f()
			if err := gpk.Eval(y.Cast(gpk.Float32)); c.fine || err != nil && !errors.Is(err, gpk.ErrShape) {
				noError(t, err)
			}
			if i >= 2 && round%2 == 0 { // the error of the check is known by now
				_, _ = gpk.ToSlice[float32](f().Cast(gpk.Float32))
			}
			if c.fine {
				equal(t, fmt.Sprint("reader ", i, " of ", c.offsets), read(t, y), want[i%2])
			} else if _, err := gpk.ToSlice[float32](y.Cast(gpk.Float32)); !errors.Is(err, gpk.ErrShape) {
				t.Errorf("reader %d of %v: %v", i, c.offsets, err)
			}
		}
	}
}

package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/gpk-go/gpk"
)

// indexCase moves elements of float32 by random int64 indices: n indices into rows of the given
// number of columns.
type indexCase struct {
	op            string
	n, rows, cols int
}

var indexList = []indexCase{
	{"index_select", 1 << 20, 1 << 20, 64},
	{"index_select", 1 << 24, 1 << 20, 1},
	{"gather", 1 << 16, 1 << 16, 512},
	{"scatter_add", 1 << 20, 1 << 16, 64},
	{"scatter_add", 1 << 24, 1 << 16, 1},
	{"unique", 1 << 24, 1 << 16, 1},
	{"unique_all", 1 << 24, 1 << 16, 1},
	{"cumsum", 1, 1, 1 << 26},
}

// indexCases are selections, additions and sorts by random indices, and the cumulative sums of a row. -sizes
// is the number of indices, rows and columns.
func indexCases(o options, _ bool) ([]benchCase, error) {
	n, err := o.oneSize("index")
	if err != nil {
		return nil, err
	}
	var cs []benchCase
	for _, c := range indexList {
		if n > 0 {
			c.n, c.rows, c.cols = n, n, min(c.cols, n)
		}
		cs = append(cs, benchCase{name: fmt.Sprintf("Index/op=%s/dtype=fp32/n=%d/rows=%d/cols=%d", c.op, c.n, c.rows, c.cols), run: c.measure})
	}
	return cs, nil
}

// indexInputs are the inputs of an indexCase on the host: a table of rows x cols, n rows of values, and
// indices, n or for gather n x cols of them.
type indexInputs struct {
	table, added values
	indices      []int64
}

func (c indexCase) inputs(r *runner) (h indexInputs) {
	p := mustPrecision("fp32")
	h.table = p.random(r.seed, 1, c.rows*c.cols, normal)
	n := c.n
	switch c.op {
	case "gather":
		n *= c.cols
	case "scatter_add":
		h.added = p.random(r.seed, 2, c.n*c.cols, normal)
	}
	rng, bound := rand.New(rand.NewPCG(r.seed, 3)), c.rows
	if c.op == "gather" { // along the columns
		bound = c.cols
	}
	h.indices = make([]int64, n)
	for i := range h.indices {
		h.indices[i] = rng.Int64N(int64(bound))
	}
	return h
}

// indexOps are the operations: of the table x, rows to add y and the indices i.
var indexOps = map[string]struct {
	call func(x, y, i *gpk.Array) arrays
	want func(c indexCase, h indexInputs) []float64
}{
	"index_select": {
		func(x, _, i *gpk.Array) arrays { return arrays{x.IndexSelect(i, 0)} },
		func(c indexCase, h indexInputs) []float64 {
			out := make([]float64, 0, c.n*c.cols)
			for _, row := range h.indices {
				out = append(out, h.table.re[int(row)*c.cols:][:c.cols]...)
			}
			return out
		},
	},
	"gather": {
		func(x, _, i *gpk.Array) arrays { return arrays{x.TakeAlongAxis(i, 1)} },
		func(c indexCase, h indexInputs) []float64 {
			out := make([]float64, len(h.indices))
			for k, column := range h.indices {
				out[k] = h.table.re[k/c.cols*c.cols+int(column)]
			}
			return out
		},
	},
	"scatter_add": {
		func(x, y, i *gpk.Array) arrays { return arrays{x.ScatterAdd(i, y, 0)} },
		func(c indexCase, h indexInputs) []float64 {
			out := slices.Clone(h.table.re)
			for k, row := range h.indices {
				for j, v := range h.added.re[k*c.cols:][:c.cols] {
					out[int(row)*c.cols+j] += v
				}
			}
			return out
		},
	},
	"cumsum": {
		func(x, _, _ *gpk.Array) arrays { return arrays{x.CumSum(1)} },
		func(c indexCase, h indexInputs) []float64 {
			out := slices.Clone(h.table.re)
			for k := range out {
				if k%c.cols > 0 {
					out[k] += out[k-1]
				}
			}
			return out
		},
	},
	"unique": {
		func(_, _, i *gpk.Array) arrays { return arrays{i.Unique()} },
		func(_ indexCase, h indexInputs) []float64 { return slices.Sorted(maps.Keys(counted(h.indices))) },
	},
	"unique_all": {
		func(_, _, i *gpk.Array) arrays {
			values, _, inverse, counts := i.UniqueAll()
			return arrays{counts, values, inverse}
		},
		func(_ indexCase, h indexInputs) (out []float64) {
			m := counted(h.indices)
			for _, v := range slices.Sorted(maps.Keys(m)) {
				out = append(out, m[v])
			}
			return out
		},
	},
}

func counted(list []int64) map[float64]float64 {
	m := map[float64]float64{}
	for _, v := range list {
		m[float64(v)]++
	}
	return m
}

func (c indexCase) measure(r *runner) ([]result, error) {
	op, p, h := indexOps[c.op], mustPrecision("fp32"), c.inputs(r)
	if c.op != "scatter_add" && c.op != "cumsum" {
		p.bound = 0 // a selection is exact
	}
	var as, last arrays
	defer func() { as.free(); last.free() }()
	shape := []int{c.n}
	if c.op == "gather" {
		shape = []int{c.n, c.cols}
	}
	i := as.keep(gpk.FromSlice(h.indices, shape...))
	x, y := as.keep(upload(p.dtype, h.table, c.rows, c.cols)), (*gpk.Array)(nil)
	if h.added.re != nil {
		y = as.keep(upload(p.dtype, h.added, c.n, c.cols))
	}
	want := values{re: op.want(c, h)}
	if err := gpk.Eval(as...); err != nil {
		return nil, err
	}
	return r.time(trial{
		sets: 1,
		call: func(int) error {
			last.free()
			last = op.call(x, y, i)
			return gpk.Eval(last...)
		},
		check: func(int) (deviation, error) {
			got, err := download(last[0])
			if err == nil && len(got.re) != len(want.re) {
				err = fmt.Errorf("%d elements, not %d", len(got.re), len(want.re))
			}
			if err != nil {
				return deviation{}, err
			}
			return deviationOf(got, want), nil
		},
	}, work{}, p)
}

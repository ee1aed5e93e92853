package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gpk-go/gpk/internal/devicetest"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dtype"
)

// operation is a line of suite ops: an operation on matrices x, y and z of one shape and
// a row w, and its expected result.
type operation struct {
	name   string
	passes float64 // bytes that it moves, over those of x
	// call runs the operation; out returns the type and shape of its result.
	call func(o opArrays) *gpk.Array
	out  func(dt dtype.DType, rows, cols int) (dtype.DType, []int)
	// want returns the expected result along line i: a row of out, or element i if out
	// has one dimension.
	want  func(h *opValues, i int) []float64
	exact bool // only the inputs are rounded
}

type opArrays struct{ x, y, z, w *gpk.Array }

// opValues are the inputs on the host, made once for the cases of a type.
type opValues struct {
	p          precision
	rows, cols int
	x, y, z, w []float64
	total      float64 // sum of x
}

const opEpsilon = 1e-5 // epsilon of the norms

func same(dt dtype.DType, rows, cols int) (dtype.DType, []int) { return dt, []int{rows, cols} }

func turned(dt dtype.DType, rows, cols int) (dtype.DType, []int) { return dt, []int{cols, rows} }

func single(dt dtype.DType, _, _ int) (dtype.DType, []int) { return dt, nil }

func perRow(dt dtype.DType, rows, _ int) (dtype.DType, []int) { return dt, []int{rows} }

func perColumn(dt dtype.DType, _, cols int) (dtype.DType, []int) { return dt, []int{cols} }

func places(_ dtype.DType, rows, _ int) (dtype.DType, []int) { return dtype.Int64, []int{rows} }

// castTo returns the type to which suite ops casts.
func castTo(dt dtype.DType) dtype.DType {
	if half := mustPrecision("bf16").dtype; dt != half {
		return half
	}
	return dtype.Float32
}

func converted(dt dtype.DType, rows, cols int) (dtype.DType, []int) {
	return castTo(dt), []int{rows, cols}
}

// each makes an operation's reference from a function of one element.
func each(f func(x, y, z, w float64) float64) func(*opValues, int) []float64 {
	return func(h *opValues, i int) []float64 {
		out := make([]float64, h.cols)
		for j := range out {
			k := i*h.cols + j
			out[j] = f(h.x[k], h.y[k], h.z[k], h.w[j])
		}
		return out
	}
}

// alongRow makes an operation's reference from a function of one row of x.
func alongRow(f func(x []float64) float64) func(*opValues, int) []float64 {
	return func(h *opValues, i int) []float64 { return []float64{f(h.x[i*h.cols : (i+1)*h.cols])} }
}

func gelu(x float64) float64 { return x / 2 * math.Erfc(-x/math.Sqrt2) }

func sum(x []float64) (s float64) {
	for _, v := range x {
		s += v
	}
	return s
}

// operations lists the operations that the peers time, in the peers' order.
var operations = []operation{
	{
		name: "copy", passes: 2, call: func(o opArrays) *gpk.Array { return o.x }, out: same, exact: true,
		want: each(func(x, _, _, _ float64) float64 { return x }),
	},
	{
		name: "add", passes: 3, call: func(o opArrays) *gpk.Array { return o.x.Add(o.y) }, out: same,
		want: each(func(x, y, _, _ float64) float64 { return x + y }),
	},
	{
		name: "exp", passes: 2, call: func(o opArrays) *gpk.Array { return o.x.Exp() }, out: same,
		want: each(func(x, _, _, _ float64) float64 { return math.Exp(x) }),
	},
	{
		name: "gelu", passes: 2, call: func(o opArrays) *gpk.Array { return o.x.GELU() }, out: same,
		want: each(func(x, _, _, _ float64) float64 { return gelu(x) }),
	},
	{
		name: "bias_gelu", passes: 2, call: func(o opArrays) *gpk.Array { return o.x.Add(o.w).GELU() }, out: same,
		want: each(func(x, _, _, w float64) float64 { return gelu(x + w) }),
	},
	{
		name: "mul_add_relu", passes: 4, call: func(o opArrays) *gpk.Array { return o.x.Mul(o.y).Add(o.z).ReLU() }, out: same,
		want: each(func(x, y, z, _ float64) float64 { return max(0, x*y+z) }),
	},
	{name: "softmax", passes: 2, call: func(o opArrays) *gpk.Array { return o.x.Softmax(1) }, out: same, want: wantSoftmax},
	{
		name: "layernorm", passes: 2, call: func(o opArrays) *gpk.Array { return gpk.LayerNorm(o.x, o.w, o.w, opEpsilon) }, out: same,
		want: func(h *opValues, i int) []float64 { return wantNorm(h, i, true) },
	},
	{
		name: "rmsnorm", passes: 2, call: func(o opArrays) *gpk.Array { return gpk.RMSNorm(o.x, o.w, opEpsilon) }, out: same,
		want: func(h *opValues, i int) []float64 { return wantNorm(h, i, false) },
	},
	{name: "transpose", passes: 2, call: func(o opArrays) *gpk.Array { return o.x.T() }, out: turned, exact: true, want: wantColumn},
	{
		name: "sum", passes: 1, call: func(o opArrays) *gpk.Array { return o.x.Sum() }, out: single,
		want: func(h *opValues, _ int) []float64 { return []float64{h.total} },
	},
	{name: "rowsum", passes: 1, call: func(o opArrays) *gpk.Array { return o.x.Sum(1) }, out: perRow, want: alongRow(sum)},
	{
		name: "colsum", passes: 1, call: func(o opArrays) *gpk.Array { return o.x.Sum(0) }, out: perColumn,
		want: func(h *opValues, i int) []float64 { return []float64{sum(wantColumn(h, i))} },
	},
	{
		name: "rowmax", passes: 1, call: func(o opArrays) *gpk.Array { return o.x.Max(1) }, out: perRow, exact: true,
		want: alongRow(slices.Max[[]float64]),
	},
	{
		name: "argmax", passes: 1, call: func(o opArrays) *gpk.Array { return o.x.ArgMax(1) }, out: places, exact: true,
		want: alongRow(func(x []float64) float64 { return float64(slices.Index(x, slices.Max(x))) }),
	},
	{
		name: "cast", call: func(o opArrays) *gpk.Array { return o.x.Cast(castTo(o.x.DType())) }, out: converted,
		want: each(func(x, _, _, _ float64) float64 { return x }),
	},
}

// cpuOperations lists the operations on which NumPy is measured.
var cpuOperations = append(only(operations, "add", "exp", "sum", "rowsum", "colsum", "transpose"), operation{
	name: "chain5", passes: 3, out: same,
	call: func(o opArrays) *gpk.Array { return o.x.Mul(o.y).Add(1).Maximum(0).Sub(o.y).Mul(0.5) },
	want: each(func(x, y, _, _ float64) float64 { return (max(x*y+1, 0) - y) * 0.5 }),
})

// only returns the operations of the given names, in that order.
func only(from []operation, names ...string) []operation {
	var found []operation
	for _, name := range names {
		i := slices.IndexFunc(from, func(o operation) bool { return o.name == name })
		found = append(found, from[i])
	}
	return found
}

func wantSoftmax(h *opValues, i int) []float64 {
	x := h.x[i*h.cols : (i+1)*h.cols]
	top, out := slices.Max(x), make([]float64, h.cols)
	for j, v := range x {
		out[j] = math.Exp(v - top)
	}
	total := sum(out)
	for j := range out {
		out[j] /= total
	}
	return out
}

func wantNorm(h *opValues, i int, centred bool) []float64 {
	x, n := h.x[i*h.cols:(i+1)*h.cols], float64(h.cols)
	mean, squares, out := 0.0, 0.0, make([]float64, h.cols)
	if centred {
		mean = sum(x) / n
	}
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	for j, v := range x {
		out[j] = (v - mean) / math.Sqrt(squares/n+opEpsilon) * h.w[j]
		if centred {
			out[j] += h.w[j]
		}
	}
	return out
}

func wantColumn(h *opValues, j int) []float64 {
	out := make([]float64, h.rows)
	for i := range out {
		out[i] = h.x[i*h.cols+j]
	}
	return out
}

// opCases are operations at the speed of memory. -sizes are the sides of square
// matrices.
func opCases(o options, _ bool) ([]benchCase, error) {
	shapes := [][2]int{{32768, 8192}}
	ns, err := o.cubesOr("ops")
	if err != nil {
		return nil, err
	}
	if len(ns) > 0 {
		shapes = nil
	}
	for _, n := range ns {
		shapes = append(shapes, [2]int{n, n})
	}
	var cs []benchCase
	for _, p := range o.precisionsOr("fp32", "bf16") {
		if p.bound < 1e-6 || p.dtype.IsComplex() || p.name == "tf32" { // sums that cancel have no float64 reference
			return nil, fmt.Errorf("-dtypes: suite ops has no %s", p.name)
		}
		for _, s := range shapes {
			cs = append(cs, operationCases("Op", operations, p, s[0], s[1])...)
		}
	}
	return cs, nil
}

// operationCases returns cases that share their inputs. The first case creates the
// inputs, and the last one frees them.
func operationCases(kind string, ops []operation, p precision, rows, cols int) []benchCase {
	h := &opValues{p: p, rows: rows, cols: cols}
	cs := make([]benchCase, len(ops))
	for i, op := range ops {
		cs[i] = benchCase{
			name: fmt.Sprintf("%s/op=%s/dtype=%s/rows=%d/cols=%d", kind, op.name, p.name, rows, cols),
			run: func(r *runner) ([]result, error) {
				h.make(r.seed)
				if i == len(ops)-1 {
					defer h.release()
				}
				return op.measure(r, h)
			},
		}
	}
	return cs
}

func (h *opValues) make(seed uint64) {
	if h.x != nil {
		return
	}
	n := h.rows * h.cols
	h.x, h.y, h.z = h.p.random(seed, 1, n, normal).re, h.p.random(seed, 2, n, normal).re, h.p.random(seed, 3, n, normal).re
	h.w = h.p.random(seed, 4, h.cols, normal).re
	for i := range h.rows {
		h.total += sum(h.x[i*h.cols : (i+1)*h.cols])
	}
}

func (h *opValues) release() { h.x, h.y, h.z, h.w, h.total = nil, nil, nil, nil, 0 }

// precision returns the precision of results of type out.
func (op operation) precision(p precision, out gpk.DType) precision {
	p.out = out
	switch {
	case op.exact:
		p.bound = 0
	case out != p.dtype && out.IsHalf(): // cast
		p.bound = mustPrecision("bf16").bound
	}
	return p
}

// measure times op into memory that is there and checks lines of the result:
// the first, the last and some between.
func (op operation) measure(r *runner, h *opValues) ([]result, error) {
	dt, n := h.p.dtype, h.rows*h.cols
	outType, shape := op.out(dt, h.rows, h.cols)
	var as arrays
	defer func() { as.free() }()
	matrix := func(v []float64) *gpk.Array { return as.keep(upload(dt, values{re: v}, h.rows, h.cols)) }
	in := opArrays{x: matrix(h.x), w: as.keep(upload(dt, values{re: h.w}, h.cols))}
	in.y, in.z = in.x, in.x
	if op.passes >= 3 {
		in.y = matrix(h.y)
	}
	if op.passes >= 4 {
		in.z = matrix(h.z)
	}
	type set struct {
		opArrays
		out *gpk.Array
	}
	sets := make([]set, r.sets(bytesOf(dt, n)))
	for i := range sets {
		s := set{in, as.keep(poisoned(outType, shape...))}
		if i > 0 {
			s.x = as.keep(in.x.Clone())
		}
		sets[i] = s
	}
	if err := gpk.Eval(as...); err != nil {
		return nil, err
	}
	for i := range sets {
		sets[i].x = sets[i].x.On(r.stream)
	}

	// The kernel of a chain is compiled while its first calls run as single operations.
	// The timed calls must use the kernel.
	if err := gpk.Into(as.keep(poisoned(outType, shape...)), op.call(sets[0].opArrays)); err != nil {
		return nil, err
	}
	if err := devicetest.AwaitCompiled(r.dev, context.Background()); err != nil {
		return nil, err
	}

	lines := 1
	if len(shape) > 0 {
		lines = shape[0]
	}
	picked := sampleLines(r.seed, lines)
	var want values
	for _, i := range picked {
		want.re = append(want.re, op.want(h, i)...)
	}
	p := op.precision(h.p, outType)
	amount := op.passes * float64(bytesOf(dt, n))
	if op.name == "cast" {
		amount = float64(bytesOf(dt, n) + bytesOf(outType, n))
	}
	return r.time(trial{
		sets: len(sets),
		call: func(i int) error { return gpk.Into(sets[i].out, op.call(sets[i].opArrays)) },
		check: func(i int) (deviation, error) {
			got, err := sampledLines(sets[i].out, picked)
			if err != nil {
				return deviation{}, err
			}
			d := deviationOf(got, want)
			d.worst = worstElement(got.re, want.re)
			return d, nil
		},
	}, work{amount, "GB/s"}, p)
}

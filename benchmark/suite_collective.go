package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dist"
)

// collective is a call of a collective function. bytes is the size of its operand or its result, whichever is larger.
type collective struct {
	op           string
	bytes, ranks int
}

// collectiveOps lists the functions and their calls; part is set if an operand is one rank's part of the bytes.
var collectiveOps = []struct {
	name string
	part bool
	call func(c *dist.Comm, x *gpk.Array) *gpk.Array
}{
	{"all_reduce", false, func(c *dist.Comm, x *gpk.Array) *gpk.Array { return c.AllReduce(x, dist.Sum) }},
	{"all_gather", true, func(c *dist.Comm, x *gpk.Array) *gpk.Array { return c.AllGather(x, 0) }},
	{"reduce_scatter", false, func(c *dist.Comm, x *gpk.Array) *gpk.Array { return c.ReduceScatter(x, dist.Sum, 0) }},
	{"broadcast", false, func(c *dist.Comm, x *gpk.Array) *gpk.Array { return c.Broadcast(x, 0) }},
}

// collectiveCases returns collective functions on all GPUs, or on two ranks on the CPU. -sizes are bytes.
func collectiveCases(o options, gpu bool) ([]benchCase, error) {
	if len(o.precisions) > 0 {
		return nil, errors.New("-dtypes: suite collective moves float32")
	}
	ranks, sizes := 2, []int{8, 8 << 10, 256 << 10, 4 << 20}
	if gpu {
		ranks, sizes = max(2, gpusHere()), append(sizes, 64<<20, 1<<30)
	}
	sizes, err := o.cubesOr("collective", sizes...)
	if err != nil {
		return nil, err
	}
	var cs []benchCase
	for _, n := range sizes {
		for _, op := range collectiveOps {
			k := collective{op.name, n, ranks}
			if (op.part || op.name == "reduce_scatter") && k.elements() < ranks {
				continue
			}
			cs = append(cs, benchCase{
				name: fmt.Sprintf("Collective/op=%s/bytes=%d", op.name, n),
				run:  func(r *runner) ([]result, error) { return k.measure(r, op.part, op.call) },
			})
		}
	}
	return cs, nil
}

func (k collective) elements() int { return max(1, k.bytes/4) }

// measure times the function on all ranks. A short function is timed in a graph of many calls, and again as single
// calls.
func (k collective) measure(r *runner, part bool, call func(c *dist.Comm, x *gpk.Array) *gpk.Array) (rs []result, err error) {
	n := k.elements()
	if n >= k.ranks {
		n -= n % k.ranks
	}
	if part {
		n /= k.ranks
	}
	err = r.onRanks(k.ranks, func(ctx context.Context, c *dist.Comm) error {
		x := k.operand(r, c, c.Rank(), n)
		defer x.Free()
		mine, err := k.rounds(ctx, r, c, x, call)
		if c.Rank() == 0 {
			rs = mine
		}
		return err
	})
	return rs, err
}

// operand returns the operand of a rank: normal numbers with the rank's own seed. Each call generates it anew, so
// that any rank can check any other.
func (k collective) operand(r *runner, c *dist.Comm, rank, n int) *gpk.Array {
	return gpk.NewRNG(r.seed+uint64(rank)).Normal(gpk.Float32, 0, 1, n).To(c.Device())
}

// rounds measures the function r.count times, and checks a result of each round.
func (k collective) rounds(ctx context.Context, r *runner, c *dist.Comm, x *gpk.Array, call func(c *dist.Comm, x *gpk.Array) *gpk.Array) ([]result, error) {
	if err := gpk.Eval(x); err != nil {
		return nil, err
	}
	lap := rankLap{ctx, c, func() error {
		y := call(c, x)
		defer y.Free()
		return y.Err()
	}}
	bound := mustPrecision("fp32").bound
	var out []result
	for range r.count {
		tm, err := lap.measure(r.options)
		if err != nil {
			return out, err
		}
		w := work{float64(k.bytes), "GB/s"}
		eager := tm.seconds
		if r.gpu && eager < shortCall.Seconds() { // the time of the slowest rank: all ranks decide the same
			if tm, err = k.inGraph(lap, r.options, x, call); err != nil {
				return out, err
			}
		}
		y := call(c, x)
		d, err := k.check(r, c, y, x.Size())
		y.Free()
		if err == nil {
			err = d.within(bound)
		}
		if err != nil {
			return out, err
		}
		metrics := w.metrics(tm.seconds)
		if eager != tm.seconds {
			metrics = append(metrics, metric{eager * 1e9, "eager-ns/op"})
		}
		out = append(out, result{Iterations: tm.calls, Metrics: metrics, Error: d.relative, Bound: bound})
	}
	return out, nil
}

// inGraph times a call in a captured sequence of many.
func (k collective) inGraph(l rankLap, o options, x *gpk.Array, call func(c *dist.Comm, x *gpk.Array) *gpk.Array) (timing, error) {
	graph, err := gpk.Capture([]*gpk.Array{x}, func(in []*gpk.Array) []*gpk.Array {
		outs := make([]*gpk.Array, graphSize)
		for i := range outs {
			outs[i] = call(l.c, in[0])
		}
		return outs
	})
	if err != nil {
		return timing{}, err
	}
	defer graph.Free()
	l.call = graph.Replay
	o.iterations /= graphSize
	tm, err := l.measure(o)
	tm.seconds /= graphSize
	tm.calls *= graphSize
	return tm, err
}

// checkedElements is the number of elements that are compared at the beginning, in the middle and at the end of
// a long result.
const checkedElements = 4096

// checked returns the ranges of elements that are compared of a result of n.
func checked(n int) [][2]int {
	if n <= 3*checkedElements {
		return [][2]int{{0, n}}
	}
	return [][2]int{{0, checkedElements}, {(n - checkedElements) / 2, (n + checkedElements) / 2}, {n - checkedElements, n}}
}

// check compares a result with the operands of all ranks, of n elements.
func (k collective) check(r *runner, c *dist.Comm, y *gpk.Array, n int) (deviation, error) {
	var got, want values
	ranges := checked(y.Size())
	for _, at := range ranges {
		v, err := download(y.Slice(0, at[0], at[1]))
		if err != nil {
			return deviation{}, err
		}
		got.re, want.re = append(got.re, v.re...), append(want.re, make([]float64, len(v.re))...)
	}
	for rank := range c.Size() {
		first := 0 // the operand's element that is the result's first
		switch {
		case k.op == "broadcast" && rank > 0:
			continue
		case k.op == "all_gather":
			first = -rank * n
		case k.op == "reduce_scatter":
			first = c.Rank() * y.Size()
		}
		x := k.operand(r, c, rank, n)
		begin := 0 // where the range begins in want
		for _, at := range ranges {
			lo, hi := max(at[0]+first, 0), min(at[1]+first, n)
			if lo < hi { // a range of AllGather's result may lie in several operands
				v, err := download(x.Slice(0, lo, hi))
				if err != nil {
					return deviation{}, err
				}
				for j, v := range v.re {
					want.re[begin+lo-first-at[0]+j] += v
				}
			}
			begin += at[1] - at[0]
		}
		x.Free()
	}
	return deviationOf(got, want), nil
}

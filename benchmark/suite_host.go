package main

import (
	"errors"
	"fmt"

	"github.com/gpk-go/gpk"
)

// Calls of the host suite: untimed, timed, and operations in the graph.
const (
	hostWarmup = 200
	hostCalls  = 20000
	hostGraph  = 1000
)

// hostCases measure the host time of a small operation: wall-clock time over many calls
// on tiny arrays, including the wait for the last one.
func hostCases(o options, gpu bool) ([]benchCase, error) {
	if len(o.shapes) > 0 || len(o.precisions) > 0 {
		return nil, errors.New("-sizes, -dtypes: suite host takes neither flag; leave them out")
	}
	cs := []benchCase{
		{name: "Host/op=add_into", run: hostAddInto},
		{name: "Host/op=add", run: hostAdd},
		{name: "Host/op=matmul64", run: hostMatMul},
	}
	if gpu {
		cs = append(cs, benchCase{name: "Host/op=graph_node", run: hostGraphNode})
	}
	return cs, nil
}

// hostRounds times call, r.count rounds; check judges each.
func (r *runner) hostRounds(bound float64, call func() error, check func() (deviation, error)) ([]result, error) {
	calls := hostCalls
	if r.iterations > 0 {
		calls = r.iterations
	}
	return r.hostLaps(max(hostWarmup, r.warmup), calls, calls, bound, call, check)
}

// hostLaps repeats: warmup calls, and then as many timed calls as calls says, which are n operations together.
func (r *runner) hostLaps(warmup, calls, n int, bound float64, call func() error, check func() (deviation, error)) ([]result, error) {
	wall := wallClock{r.dev}
	var out []result
	for range r.count {
		if _, err := wall.lap(warmup, call); err != nil {
			return out, err
		}
		d, err := wall.lap(calls, call)
		if err != nil {
			return out, err
		}
		e, err := check()
		if err == nil {
			err = e.within(bound)
		}
		if err != nil {
			return out, err
		}
		out = append(out, result{Iterations: n, Metrics: work{}.metrics(d.Seconds() / float64(n)), Error: e.relative, Bound: bound})
	}
	return out, nil
}

// exactly returns the deviation of an array whose elements should all be v.
func exactly(a *gpk.Array, v float64) (deviation, error) {
	got, err := download(a)
	want := values{re: make([]float64, len(got.re))}
	for i := range want.re {
		want.re[i] = v
	}
	return deviationOf(got, want), err
}

func hostAddInto(r *runner) ([]result, error) {
	x, y := gpk.Zeros(gpk.Float32, 16), gpk.Ones(gpk.Float32, 16)
	defer arrays{x, y}.free()
	calls := 0
	return r.hostRounds(0, func() error {
		calls++
		return x.AddInPlace(y)
	}, func() (deviation, error) { return exactly(x, float64(calls)) })
}

func hostAdd(r *runner) ([]result, error) {
	x, y := gpk.Ones(gpk.Float32, 16), gpk.Ones(gpk.Float32, 16)
	defer arrays{x, y}.free()
	sum := func() *gpk.Array { return x.Add(y) }
	return r.hostRounds(0, func() error {
		z := sum()
		defer z.Free()
		return gpk.Eval(z)
	}, func() (deviation, error) {
		z := sum()
		defer z.Free()
		return exactly(z, 2)
	})
}

func hostMatMul(r *runner) ([]result, error) {
	const n = 64
	p := mustPrecision("bf16")
	in := p.random(r.seed, 1, n*n, normal)
	a := upload(p.dtype, in, n, n)
	defer a.Free()
	ops := operands{a: in, b: in, s: cube(n)}
	want := ops.rows(sampleRows(r.seed, ops.s, 1))
	return r.hostRounds(p.bound, func() error {
		z := r.lib.MatMul(a, a)
		defer z.Free()
		return gpk.Eval(z)
	}, func() (deviation, error) {
		z := r.lib.MatMul(a, a)
		defer z.Free()
		got, err := download(z)
		return deviationOf(got, want), err
	})
}

// hostGraphNode times one launch of a graph of many additions, a node's share.
func hostGraphNode(r *runner) ([]result, error) {
	x, y := gpk.Zeros(gpk.Float32, 16), gpk.Ones(gpk.Float32, 16)
	defer arrays{x, y}.free()
	var failed error
	graph, err := gpk.Capture([]*gpk.Array{x}, func(in []*gpk.Array) []*gpk.Array {
		for i := 0; i < hostGraph && failed == nil; i++ {
			failed = in[0].AddInPlace(y)
		}
		return nil
	})
	if err == nil {
		defer graph.Free()
		err = failed
	}
	if err != nil {
		return nil, fmt.Errorf("no graph of %d additions: %w", hostGraph, err)
	}
	launches := 0
	return r.hostLaps(3, 1, hostGraph, 0, func() error {
		launches++
		return graph.Replay()
	}, func() (deviation, error) { return exactly(x, float64(launches*hostGraph)) })
}

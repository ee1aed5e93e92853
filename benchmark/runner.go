package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dist"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/matmul"
)

// library is the part of gpk whose results the suites check. Tests replace it by a wrong
// one.
type library interface {
	MatMul(a, b *gpk.Array, opts ...matmul.Option) *gpk.Array
	LinearBiasGELUTanh(x, w, bias *gpk.Array, opts ...matmul.Option) *gpk.Array
	Attention(q, k, v *gpk.Array, opts gpk.AttentionOptions) *gpk.Array
}

type realLibrary struct{}

func (realLibrary) MatMul(a, b *gpk.Array, opts ...matmul.Option) *gpk.Array {
	return gpk.MatMul(a, b, opts...)
}

func (realLibrary) LinearBiasGELUTanh(x, w, bias *gpk.Array, opts ...matmul.Option) *gpk.Array {
	return gpk.LinearBiasGELUTanh(x, w, bias, opts...)
}

func (realLibrary) Attention(q, k, v *gpk.Array, opts gpk.AttentionOptions) *gpk.Array {
	return gpk.Attention(q, k, v, opts)
}

// runner measures cases on one device.
type runner struct {
	options
	lib   library
	dev   *device.Device
	gpu   bool
	watch stopwatch

	stream *device.Stream      // where the timed work runs
	groups map[int]*dist.Group // keyed by the number of ranks
}

// newRunner makes dev the default device, on which the cases create their arrays. Close
// frees the runner's memory.
func newRunner(o options, lib library, dev *device.Device) (*runner, error) {
	device.SetDefault(dev)
	r := &runner{options: o, lib: lib, dev: dev, gpu: isGPU(dev), watch: wallClock{dev}, stream: dev.DefaultStream(), groups: map[int]*dist.Group{}}
	if !r.gpu {
		return r, nil
	}
	w, err := newEventClock(dev)
	if err != nil {
		return nil, err
	}
	r.watch, r.stream = w, w.stream
	if err := r.warmUp(); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// close frees the memory of the stopwatch.
func (r *runner) close() {
	if c, ok := r.watch.(io.Closer); ok {
		c.Close()
	}
	for _, g := range r.groups {
		_ = g.Close() // its ranks are done
	}
}

func isGPU(dev *device.Device) bool { return dev.Info().Kind == device.CUDA }

// warmUp keeps the GPU busy for a second, after which its clocks have settled.
func (r *runner) warmUp() error {
	const n = 4096
	p := mustPrecision("bf16")
	var as arrays
	defer func() { as.free() }()
	a := as.keep(upload(p.dtype, p.random(r.seed, 0, n*n, normal), n, n)).On(r.stream)
	c := as.keep(gpk.Zeros(p.out, n, n))
	for start := time.Now(); time.Since(start) < time.Second; {
		if err := gpk.Into(c, gpk.MatMul(a, a)); err != nil {
			return err
		}
		if err := r.dev.Synchronize(context.Background()); err != nil {
			return err
		}
	}
	return nil
}

// rotationBytes is the total size of a case's buffers on a GPU, in at most maxSets sets.
// It is larger than the L2 cache.
const (
	rotationBytes = 256 << 20
	maxSets       = 17
)

// sets returns the number of copies of buffers of the given size through which a case
// rotates.
func (r *runner) sets(bytes int) int {
	if !r.gpu {
		return 1
	}
	return min(maxSets, 1+rotationBytes/max(1, bytes))
}

// trial is a case whose operands are on the device.
type trial struct {
	sets   int
	call   func(set int) error              // starts one call on the buffers of a set
	check  func(set int) (deviation, error) // checks what the last call wrote to the set
	kernel func() string                    // names the kernel; nil: no name
}

// work is the work of a call, in operations or bytes, and the unit in which its rate is
// reported.
type work struct {
	amount float64
	unit   string
}

// units are the scales of rates.
var units = map[string]float64{"GB/s": 1e9, "GFLOP/s": 1e9, "TFLOP/s": 1e12}

// metrics returns the rates of a call that takes the given seconds.
func (w work) metrics(seconds float64) []metric {
	ms := []metric{{seconds * 1e9, "ns/op"}}
	if w.unit != "" {
		ms = append(ms, metric{w.amount / seconds / units[w.unit], w.unit})
	}
	return ms
}

// time measures a trial r.count times. After each round it checks the results in every
// set that the round used. A set that was not used still holds its poison, and is not
// read.
func (r *runner) time(t trial, w work, p precision) ([]result, error) {
	var out []result
	for range r.count {
		calls := 0
		tm, err := measure(r.watch, r.options, func() error {
			calls++
			return t.call((calls - 1) % t.sets)
		})
		if err != nil {
			return out, err
		}
		var worst deviation
		for set := range min(calls, t.sets) {
			d, err := t.check(set)
			if err == nil {
				err = d.within(p.bound)
			}
			if err != nil {
				return out, err
			}
			worst.relative = max(worst.relative, d.relative)
		}
		note := tm.note
		if note == "" {
			note = r.precisionNote(p)
		}
		one := result{Iterations: tm.calls, Metrics: w.metrics(tm.seconds), Error: worst.relative, Bound: p.bound, Note: note}
		if t.kernel != nil {
			one.Kernel = t.kernel()
		}
		out = append(out, one)
	}
	return out, nil
}

// precisionNote explains a precision that differs from its name on this device.
func (r *runner) precisionNote(p precision) string {
	if !r.gpu && p.named == matmul.TF32 {
		return "IEEE " + p.dtype.String() + " on the CPU"
	}
	return ""
}

// benchCase is one line of a suite.
type benchCase struct {
	name  string
	label string // a shorter name for tables, or empty
	run   func(r *runner) ([]result, error)
}

func (c benchCase) title() string {
	if c.label != "" {
		return c.label
	}
	return c.name
}

// results runs the case and returns one result per round. An error, or a wrong result,
// ends the case with a result that has a Failure; the rounds before it remain valid.
func (c benchCase) results(r *runner) []result {
	rs, err := c.run(r)
	if err != nil {
		rs = append(rs, result{Failure: err.Error()})
	}
	for i := range rs {
		rs[i].Name, rs[i].label = c.name, c.label
	}
	return rs
}

// sampledRows reads rows of out, seen as a matrix of n columns.
func sampledRows(out *gpk.Array, n int, rows []int) (values, error) {
	flat := out.Reshape(-1, n)
	if err := flat.Err(); err != nil {
		return values{}, err
	}
	if len(rows) == flat.Shape()[0] {
		return download(flat)
	}
	var v values
	for _, row := range rows {
		one, err := download(flat.Slice(0, row, row+1))
		if err != nil {
			return values{}, fmt.Errorf("row %d: %w", row, err)
		}
		v.re = append(v.re, one.re...)
		v.im = append(v.im, one.im...)
	}
	return v, nil
}

// bytesOf returns the size of n elements in bytes.
func bytesOf(dt dtype.DType, n int) int { return n * dt.Size() }

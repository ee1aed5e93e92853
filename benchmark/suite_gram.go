package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/quantum"
)

// gramCase is a kernel of the suite: samples uniform in [0, pi), embedded by RY, or
// RY and RZ, and a ring of CZ.
type gramCase struct {
	circuit   string
	qubits, n int
}

// sweepCase is a kernel with something of the package switched off.
type sweepCase struct {
	gramCase
	o         quantum.Options
	complex   bool // turns that are too small to count keep a real circuit from being found
	rectangle bool // the samples against a copy of them: nothing says that K is symmetric
}

var gramTable = []gramCase{
	{"ryrz_cz", 4, 20000},
	{"ryrz_cz", 6, 20000},
	{"ryrz_cz", 8, 20000},
	{"ryrz_cz", 10, 20000},
	{"ryrz_cz", 12, 20000},
	{"ryrz_cz", 16, 4000},
	{"ry_cz", 8, 20000},
	{"ry_cz", 10, 20000},
	{"ry_cz", 12, 20000},
}

// cpuSamples is the number of samples on the CPU.
const cpuSamples = 500

func (c gramCase) build() *quantum.Circuit { return c.buildWith(c.circuit == "ryrz_cz", 1) }

// buildWith builds the circuit. If turn is set, it also rotates by RZ, by a multiple of
// the features.
func (c gramCase) buildWith(turn bool, scale float64) *quantum.Circuit {
	k := quantum.NewCircuit(c.qubits)
	for i := range c.qubits {
		k.RY(i, quantum.Feature(i))
		if turn {
			k.RZ(i, quantum.Feature(i).Scale(scale))
		}
	}
	for i := range c.qubits {
		if c.qubits > 1 {
			k.CZ(i, (i+1)%c.qubits)
		}
	}
	return k
}

// exact returns |<psi(x)|psi(y)>|^2. The ring of gates is the same for all samples and
// cancels, which leaves a product over qubits.
func (c gramCase) exact(x, y []float64) float64 {
	k := complex(1, 0)
	for i := range x {
		t := 0.0
		if c.circuit == "ryrz_cz" {
			t = (x[i] - y[i]) / 2
		}
		k *= complex(math.Cos(x[i]/2)*math.Cos(y[i]/2), 0)*cmplx.Rect(1, t) + complex(math.Sin(x[i]/2)*math.Sin(y[i]/2), 0)*cmplx.Rect(1, -t)
	}
	return real(k)*real(k) + imag(k)*imag(k)
}

// gramSizes returns the cases that the options select.
func gramSizes(o options, gpu bool) ([]gramCase, error) {
	if len(o.precisions) > 0 {
		return nil, errors.New("-dtypes: suite gram always runs its own precisions; leave the flag out")
	}
	var cs []gramCase
	for _, c := range gramTable {
		switch {
		case len(o.shapes) > 0:
			for _, s := range o.shapes {
				if s.m != s.k || s.m != s.n {
					return nil, fmt.Errorf("-sizes: suite gram takes a number of samples, not %dx%dx%d", s.m, s.k, s.n)
				}
				cs = append(cs, gramCase{c.circuit, c.qubits, s.m})
			}
		case gpu:
			cs = append(cs, c)
		case c.qubits <= 10:
			cs = append(cs, gramCase{c.circuit, c.qubits, cpuSamples})
		}
	}
	return cs, nil
}

// gramCases measure whole Gram matrices, states included, K on the device.
func gramCases(o options, gpu bool) ([]benchCase, error) {
	sizes, err := gramSizes(o, gpu)
	if err != nil {
		return nil, err
	}
	var cs []benchCase
	for _, c := range sizes {
		precisions := []quantum.Precision{quantum.Standard, quantum.Fast}
		if c.qubits == 10 && c.circuit == "ryrz_cz" {
			precisions = append(precisions, quantum.Double)
		}
		for _, p := range precisions {
			cs = append(cs, benchCase{
				name: fmt.Sprintf("Gram/circuit=%s/precision=%v/qubits=%d/n=%d", c.circuit, p, c.qubits, c.n),
				run: func(r *runner) ([]result, error) {
					return r.gram(c, quantum.Options{Precision: p, Path: quantum.General})
				},
			})
		}
		cs = append(cs, benchCase{name: fmt.Sprintf("States/circuit=%s/qubits=%d/n=%d", c.circuit, c.qubits, c.n), run: func(r *runner) ([]result, error) { return r.states(c) }})
	}
	return cs, nil
}

// sweepCases vary qubits and samples, and at one size switch each option off or on in
// turn. The baseline is that size without options.
func sweepCases(o options, gpu bool) ([]benchCase, error) {
	if len(o.precisions) > 0 || len(o.shapes) > 0 {
		return nil, errors.New("-sizes, -dtypes: suite gram-sweep takes neither flag; leave them out")
	}
	qubits, samples, base := []int{4, 8, 12, 16, 20}, []int{2000, 5000, 10000, 20000}, gramCase{"ryrz_cz", 12, 10000}
	if !gpu {
		qubits, samples, base = []int{4, 8}, []int{250, 500}, gramCase{"ryrz_cz", 8, 250}
	}
	var cs []benchCase
	add := func(c sweepCase, option string) {
		cs = append(cs, benchCase{
			name: fmt.Sprintf("GramSweep/circuit=%s/option=%s/qubits=%d/n=%d", c.circuit, option, c.qubits, c.n),
			run:  func(r *runner) ([]result, error) { return r.sweep(c) },
		})
	}
	general := quantum.Options{Path: quantum.General}
	for _, q := range qubits {
		for _, n := range samples {
			if q == 20 {
				if n > 5000 {
					continue
				}
				n = min(n, 3000)
			}
			add(sweepCase{gramCase: gramCase{"ryrz_cz", q, n}, o: general}, "none")
		}
	}
	for _, v := range []struct {
		name   string
		change func(c *sweepCase)
	}{
		{"path-auto", func(c *sweepCase) { c.o.Path = quantum.Auto }},
		{"precision-fast", func(c *sweepCase) { c.o.Precision = quantum.Fast }},
		{"precision-double", func(c *sweepCase) { c.o.Precision = quantum.Double }},
		{"symmetric-off", func(c *sweepCase) { c.rectangle = true }},
		{"keep-recompute", func(c *sweepCase) { c.o.Keep, c.o.Tile = quantum.Recompute, 2*c.n/3 }},
		{"tile-1024", func(c *sweepCase) { c.o.Tile = 1024 }},
		{"tile-1024-streams-4", func(c *sweepCase) { c.o.Tile, c.o.Streams = 1024, 4 }},
		{"autotune", func(c *sweepCase) { c.o.Autotune = true }},
		{"normalize", func(c *sweepCase) { c.o.Normalize = true }},
	} {
		c := sweepCase{gramCase: base, o: general}
		v.change(&c)
		add(c, v.name)
	}
	base.circuit = "ry_cz"
	add(sweepCase{gramCase: base, o: general}, "none")
	add(sweepCase{gramCase: base, o: general, complex: true}, "real-off")
	return cs, nil
}

// sweep measures a case of the sweep.
func (r *runner) sweep(c sweepCase) ([]result, error) {
	circuit := c.build()
	if c.complex {
		circuit = c.buildWith(true, 1e-18)
	}
	return r.gramOf(c.gramCase, circuit, c.o, c.rectangle)
}

// samples returns n samples on the host and on the device.
func (c gramCase) samples(r *runner) ([]float64, *gpk.Array) {
	p := mustPrecision("fp32")
	v := p.random(r.seed, 9, c.n*c.qubits, func(g *rand.Rand) float64 { return math.Pi * g.Float64() })
	return v.re, upload(p.dtype, v, c.n, c.qubits)
}

// wall returns the median time of a few calls, each waited for, after one warm-up call.
func wall(calls int, call func() error) (float64, error) {
	var times []float64
	for i := range calls + 1 {
		begun := time.Now()
		if err := call(); err != nil {
			return 0, err
		}
		if i > 0 {
			times = append(times, time.Since(begun).Seconds())
		}
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}

// gramBound returns the largest |K - exact| that a precision allows.
func gramBound(p quantum.Precision) float64 { return [...]float64{5e-6, 2e-3, 1e-12}[p] }

func (r *runner) gram(c gramCase, o quantum.Options) ([]result, error) {
	return r.gramOf(c, c.build(), o, false)
}

// gramOf measures K of the samples of c with themselves or, if rectangle is set, with a copy of
// them. circuit must have the same states as the circuit of c.
func (r *runner) gramOf(c gramCase, circuit *quantum.Circuit, o quantum.Options, rectangle bool) ([]result, error) {
	data, x := c.samples(r)
	defer x.Free()
	var y *gpk.Array
	if rectangle {
		y = x.Clone()
		defer y.Free()
		if err := gpk.Eval(y); err != nil {
			return nil, err
		}
	}
	if err := gpk.Eval(x); err != nil {
		return nil, err
	}
	rows := sampleRows(r.seed, shape{m: c.n, k: 1, n: 1}, 1)
	rows = rows[:min(len(rows), 8)]
	var out []result
	for range r.count {
		var last *quantum.Result
		free := func() {
			if last != nil {
				last.K.Free()
			}
		}
		seconds, err := wall(3, func() (err error) {
			free()
			last, err = quantum.Gram(context.Background(), circuit, x, y, o)
			return err
		})
		if err != nil {
			return out, err
		}
		worst := 0.0
		for _, row := range rows {
			got, err := download(last.K.Slice(0, row, row+1).Reshape(c.n))
			if err != nil {
				return out, err
			}
			for j, k := range got.re {
				d := math.Abs(k - c.exact(data[row*c.qubits:(row+1)*c.qubits], data[j*c.qubits:(j+1)*c.qubits]))
				if d > worst || math.IsNaN(d) {
					worst = d
				}
			}
		}
		report, plan := last.Report, last.Plan
		free()
		if !(worst <= gramBound(o.Precision)) {
			return out, fmt.Errorf("wrong result: an entry of K is off by %.3g, at most %.0e is right", worst, gramBound(o.Precision))
		}
		pairs := float64(report.Pairs)
		out = append(out, result{
			Iterations: 3, Error: worst, Bound: gramBound(o.Precision),
			Metrics: []metric{{seconds * 1e9, "ns/op"}, {pairs / seconds / 1e6, "Mpairs/s"}, {report.States.Seconds() * 1e9, "ns-states"}, {report.Product.Seconds() * 1e9, "ns-product"}},
			Kernel:  fmt.Sprintf("%v, tiles of %d", plan.Path, plan.Tile/2),
		})
	}
	return out, nil
}

func (r *runner) states(c gramCase) ([]result, error) {
	circuit := c.build()
	data, x := c.samples(r)
	defer x.Free()
	if err := gpk.Eval(x); err != nil {
		return nil, err
	}
	const bound = 1e-6
	var out []result
	for range r.count {
		var last *gpk.Array
		seconds, err := wall(9, func() (err error) {
			last.Free()
			last, err = quantum.States(context.Background(), circuit, x, gpk.Complex64)
			return err
		})
		if err != nil {
			return out, err
		}
		d, err := c.checkStates(data, last)
		last.Free()
		if err == nil && !(d <= bound) {
			err = fmt.Errorf("wrong result: an amplitude is off by %.3g, at most %.0e is right", d, bound)
		}
		if err != nil {
			return out, err
		}
		out = append(out, result{Iterations: 9, Metrics: work{}.metrics(seconds), Error: d, Bound: bound})
	}
	return out, nil
}

// checkStates compares every amplitude of the states of the first and the last sample.
func (c gramCase) checkStates(data []float64, states *gpk.Array) (float64, error) {
	worst := 0.0
	for _, row := range []int{0, c.n - 1} {
		got, err := download(states.Slice(0, row, row+1).Reshape(1 << c.qubits))
		if err != nil {
			return 0, err
		}
		x := data[row*c.qubits : (row+1)*c.qubits]
		for b := range 1 << c.qubits {
			want := complex(1, 0)
			bit := func(w int) bool { return b>>(c.qubits-1-w%c.qubits)&1 == 1 }
			for w, v := range x {
				f, t := math.Cos(v/2), -v/2
				if bit(w) {
					f, t = math.Sin(v/2), v/2
				}
				if c.circuit != "ryrz_cz" {
					t = 0
				}
				if want *= cmplx.Rect(f, t); c.qubits > 1 && bit(w) && bit(w+1) {
					want = -want
				}
			}
			if d := cmplx.Abs(complex(got.re[b], got.im[b]) - want); d > worst || math.IsNaN(d) {
				worst = d
			}
		}
	}
	return worst, nil
}

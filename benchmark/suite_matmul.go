package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/matmul"
)

// The shapes that the benchmarks of the libraries we compare with use too.
var (
	gemmShapes      = append(cubes(512, 1024, 2048, 3072, 4096, 8192), shape{4096, 4096, 14336}, shape{8192, 4096, 16384})
	unalignedShapes = append(cubes(4095, 4097, 4000, 8191), shape{1000, 777, 3001}, shape{511, 770, 3073})
	skinnyShapes    = []shape{{1, 4096, 14336}, {4, 4096, 14336}, {16, 4096, 14336}, {32, 4096, 14336}, {64, 4096, 14336}, {128, 4096, 14336}}
	complexShapes   = []shape{{4096, 4096, 4096}, {8192, 1024, 8192}}
)

// heavyVolume is the largest product that the suites time in a precision
// without fast tensor cores.
const heavyVolume = 8192 * 8192 * 8192

func cubes(sides ...int) []shape {
	s := make([]shape, len(sides))
	for i, n := range sides {
		s[i] = cube(n)
	}
	return s
}

// matMulCases returns the cases of a suite of products. float32 is also measured with a
// packed right operand: transposed for TF32, split for FullPrecision.
func matMulCases(own []shape, precisions ...string) func(options, bool) ([]benchCase, error) {
	return func(o options, _ bool) ([]benchCase, error) {
		var cs []benchCase
		for _, p := range o.precisionsOr(precisions...) {
			for _, s := range o.shapesOr(own) {
				if len(o.shapes) == 0 && p.bound < 1e-5 && s.volume() > heavyVolume {
					continue
				}
				cs = append(cs, product{p: p, s: s, unit: "TFLOP/s"}.benchCase())
				if p.dtype == dtype.Float32 {
					cs = append(cs, product{p: p, s: s, unit: "TFLOP/s", packed: true}.benchCase())
				}
			}
		}
		return cs, nil
	}
}

// product is a case [batch, m, k] x [batch, k, n].
type product struct {
	p      precision
	s      shape
	batch  int // 0: no batch axis
	packed bool
	kind   string // first part of the case's name; empty: MatMul
	unit   string
	label  string
}

func (c product) name() string {
	switch {
	case c.batch > 0:
		return fmt.Sprintf("BatchedMatMul/dtype=%s/b=%d/n=%d", c.p.name, c.batch, c.s.n)
	case c.kind != "":
		return fmt.Sprintf("%s/dtype=%s/%v", c.kind, c.p.name, c.s)
	case c.packed:
		return fmt.Sprintf("MatMul/dtype=%s/b=packed/%v", c.p.name, c.s)
	}
	return fmt.Sprintf("MatMul/dtype=%s/%v", c.p.name, c.s)
}

func (c product) benchCase() benchCase {
	return benchCase{name: c.name(), label: c.label, run: c.run}
}

func (c product) run(r *runner) ([]result, error) {
	batch := max(1, c.batch)
	in := operands{
		a: c.p.random(r.seed, 1, batch*c.s.m*c.s.k, normal),
		b: c.p.random(r.seed, 2, batch*c.s.k*c.s.n, normal),
		s: c.s,
	}
	rows := sampleRows(r.seed, c.s, batch)
	want := in.rows(rows)

	var as arrays
	defer func() { as.free() }()
	a := as.keep(upload(c.p.dtype, in.a, c.shape(c.s.m, c.s.k)...))
	b := as.keep(upload(c.p.dtype, in.b, c.shape(c.s.k, c.s.n)...))
	type set struct{ a, b, out *gpk.Array }
	sets := make([]set, r.sets(bytesOf(c.p.dtype, len(in.a.re)+len(in.b.re))+bytesOf(c.p.out, batch*c.s.m*c.s.n)))
	for i := range sets {
		// The sets hold copies of the same data, so one reference serves for all of them.
		sets[i] = set{a, b, as.keep(poisoned(c.p.out, c.shape(c.s.m, c.s.n)...))}
		if i > 0 {
			sets[i].a, sets[i].b = as.keep(a.Clone()), as.keep(b.Clone())
		}
	}
	if err := gpk.Eval(as...); err != nil {
		return nil, err
	}
	for i := range sets {
		sets[i].a = sets[i].a.On(r.stream)
		if c.packed {
			sets[i].b = as.keep(gpk.Pack(sets[i].b, c.p.options()...))
		}
	}
	opts := c.p.options()
	t := trial{
		sets:   len(sets),
		call:   func(i int) error { return gpk.Into(sets[i].out, r.lib.MatMul(sets[i].a, sets[i].b, opts...)) },
		kernel: func() string { return plan(r.lib.MatMul(sets[0].a, sets[0].b, opts...)) },
		check: func(i int) (deviation, error) {
			got, err := sampledRows(sets[i].out, c.s.n, rows)
			return deviationOf(got, want), err
		},
	}
	return r.time(t, work{c.p.flops() * float64(batch) * c.s.volume(), c.unit}, c.p)
}

// shape puts the batch axis before the axes of a matrix.
func (c product) shape(rows, cols int) []int {
	if c.batch > 0 {
		return []int{c.batch, rows, cols}
	}
	return []int{rows, cols}
}

// options returns the options that select the precision in a call of MatMul.
func (p precision) options() []matmul.Option {
	if p.named == matmul.Default {
		return nil
	}
	return []matmul.Option{p.named}
}

// plan returns the kernel from the first line of an array's Explain. Of the line
// "MatMul: kernel NAME, tile 128x256x64, …" it returns the part that starts with NAME.
func plan(a *gpk.Array) string {
	line, _, _ := strings.Cut(strings.TrimSpace(a.Explain()), "\n")
	if _, kernel, ok := strings.Cut(line, ": kernel "); ok {
		return kernel
	}
	return line
}

func bmmCases(o options, _ bool) ([]benchCase, error) {
	own := []struct{ batch, n int }{{10, 256}, {64, 512}, {256, 128}, {4096, 64}}
	ns, err := o.cubesOr("bmm")
	if err != nil {
		return nil, err
	}
	if len(ns) > 0 {
		own = slices.DeleteFunc(own, func(c struct{ batch, n int }) bool { return !slices.Contains(ns, c.n) })
		if len(own) == 0 {
			return nil, fmt.Errorf("-sizes: suite bmm has sizes 64, 128, 256 and 512")
		}
	}
	var cs []benchCase
	for _, p := range o.precisionsOr("bf16", "tf32") {
		for _, c := range own {
			cs = append(cs, product{p: p, s: cube(c.n), batch: c.batch, unit: "TFLOP/s"}.benchCase())
		}
	}
	return cs, nil
}

func cpuCases(o options, _ bool) ([]benchCase, error) {
	var cs []benchCase
	for _, p := range o.precisionsOr("fp32", "fp64") {
		for _, s := range o.shapesOr(cubes(64, 256, 512, 1024, 2048)) {
			cs = append(cs, product{p: p, s: s, kind: "CPUMatMul", unit: "GFLOP/s"}.benchCase())
		}
	}
	if len(o.shapes) == 0 && len(o.precisions) == 0 {
		cs = append(cs, operationCases("CPUOp", cpuOperations, mustPrecision("fp32"), 2048, 4096)...)
	}
	return cs, nil
}

// quickSuite is the suite of -quick: every precision once, at a size that shows the
// device's speed and finishes quickly.
var quickSuite = suite{name: "quick", cases: quickCases}

func quickCases(o options, gpu bool) ([]benchCase, error) {
	ps := o.precisions
	if len(ps) == 0 {
		ps = precisions
	}
	var cs []benchCase
	for _, p := range ps {
		n := 4096
		if !gpu {
			n = 1024
			if p.dtype.IsComplex() || p.dtype.IsInteger() {
				n = 512
			}
		}
		for _, s := range o.shapesOr([]shape{cube(n)}) {
			cs = append(cs, product{p: p, s: s, unit: "GFLOP/s", label: fmt.Sprintf("%-5s %dx%dx%d", p.name, s.m, s.k, s.n)}.benchCase())
		}
	}
	return cs, nil
}

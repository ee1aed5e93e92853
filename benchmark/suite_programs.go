package main

import (
	_ "embed"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/matmul"
)

// userProgram is a line of suite programs: a whole computation, written as a user
// of gpk would write it. peers/programs.py holds its twin in NumPy.
type userProgram struct {
	name    string
	types   []string // precisions
	size    int      // the dimension that -sizes replaces
	shape   func(n int) string
	outputs []string // names of what task.run returns
	make    func(p precision, n int) task
	// bound is the largest relative error of a right result in float32 and
	// in float64. Errors grow over the iterations of a program.
	bound32, bound64 float64
	// body lists the functions that a user would write, the program itself first. A test
	// compares their number of lines with the peer's program.
	body []string
}

// task is a program with its inputs.
type task struct {
	inputs arrays
	// run is the program. It may leave its results pending.
	run func() []*gpk.Array
	// want computes the same results in float64 by plain loops.
	want func() [][]float64
	// file names a temporary file that the program reads, or is empty. err is
	// the error of writing it.
	file string
	err  error
}

// free releases the inputs.
func (t task) free() {
	t.inputs.free()
	if t.file != "" {
		os.Remove(t.file)
	}
}

// programs lists the programs in the order of peers/programs.py.
var programs = []userProgram{
	kmeansProgram, jacobiProgram, gradientsProgram, perceptronProgram,
	attentionProgram, nearestProgram, optionsProgram, logisticProgram,
	scatterProgram, componentsProgram, convolutionProgram, einsumProgram,
	statisticsProgram, spectrumProgram, ridgeProgram,
}

// programCases lists every program in its precisions. -sizes replaces the
// largest dimension of each.
func programCases(o options, _ bool) ([]benchCase, error) {
	var cs []benchCase
	for _, g := range programs {
		sizes, err := o.cubesOr("programs", g.size)
		if err != nil {
			return nil, err
		}
		for _, p := range o.precisionsOr(g.types...) {
			if p.name != "fp32" && p.name != "fp64" {
				return nil, fmt.Errorf("-dtypes: suite programs has no %s", p.name)
			}
			for _, n := range sizes {
				name := g.caseName(p, n)
				cs = append(cs, benchCase{name: name, run: func(r *runner) ([]result, error) { return g.measure(r, name, p, n) }})
			}
		}
	}
	return cs, nil
}

func (g userProgram) caseName(p precision, n int) string {
	return fmt.Sprintf("Program/name=%s/dtype=%s/%s", g.name, p.name, g.shape(n))
}

// measure times the program from its inputs to its results. float32 products
// are FullPrecision, as NumPy's are.
func (g userProgram) measure(r *runner, name string, p precision, n int) ([]result, error) {
	defer gpk.SetPrecision(gpk.SetPrecision(matmul.FullPrecision))
	p.bound = g.bound32
	if p.name == "fp64" {
		p.bound = g.bound64
	}
	t := g.make(p, n)
	defer t.free()
	if t.err != nil {
		return nil, t.err
	}
	if err := gpk.Eval(t.inputs...); err != nil {
		return nil, err
	}
	want := sync.OnceValue(t.want)
	var results arrays
	defer func() { results.free() }()
	return r.time(trial{
		sets: 1,
		call: func(int) error {
			results.free()
			results = t.run()
			return gpk.Eval(results...)
		},
		check: func(int) (deviation, error) { return g.check(name, results, want(), p.bound) },
	}, work{}, p)
}

// check compares the results with those of plain loops. At sizes for which the NumPy
// program was run, it also compares their norms with those that the NumPy program
// printed.
func (g userProgram) check(name string, results arrays, want [][]float64, bound float64) (worst deviation, err error) {
	norms := twinNorms()[name]
	for i, a := range results {
		got, err := download(a)
		if err != nil {
			return worst, err
		}
		if len(got.re) != len(want[i]) {
			return worst, fmt.Errorf("wrong result: %s has %d elements, not %d", g.outputs[i], len(got.re), len(want[i]))
		}
		d := deviationOf(got, values{re: want[i]})
		d.worst = worstElement(got.re, want[i])
		worst.relative, worst.worst = math.Max(worst.relative, d.relative), math.Max(worst.worst, d.worst)
		if twin, ok := norms["norm-"+g.outputs[i]]; ok {
			if off := math.Abs(norm(got.re)-twin) / twin; !(off <= 2*bound) { // both sides round
				return worst, fmt.Errorf("wrong result: the norm of %s is %v, NumPy's is %v", g.outputs[i], norm(got.re), twin)
			}
		}
	}
	return worst, nil
}

func norm(x []float64) float64 {
	squares := 0.0
	for _, v := range x {
		squares += v * v
	}
	return math.Sqrt(squares)
}

// twinOutput is what peers/programs.py printed, at its own sizes and with
// --size 40.
//
//go:embed peers/programs.txt
var twinOutput string

// twinNorms returns the Euclidean norms of the NumPy programs' results, by the names of
// the case and of the metric.
var twinNorms = sync.OnceValue(func() map[string]map[string]float64 {
	norms := map[string]map[string]float64{}
	_, rs, err := parseGo(strings.NewReader(twinOutput))
	if err != nil {
		panic(err) // the file is part of the program
	}
	for _, one := range rs {
		of := map[string]float64{}
		for _, m := range one.Metrics {
			of[m.Unit] = m.Value
		}
		norms[one.Name] = of
	}
	return norms
})

// uniforms returns n numbers of [0, 1), multiples of 2^-24 and so exact in
// float32: number i is made of the bits of the splitmix64 generator's state
// 2^32 stream + i. peers/programs.py has the same generator.
func uniforms(stream uint64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		z := (stream<<32 + uint64(i) + 1) * 0x9e3779b97f4a7c15
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
		out[i] = float64(z>>40) / (1 << 24)
	}
	return out
}

// centred returns n numbers of [-1, 1), exact in float32.
func centred(stream uint64, n int) []float64 {
	out := uniforms(stream, n)
	for i, u := range out {
		out[i] = 2*u - 1
	}
	return out
}

// naiveProduct returns a [m, k] times b [k, n] by plain loops, on all processors.
func naiveProduct(a, b []float64, m, k, n int) []float64 {
	out := make([]float64, m*n)
	parallel(m, func(i int) {
		row := out[i*n : (i+1)*n]
		for q, v := range a[i*k : (i+1)*k] {
			axpy(row, v, b[q*n:])
		}
	})
	return out
}

// turn returns the transpose of a [m, n].
func turn(a []float64, m, n int) []float64 {
	out := make([]float64, m*n)
	for i := range m {
		for j := range n {
			out[j*m+i] = a[i*n+j]
		}
	}
	return out
}

func dot(x, y []float64) (s float64) {
	for i, v := range x {
		s += v * y[i]
	}
	return s
}

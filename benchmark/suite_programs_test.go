package main

import (
	"fmt"
	"math"
	"testing"

	"github.com/gpk-go/gpk"
)

// testSize is the size of programs in tests. The twins' norms at this size are
// kept in peers/programs.txt.
const testSize = 40

// eachProgram runs f on every program in each of its precisions, with its task of testSize.
func eachProgram(t *testing.T, f func(t *testing.T, g userProgram, p precision, bound float64, task task)) {
	for _, g := range programs {
		for _, name := range g.types {
			p, bound := mustPrecision(name), g.bound32
			if name == "fp64" {
				bound = g.bound64
			}
			t.Run(fmt.Sprintf("%s-%s", g.name, name), func(t *testing.T) {
				task := g.make(p, testSize)
				defer task.free()
				if task.err != nil {
					t.Fatal(task.err)
				}
				f(t, g, p, bound, task)
			})
		}
	}
}

// TestReferencesAgreeWithTwins compares the plain loops with NumPy's results, and checks
// that every case of the suite has its norms.
func TestReferencesAgreeWithTwins(t *testing.T) {
	eachProgram(t, func(t *testing.T, g userProgram, p precision, bound float64, task task) {
		want := task.want()
		for i, output := range g.outputs {
			if _, ok := twinNorms()[g.caseName(p, g.size)]["norm-"+output]; !ok {
				t.Errorf("the twin printed no norm of %s at size %d", output, g.size)
			}
			twin := twinNorms()[g.caseName(p, testSize)]["norm-"+output]
			if off := math.Abs(norm(want[i])-twin) / twin; !(off <= bound) {
				t.Errorf("the norm of %s is %v, NumPy's is %v", output, norm(want[i]), twin)
			}
		}
	})
}

// TestSpoiledProgramFails checks that a result that is off by some bounds, or that lacks
// elements, fails the check.
func TestSpoiledProgramFails(t *testing.T) {
	eachProgram(t, func(t *testing.T, g userProgram, p precision, bound float64, task task) {
		want, name := task.want(), g.caseName(p, testSize)
		judge := func(results []*gpk.Array) error {
			d, err := g.check(name, results, want, bound)
			if err == nil {
				err = d.within(bound)
			}
			return err
		}
		if err := judge(task.run()); err != nil {
			t.Fatal(err)
		}
		for i, output := range g.outputs {
			results := task.run()
			if results[i].DType() == gpk.Int64 {
				results[i] = results[i].Flip(-1)
			} else {
				results[i] = results[i].Mul(1 + 8*bound)
			}
			if judge(results) == nil {
				t.Errorf("a wrong %s passes", output)
			}
			results = task.run()
			results[i] = results[i].Slice(0, 0, 1)
			if judge(results) == nil {
				t.Errorf("a part of %s passes", output)
			}
		}
	})
}

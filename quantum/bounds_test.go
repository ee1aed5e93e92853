package quantum

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestFeatureBound checks that a feature number that no sample can have is an error.
func TestFeatureBound(t *testing.T) {
	onCPU(t)
	for _, i := range []int{-1, math.MaxInt32, math.MaxInt - 1, math.MaxInt} {
		c := NewCircuit(1).RX(0, Feature(i).Scale(2).Add(Const(1)))
		if err := c.Err(); !errors.Is(err, gpk.ErrUnsupported) || !strings.Contains(err.Error(), fmt.Sprint("feature ", i)) {
			t.Errorf("feature %d: %v", i, err)
		}
		if _, err := Gram(context.Background(), c, gpk.Ones(gpk.Float64, 2, 2), nil, Options{}); err == nil {
			t.Errorf("feature %d is read", i)
		}
	}
	c := NewCircuit(1).RX(0, Feature(math.MaxInt32-1))
	if err := c.Err(); err != nil || c.Features() != math.MaxInt32 {
		t.Errorf("the last feature: %d features, %v", c.Features(), err)
	}
	if _, err := Gram(context.Background(), c, gpk.Ones(gpk.Float64, 2, 2), nil, Options{}); !errors.Is(err, gpk.ErrShape) {
		t.Errorf("the last feature of two: %v", err)
	}
	if _, err := PlanGram(c, maxSamples, 0, gpk.Ones(gpk.Float64, 1).Device().Info(), Options{MemoryBudget: math.MaxInt64}); err != nil && !errors.Is(err, gpk.ErrOutOfMemory) {
		t.Errorf("a plan of it: %v", err)
	}
}

// TestDegreeBound: squares of squares end.
func TestDegreeBound(t *testing.T) {
	a := Feature(0)
	for range 6 {
		a = a.Mul(a)
	}
	if a.err != nil || a.degree() != maxDegree {
		t.Fatalf("degree %d: %v", a.degree(), a.err)
	}
	for _, b := range []Angle{Feature(1), Feature(1).Add(Const(3)), a} {
		if c := a.Mul(b); c.err == nil {
			t.Errorf("degree %d is allowed", c.degree())
		}
	}
	for range 60 {
		a = a.Mul(a)
	}
	if a.err == nil {
		t.Error("2^66 factors")
	}
	if b := Const(2).Mul(Feature(0)).Mul(Const(3)); b.err != nil || !b.Equal(Feature(0).Scale(6)) {
		t.Errorf("a constant counts: %v", b.err)
	}
}

// TestEntanglerBound: circuits of a file's length end too.
func TestEntanglerBound(t *testing.T) {
	for name, c := range map[string]*Circuit{
		"three gates a layer":      BasicEntangler(slices.Repeat([][]float64{{1}}, maxGates/3+1), EntanglerOptions{Embedding: RYRZ, Reupload: true}),
		"one gate, and the sample": BasicEntangler(slices.Repeat([][]float64{{1}}, maxGates), EntanglerOptions{}),
	} {
		if err := c.Err(); !errors.Is(err, gpk.ErrUnsupported) || len(c.gates) > 0 {
			t.Errorf("%s: %d gates, %v", name, len(c.gates), err)
		}
	}
	for _, o := range []EntanglerOptions{{}, {Reupload: true}, {Embedding: RYRZ}, {Embedding: RYRZ, Reupload: true}} {
		for q := 1; q < 5; q++ {
			c := BasicEntangler(slices.Repeat([][]float64{make([]float64, q)}, 7), o)
			if c.Err() != nil || len(c.gates) != cap(c.gates) {
				t.Errorf("%v on %d qubits: %d gates, counted as %d, %v", o, q, len(c.gates), cap(c.gates), c.Err())
			}
		}
	}
}

// TestNilContext checks that a nil context is an error, which is not an error of a worker.
func TestNilContext(t *testing.T) {
	onCPU(t)
	x := gpk.Ones(gpk.Float64, 600, 3)
	c := ringCZ(3, true)
	var none context.Context
	if _, err := Gram(none, c, x, nil, Options{}); !errors.Is(err, gpk.ErrUnsupported) || !strings.Contains(err.Error(), "context") {
		t.Errorf("Gram: %v", err)
	}
	if _, err := States(none, c, x, gpk.Complex64); !errors.Is(err, gpk.ErrUnsupported) || !strings.Contains(err.Error(), "context") {
		t.Errorf("States: %v", err)
	}
}

// TestJitterBound checks that a jitter that K cannot represent is refused, and that K has
// no infinite entry.
func TestJitterBound(t *testing.T) {
	onCPU(t)
	x := gpk.FromSlice([]float64{0.1, 0.2}, 2, 1)
	c := NewCircuit(1).RY(0, Feature(0))
	for _, p := range []Precision{Standard, Fast} {
		for jitter, want := range map[float64]error{3e38: nil, math.MaxFloat32: nil, 3.5e38: gpk.ErrUnsupported, 1e300: gpk.ErrUnsupported} {
			r, err := Gram(context.Background(), c, x, nil, Options{Precision: p, Jitter: jitter})
			if !errors.Is(err, want) {
				t.Errorf("%v, %v: %v", p, jitter, err)
			}
			if err == nil && slices.ContainsFunc(values(t, r.K), func(v float64) bool { return math.IsInf(v, 0) || math.IsNaN(v) }) {
				t.Errorf("%v, %v: K is %v", p, jitter, values(t, r.K))
			}
		}
	}
	r, err := Gram(context.Background(), c, x, nil, Options{Precision: Double, Jitter: 1e300})
	if err != nil || values(t, r.K)[0] != 1e300 {
		t.Errorf("double: %v", err)
	}
}

// TestNormalizeSite: the errors of Normalize, Center and CenterCross name the user's line
// and nothing of this package.
func TestNormalizeSite(t *testing.T) {
	onCPU(t)
	packed := gpk.Pack(gpk.Ones(gpk.Float32, 3, 3))
	freed := gpk.Ones(gpk.Float64, 3, 3)
	freed.Free()
	train := gpk.Ones(gpk.Float32, 3, 3)
	line := func() string {
		_, file, n, _ := runtime.Caller(1)
		return fmt.Sprintf("quantum/%s:%d", filepath.Base(file), n)
	}
	for name, f := range map[string]func() (string, error){
		"Normalize of a packed array":    func() (string, error) { return line(), Normalize(packed, 0).Err() },
		"Normalize of a freed array":     func() (string, error) { return line(), Normalize(freed, 0).Err() },
		"Center of a packed array":       func() (string, error) { return line(), Center(packed).Err() },
		"Center of a freed array":        func() (string, error) { return line(), Center(freed).Err() },
		"CenterCross of a packed array":  func() (string, error) { return line(), CenterCross(packed, train).Err() },
		"CenterCross to a packed array":  func() (string, error) { return line(), CenterCross(train, packed).Err() },
		"CenterCross of another's shape": func() (string, error) { return line(), CenterCross(gpk.Ones(gpk.Float32, 2, 2), train).Err() },
	} {
		want, err := f()
		op, ok := errors.AsType[*gpk.OpError](err)
		if !ok || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "normalize.go") {
			t.Errorf("%s: %v, want the line %s alone", name, err, want)
		} else if op.Site != want {
			t.Errorf("%s: the site is %s, want %s", name, op.Site, want)
		}
	}
}

// TestCenterCaptured: Center can be recorded.
func TestCenterCaptured(t *testing.T) {
	onCPU(t)
	k := gpk.FromSlice([]float64{1, .5, .5, 1}, 2, 2)
	g, err := gpk.Capture([]*gpk.Array{k}, func(in []*gpk.Array) []*gpk.Array { return []*gpk.Array{Center(in[0])} })
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Replay(); err != nil {
		t.Fatal(err)
	}
	if got := values(t, g.Outputs()[0]); !slices.Equal(got, []float64{.25, -.25, -.25, .25}) {
		t.Errorf("it gives %v", got)
	}
}

// TestGatherTime: 64 times the steps take about 64 times as long. If each removal moved all
// later steps, they would take thousands of times as long. The clock is that of the thread:
// other programs and the garbage collector do not count.
func TestGatherTime(t *testing.T) {
	if raceDetector {
		t.Skip("times under the race detector say nothing")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if threadTime() == 0 {
		t.Skip("NOT RUN: a thread's time is not known here")
	}
	gather := func(n, tries int) int64 {
		best := int64(math.MaxInt64)
		for range tries {
			b := &block{wires: []int{0, 1}}
			for range n { // a phase that the next one takes, past a matrix on the other wire
				b.steps = append(b.steps,
					&step{kind: stepDiagonal, terms: []term{{m1: 1, angle: Feature(0)}}},
					&step{kind: stepLocal, wire: 1, factors: []factor{{kind: gateRX, angle: Feature(1)}}})
			}
			begun := threadTime()
			b.gather()
			best = min(best, threadTime()-begun)
			if len(b.steps) != n+1 || b.steps[n-1].kind != stepDiagonal || !b.steps[n-1].terms[0].angle.Equal(Feature(0).Scale(float64(n))) {
				t.Fatalf("%d steps are left, the last %v", len(b.steps), b.steps[n-1])
			}
		}
		return best
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	few, many := gather(1<<11, 20), gather(1<<17, 2)
	if ratio := float64(many) / float64(max(few, 1)); ratio > 1000 {
		t.Errorf("%d ns for %d steps and %d for %d: %.0f times", few, 1<<12, many, 1<<18, ratio)
	}
}

// TestCompileAgain: one circuit gives one program, in every run.
func TestCompileAgain(t *testing.T) {
	rng := testrand.New(t)
	for range 100 {
		c := randomCircuit(rng, 2+rng.IntN(6), 60, 3, families["diagonal"])
		var first string
		for range 3 {
			k, err := compileKernel(c, General)
			if err != nil {
				t.Fatal(err)
			}
			var text strings.Builder
			for _, b := range k.blocks {
				for _, a := range b.angles.angles {
					text.WriteString(a.key() + " ")
				}
			}
			if first == "" {
				first = text.String()
			}
			if text.String() != first {
				t.Fatalf("%s\n%s\n%v", first, &text, c)
			}
		}
	}
}

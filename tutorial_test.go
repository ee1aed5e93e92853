package gpk_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/interop/npy"
)

// The code of docs/tutorial.md: each of its blocks stands in one of these examples, and its
// output behind it (TestTutorial).

func Example_tutorialArrays() {
	a := gpk.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3) // 2 rows, 3 columns
	b := gpk.Ones(gpk.Float32, 2, 3)
	c := a.Mul(10).Add(b)
	fmt.Println(c)
	// Output:
	// [[11. 21. 31.]
	//  [41. 51. 61.]]
}

func Example_tutorialBoundary() {
	a := gpk.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	values, err := gpk.ToSlice[float32](a.Sum(0))
	fmt.Println(values, err)
	largest, err := gpk.Item[float32](a.Max())
	fmt.Println(largest, err)
	// Output:
	// [5 7 9] <nil>
	// 6 <nil>
}

func Example_tutorialErrors() {
	a := gpk.Ones(gpk.Float32, 2, 3)
	wrong := a.MatMul(a).Add(1).Exp() // [2, 3] times [2, 3] does not fit
	_, err := gpk.ToSlice[float32](wrong)
	var op *gpk.OpError
	if errors.As(err, &op) {
		fmt.Println(op.Op, op.Shapes, errors.Is(err, gpk.ErrShape))
	}
	// Output:
	// MatMul [[2 3] [2 3]] true
}

func Example_tutorialTypes() {
	counts := gpk.FromSlice([]int32{1, 2, 3})
	weights := gpk.FromSlice([]float64{0.5, 0.25, 0.25})
	fmt.Println(errors.Is(counts.Mul(weights).Err(), gpk.ErrDType))
	fmt.Println(counts.Cast(gpk.Float64).Mul(weights).Sum())
	// Output:
	// true
	// 1.75
}

func Example_tutorialViews() {
	a := gpk.Arange(gpk.Int32, 12).Reshape(3, 4)
	fmt.Println(a.Slice(1, 1, 3)) // columns 1 and 2
	fmt.Println(a.T().At(0))      // the first column
	row := gpk.FromSlice([]int32{0, 100, 200, 300})
	fmt.Println(a.Add(row).At(-1)) // row is added to every row
	// Output:
	// [[ 1  2]
	//  [ 5  6]
	//  [ 9 10]]
	// [0 4 8]
	// [  8 109 210 311]
}

func Example_tutorialWrites() {
	a := gpk.Zeros(gpk.Float32, 2, 2)
	before := a.Add(1)
	err := a.Slice(0, 0, 1).CopyFrom(5) // writes the first row of a
	fmt.Println(a, err)
	fmt.Println(before) // keeps what a showed on its line
	// Output:
	// [[5. 5.]
	//  [0. 0.]] <nil>
	// [[1. 1.]
	//  [1. 1.]]
}

func Example_tutorialProducts() {
	x := gpk.NewRNG(1).Normal(gpk.Float32, 0, 1, 64, 128)
	w := gpk.NewRNG(2).Normal(gpk.Float32, 0, 1, 128, 32)
	fast := x.MatMul(w)                     // TF32 on tensor cores, where there are any
	exact := x.MatMul(w, gpk.FullPrecision) // the error of IEEE float32
	apart, err := gpk.Item[float32](fast.Sub(exact).Abs().Max())
	fmt.Println(fast.Shape(), apart < 0.1, err)
	// Output:
	// [64 32] true <nil>
}

func Example_tutorialLazy() {
	x := gpk.Linspace(gpk.Float32, 0, 1, 1000)
	y := x.Mul(2).Sin().Square().Add(1) // nothing has run
	fmt.Println(y.Explain() != "")      // how it is going to run: one kernel on a GPU
	fmt.Println(gpk.Eval(y))            // starts it and does not wait
	// Output:
	// true
	// <nil>
}

func Example_tutorialScopes() {
	w := gpk.Ones(gpk.Float32, 3)
	for range 100 {
		err := gpk.Scoped(func(s *gpk.Scope) error {
			gradient := s.In(w).Mul(0.01) // computed from what is In: belongs to s
			return w.SubInPlace(gradient)
		}) // all that belongs to s is freed
		if err != nil {
			fmt.Println(err)
		}
	}
	fmt.Printf("%.3f\n", w)
	// Output:
	// [0.366 0.366 0.366]
}

func Example_tutorialGoroutines() {
	table := gpk.Arange(gpk.Float64, 1000)
	sums := make([]float64, 4)
	var wg sync.WaitGroup
	for i := range sums {
		wg.Go(func() {
			part := table.Slice(0, 250*i, 250*(i+1))
			sums[i], _ = gpk.Item[float64](part.Sum())
		})
	}
	wg.Wait()
	fmt.Println(sums)
	// Output:
	// [31125 93625 156125 218625]
}

func Example_tutorialFiles() {
	var file bytes.Buffer
	err := npy.Write(&file, gpk.Arange(gpk.Int64, 4))
	read, err2 := npy.Read(&file)
	fmt.Println(read, errors.Join(err, err2))
	// Output:
	// [0 1 2 3] <nil>
}

func Example_tutorialGraphs() {
	x := gpk.Zeros(gpk.Float32, 4)
	graph, err := gpk.Capture([]*gpk.Array{x}, func(in []*gpk.Array) []*gpk.Array {
		return []*gpk.Array{in[0].Mul(2).Add(1)}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = errors.Join(gpk.FromSliceInto(x, []float32{1, 2, 3, 4}), graph.Replay())
	fmt.Println(graph.Outputs()[0], err)
	// Output:
	// [3. 5. 7. 9.] <nil>
}

// TestTutorial: every block of Go in docs/tutorial.md is code of an example above, and every
// block of text is the output that it is tested for.
func TestTutorial(t *testing.T) {
	source, err := os.ReadFile("tutorial_test.go")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	trimmed := func(s, comment string) string {
		var b strings.Builder
		for line := range strings.Lines(s) {
			b.WriteString(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), comment)) + "\n")
		}
		return b.String()
	}
	code, output := "\n"+trimmed(string(source), ""), "\n"+trimmed(string(source), "// ")
	blocks := map[string]int{}
	for i, part := range strings.Split(string(text), "\n```") {
		if i%2 == 0 {
			continue
		}
		kind, block, _ := strings.Cut(part, "\n")
		blocks[kind]++
		in := map[string]string{"go": code, "text": output}[kind]
		if in != "" && !strings.Contains(in, "\n"+trimmed(block, "")) {
			t.Errorf("no example has the block of %s\n%s", kind, block)
		}
	}
	if blocks["go"] < 10 || blocks["text"] < 10 {
		t.Errorf("blocks: %v", blocks)
	}
}

package linalg

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"

	"github.com/gpk-go/gpk"
)

// numpyCase is a line of testdata/numpy_linalg.py. Complex numbers are pairs.
type numpyCase struct {
	Op                       string
	Shape, WantShape, BShape []int
	Data, Want, BData        []float64
	Q, Condition             float64
	Complex                  bool
}

func (c *numpyCase) array(pairs []float64, shape []int) *gpk.Array {
	a := gpk.FromSlice(complexes(pairs), append([]int{}, shape...)...)
	if len(shape) == 0 {
		a = a.Reshape()
	}
	if !c.Complex {
		return a.Real()
	}
	return a
}

// complexes returns pairs of numbers as complex ones.
func complexes(pairs []float64) []complex128 {
	var list []complex128
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, complex(pairs[i], pairs[i+1]))
	}
	return list
}

func order(q float64) float64 {
	if math.Abs(q) == 100 {
		return math.Inf(int(q))
	}
	return q
}

// numpyNames are the functions of NumPy that the script calls.
var numpyNames = map[string]func(a, b *gpk.Array, c *numpyCase) *gpk.Array{
	"cholesky":       func(a, _ *gpk.Array, _ *numpyCase) *gpk.Array { return Cholesky(a) },
	"cholesky upper": func(a, _ *gpk.Array, _ *numpyCase) *gpk.Array { return Cholesky(a, Upper) },
	"solve":          func(a, b *gpk.Array, _ *numpyCase) *gpk.Array { return Solve(a, b) },
	"solve vector":   func(a, b *gpk.Array, _ *numpyCase) *gpk.Array { return Solve(a, b) },
	"inv":            func(a, _ *gpk.Array, _ *numpyCase) *gpk.Array { return Inv(a) },
	"det":            func(a, _ *gpk.Array, _ *numpyCase) *gpk.Array { return Det(a) },
	"slogdet sign":   func(a, _ *gpk.Array, _ *numpyCase) *gpk.Array { s, _ := SlogDet(a); return s },
	"slogdet log":    func(a, _ *gpk.Array, _ *numpyCase) *gpk.Array { _, l := SlogDet(a); return l },
	"eigvalsh":       func(a, _ *gpk.Array, _ *numpyCase) *gpk.Array { return EigvalsH(a) },
	"eigvalsh upper": func(a, _ *gpk.Array, _ *numpyCase) *gpk.Array { return EigvalsH(a, Upper) },
	"eigvals":        func(a, _ *gpk.Array, _ *numpyCase) *gpk.Array { return byRealPart(Eigvals(a), nil) },
	"eig vectors":    func(a, _ *gpk.Array, _ *numpyCase) *gpk.Array { v, x := Eig(a); return byRealPart(v, x).Abs() },
	"svdvals":        func(a, _ *gpk.Array, _ *numpyCase) *gpk.Array { return SVDVals(a) },
	"qr size":        func(a, _ *gpk.Array, _ *numpyCase) *gpk.Array { _, r := QR(a); return r.Abs() },
	"rank":           func(a, _ *gpk.Array, _ *numpyCase) *gpk.Array { return MatrixRank(a) },
	"pinv":           func(a, _ *gpk.Array, c *numpyCase) *gpk.Array { return Pinv(a, c.Q) },
	"lstsq 0":        func(a, b *gpk.Array, c *numpyCase) *gpk.Array { x, _, _, _ := LstSq(a, b, c.Q); return x },
	"lstsq 1":        func(a, b *gpk.Array, c *numpyCase) *gpk.Array { _, x, _, _ := LstSq(a, b, c.Q); return x },
	"lstsq 2":        func(a, b *gpk.Array, c *numpyCase) *gpk.Array { _, _, x, _ := LstSq(a, b, c.Q); return x },
	"lstsq 3":        func(a, b *gpk.Array, c *numpyCase) *gpk.Array { _, _, _, x := LstSq(a, b, c.Q); return x },
	"cond":           func(a, _ *gpk.Array, c *numpyCase) *gpk.Array { return Cond(a, order(c.Q)) },
}

// byRealPart sorts eigenvalues by their real parts, and returns the vectors of that order, or the values if there are no
// vectors.
func byRealPart(values, vectors *gpk.Array) *gpk.Array {
	order := values.Real().ArgSort(-1, false)
	if vectors == nil {
		return values.TakeAlongAxis(order, -1)
	}
	return vectors.TakeAlongAxis(order.Unsqueeze(-2).BroadcastTo(vectors.Shape()...), -1)
}

// TestNumPy compares with NumPy, by 200 random calls of each function, on stacks that lie dense and
// transposed. GPK_NUMPY_CASES sets another number. GPK_NUMPY_PYTHON is the path of a Python
// interpreter with NumPy 2.
func TestNumPy(t *testing.T) {
	python := os.Getenv("GPK_NUMPY_PYTHON")
	if python == "" {
		t.Skip("NOT RUN: GPK_NUMPY_PYTHON names no Python with NumPy 2, the reference")
	}
	cases := os.Getenv("GPK_NUMPY_CASES")
	if cases == "" {
		cases = "200"
	}
	least, err := strconv.Atoi(cases)
	if err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint32()
	t.Logf("seed %d", seed)
	command := exec.CommandContext(t.Context(), python, "testdata/numpy_linalg.py", fmt.Sprint(seed), cases)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var c numpyCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		call := numpyNames[c.Op]
		if call == nil {
			t.Fatalf("nothing is called for %s", c.Op)
		}
		count[c.Op]++
		a := c.array(c.Data, c.Shape)
		var b *gpk.Array
		if c.BShape != nil {
			b = c.array(c.BData, c.BShape)
		}
		for _, a := range []*gpk.Array{a, a.T().Contiguous().T()} {
			x := call(a, b, &c)
			got, err := gpk.ToSlice[complex128](x.Cast(gpk.Complex128))
			if err != nil || !slices.Equal(x.Shape(), c.WantShape) {
				t.Fatalf("%s of %v: shape %v, want %v (%v)", c.Op, c.Shape, x.Shape(), c.WantShape, err)
			}
			want := complexes(c.Want)
			if !near(got, want, c.Condition) {
				t.Fatalf("%s of %v %v with %v: %v, want %v", c.Op, c.Shape, a, b, got, want)
			}
		}
	}
	for op := range numpyNames {
		if count[op] < least && op != "lstsq 1" { // NumPy has residuals of tall matrices alone
			t.Errorf("%d calls of %s, want %s", count[op], op, cases)
		}
	}
}

// near reports whether numbers agree to 1000 eps times the square of the condition: both programs
// have forward errors of some n eps times the condition, in what is squared its square.
func near(got, want []complex128, c float64) bool {
	largest := 0.0
	for _, w := range want {
		largest = max(largest, cmplx.Abs(w))
	}
	for i, w := range want {
		if got[i] == w {
			continue
		}
		if limit := 1000 * 0x1p-52 * c * c * (largest + 1); !(cmplx.Abs(got[i]-w) <= limit) {
			return false
		}
	}
	return len(got) == len(want)
}

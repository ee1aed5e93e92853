package gonum

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/devicetest"
	"gonum.org/v1/gonum/blas"
	blasgonum "gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/blas/testblas"
)

// TestTestblas runs gonum's own tests of level 3, with every product by gpk and blocks of one
// row on the diagonal, and again with the sizes that are the default.
func TestTestblas(t *testing.T) {
	for name, b := range map[string]*BLAS{"all": NewBLAS(MinSize(0), LeafSize(1)), "leaves of 3": NewBLAS(MinSize(0), LeafSize(3)), "default": NewBLAS(nil)} {
		t.Run(name, func(t *testing.T) {
			for routine, test := range map[string]func(*testing.T){
				"Dgemm":  func(t *testing.T) { testblas.TestDgemm(t, b) },
				"Dsymm":  func(t *testing.T) { testblas.DsymmTest(t, b) },
				"Dsyrk":  func(t *testing.T) { testblas.DsyrkTest(t, b) },
				"Dsyr2k": func(t *testing.T) { testblas.Dsyr2kTest(t, b) },
				"Dtrmm":  func(t *testing.T) { testblas.DtrmmTest(t, b) },
				"Dtrsm":  func(t *testing.T) { testblas.DtrsmTest(t, b) },
				"Zgemm":  func(t *testing.T) { testblas.ZgemmTest(t, b) },
				"Zhemm":  func(t *testing.T) { testblas.ZhemmTest(t, b) },
				"Zherk":  func(t *testing.T) { testblas.ZherkTest(t, b) },
				"Zher2k": func(t *testing.T) { testblas.Zher2kTest(t, b) },
				"Zsymm":  func(t *testing.T) { testblas.ZsymmTest(t, b) },
				"Zsyrk":  func(t *testing.T) { testblas.ZsyrkTest(t, b) },
				"Zsyr2k": func(t *testing.T) { testblas.Zsyr2kTest(t, b) },
				"Ztrmm":  func(t *testing.T) { testblas.ZtrmmTest(t, b) },
				"Ztrsm":  func(t *testing.T) { testblas.ZtrsmTest(t, b) },
			} {
				t.Run(routine, test)
			}
		})
	}
}

// TestTaken: small and invalid problems are left to gonum.
func TestTaken(t *testing.T) {
	b := NewBLAS()
	for _, c := range []struct {
		m, n, k int
		want    bool
	}{{64, 64, 64, true}, {63, 64, 64, false}, {0, 64, 64, false}, {1, 1 << 20, 1, true}, {1 << 15, 1 << 15, 1 << 15, true}} {
		if got := b.large(c.m, c.n, c.k); got != c.want {
			t.Errorf("%d x %d by %d x %d: %v", c.m, c.k, c.k, c.n, got)
		}
	}
	a := make([]float64, 64*64)
	for name, got := range map[string]bool{
		"good":             b.takes(blas.NoTrans, blas.Trans, 64, 64, 64, len(a), 64, len(a), 64, len(a), 64),
		"short A":          !b.takes(blas.NoTrans, blas.Trans, 64, 64, 64, len(a)-1, 64, len(a), 64, len(a), 64),
		"short C":          !b.takes(blas.NoTrans, blas.Trans, 64, 64, 64, len(a), 64, len(a), 64, len(a)-1, 64),
		"narrow rows":      !b.takes(blas.NoTrans, blas.Trans, 64, 64, 64, len(a), 63, len(a), 64, len(a), 64),
		"an unknown trans": !b.takes('x', blas.Trans, 64, 64, 64, len(a), 64, len(a), 64, len(a), 64),
		"a large stride":   !b.takes(blas.NoTrans, blas.Trans, 64, 64, 64, len(a), math.MaxInt/2, len(a), 64, len(a), 64),
	} {
		if !got {
			t.Error(name)
		}
	}
}

// TestBLASDefault: sizes of the default, where gpk and gonum share the work, against gonum
// alone. The bound is that of two sums of k products: 2 k eps of the sum of magnitudes,
// and n more for the solve.
func TestBLASDefault(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 2))
	b, g := NewBLAS(), blasgonum.Implementation{}
	const n, ld = 150, 153
	random := func() []float64 {
		x := make([]float64, n*ld)
		for i := range x {
			x[i] = r.Float64() - 0.5
		}
		return x
	}
	x, y := random(), random()
	for i := range n {
		x[i*ld+i] += n // solves are well conditioned
	}
	for name, f := range map[string]func(b blas.Float64, c []float64){
		"Dgemm": func(b blas.Float64, c []float64) {
			b.Dgemm(blas.Trans, blas.NoTrans, n, n, n, 2, x, ld, y, ld, -3, c, ld)
		},
		"Dsymm":  func(b blas.Float64, c []float64) { b.Dsymm(blas.Right, blas.Lower, n, n, 2, x, ld, y, ld, 1, c, ld) },
		"Dsyrk":  func(b blas.Float64, c []float64) { b.Dsyrk(blas.Upper, blas.NoTrans, n, n, -1, y, ld, 1, c, ld) },
		"Dsyr2k": func(b blas.Float64, c []float64) { b.Dsyr2k(blas.Lower, blas.Trans, n, n, 1, x, ld, y, ld, 0, c, ld) },
		"Dtrmm": func(b blas.Float64, c []float64) {
			b.Dtrmm(blas.Left, blas.Lower, blas.Trans, blas.Unit, n, n, 3, x, ld, c, ld)
		},
		"Dtrsm": func(b blas.Float64, c []float64) {
			b.Dtrsm(blas.Left, blas.Upper, blas.NoTrans, blas.NonUnit, n, n, 3, x, ld, c, ld)
		},
	} {
		got := random()
		want := append([]float64{}, got...)
		f(b, got)
		f(g, want)
		largest, bound := 0.0, 0.0
		for i := range got {
			largest = max(largest, math.Abs(got[i]-want[i]))
			bound = max(bound, math.Abs(want[i]))
			if i%ld >= n && got[i] != want[i] {
				t.Fatalf("%s: the element %d, outside the matrix, was written", name, i)
			}
		}
		if largest > 4*n*0x1p-53*max(bound, n) {
			t.Errorf("seed %d: %s differs by %g from gonum's, of elements up to %g", seed, name, largest, bound)
		}
	}
}

// TestBLASPanics checks that an error of gpk is a panic that names the product.
func TestBLASPanics(t *testing.T) {
	defer func() {
		err, _ := recover().(error)
		if !errors.Is(err, gpk.ErrShape) || !strings.Contains(fmt.Sprint(err), "product of 8 x 8 by 8 x 8") {
			t.Errorf("recovered %v", err)
		}
	}()
	d := devicetest.CPU(t)
	x := make([]complex128, 64)
	product(NewBLAS(OnDevice(d)), blas.ConjTrans, blas.NoTrans, 8, 8, 8, 2, x[1:], 8, x, 8, 3, make([]complex128, 64), 8)
	t.Error("no panic")
}

// suites is gonum's packages whose own tests TestSuites runs, each with a file that makes
// gpk's BLAS the one in use.
var suites = []struct{ dir, pkg string }{{"mat", "mat_test"}, {"lapack/gonum", "gonum_test"}}

// TestSuites runs the tests of gonum's packages mat and lapack/gonum on gpk's BLAS, if
// GPK_GONUM_SUITES is set. They are compiled from a copy of gonum's source.
func TestSuites(t *testing.T) {
	if os.Getenv("GPK_GONUM_SUITES") == "" {
		t.Skip("NOT RUN: gonum's tests of mat and lapack take minutes; GPK_GONUM_SUITES=1 runs them")
	}
	list, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "gonum.org/v1/gonum").Output()
	if err != nil {
		t.Fatal(err)
	}
	root, tmp := strings.TrimSpace(string(list)), t.TempDir()
	if err := os.CopyFS(filepath.Join(tmp, "gonum"), os.DirFS(root)); err != nil {
		t.Fatal(err)
	}
	for _, s := range suites {
		text := fmt.Sprintf(useText, s.pkg)
		if err := os.WriteFile(filepath.Join(tmp, "gonum", s.dir, "gpk_use_test.go"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	mod, err := exec.Command("go", "mod", "edit", "-json").Output()
	if err != nil || !json.Valid(mod) {
		t.Fatal(err)
	}
	here, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(here, f))
		if err != nil {
			t.Fatal(err)
		}
		if f == "go.mod" {
			text = append(text, "\nreplace gonum.org/v1/gonum => "+filepath.Join(tmp, "gonum")+"\n"...)
		}
		if err := os.WriteFile(filepath.Join(tmp, f), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range suites {
		c := exec.Command("go", "test", "-modfile", filepath.Join(tmp, "go.mod"), "-mod=mod", "-short", "-timeout", "30m", "gonum.org/v1/gonum/"+s.dir)
		c.Dir = here
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", s.dir, err, out)
		}
		t.Logf("%s", out)
	}
}

const useText = `package %s

import (
	"github.com/gpk-go/gpk/interop/gonum"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/cblas128"
)

func init() {
	b := gonum.NewBLAS(gonum.MinSize(1000), gonum.LeafSize(8))
	blas64.Use(b)
	cblas128.Use(b)
}
`

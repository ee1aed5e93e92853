package gpktest

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/numpytest"
)

// numpyAccuracy are the functions for which NumPy's tests have a set of accurate results,
// umath-validation-set-NAME.csv.
var numpyAccuracy = map[string]expr.Op{
	"arccos": expr.Acos, "arccosh": expr.Acosh, "arcsin": expr.Asin, "arcsinh": expr.Asinh, "arctan": expr.Atan,
	"arctanh": expr.Atanh, "cbrt": expr.Cbrt, "cos": expr.Cos, "cosh": expr.Cosh, "exp": expr.Exp, "exp2": expr.Exp2,
	"expm1": expr.Expm1, "log": expr.Log, "log10": expr.Log10, "log1p": expr.Log1p, "log2": expr.Log2, "sin": expr.Sin,
	"sinh": expr.Sinh, "tan": expr.Tan, "tanh": expr.Tanh,
}

// accurateRow is a row of a set: the bits of an argument and of the result, rounded once, and
// the error that the set allows, in units of the last place.
type accurateRow struct {
	in, want uint64
	ulp      int64
}

// accurateRows reads a set, by NumPy's name of the type.
func accurateRows(path string) (map[string][]accurateRow, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r := csv.NewReader(file)
	r.Comment, r.FieldsPerRecord = '#', 4
	records, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	out := map[string][]accurateRow{}
	for _, f := range records[1:] {
		kind := strings.TrimPrefix(f[0], "np.")
		bits := map[string]int{"float32": 32, "float64": 64}[kind]
		in, err := strconv.ParseUint(f[1], 0, bits)
		if err != nil {
			return nil, fmt.Errorf("%s, %v: %w", path, f, err)
		}
		want, err := strconv.ParseUint(f[2], 0, bits)
		if err != nil {
			return nil, fmt.Errorf("%s, %v: %w", path, f, err)
		}
		ulp, err := strconv.ParseInt(strings.TrimSpace(f[3]), 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%s, %v: %w", path, f, err)
		}
		out[kind] = append(out[kind], accurateRow{in, want, ulp})
	}
	return out, nil
}

// ladder returns the place of a floating-point number among all numbers of its type, from its
// bits: the places of neighbours differ by 1, those of -0 and 0 by 0.
func ladder(bits uint64, size int) int64 {
	if sign := uint64(1) << (size - 1); bits&sign != 0 {
		return -int64(bits &^ sign)
	}
	return int64(bits)
}

// TestNumPyAccuracySets compares functions on the default device with the sets of accurate results
// of NumPy's own tests: every row of every function, of dense and of strided arrays. The error must
// be within the units in the last place that the row allows. GPK_NUMPY_PYTHON names a Python with
// NumPy 2, whose package has the sets.
func TestNumPyAccuracySets(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), numpytest.Python(t), "-c", "import os, numpy; print(os.path.dirname(numpy.__file__))").Output()
	if err != nil {
		t.Fatal(err)
	}
	const before, behind = "umath-validation-set-", ".csv"
	paths, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "_core/tests/data", before+"*"+behind))
	if err != nil || len(paths) < len(numpyAccuracy) {
		t.Fatalf("%d sets in NumPy's package, want at least %d (%v)", len(paths), len(numpyAccuracy), err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), before), behind)
		op, ok := numpyAccuracy[name]
		if !ok {
			t.Errorf("no function is compared with the set %s", name)
			continue
		}
		sets, err := accurateRows(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(sets) != 2 || len(sets["float32"]) < 100 || len(sets["float64"]) < 100 {
			t.Errorf("%s: a set of %d types, with %d rows of float32 and %d of float64", name, len(sets), len(sets["float32"]), len(sets["float64"]))
		}
		for kind, rows := range sets {
			compareAccuracy(t, name, op, kind, rows)
		}
	}
}

// compareAccuracy compares the rows of one type.
func compareAccuracy(t *testing.T, name string, op expr.Op, kind string, rows []accurateRow) {
	t.Helper()
	size, number := 64, math.Float64frombits
	if kind == "float32" {
		size, number = 32, func(bits uint64) float64 { return float64(math.Float32frombits(uint32(bits))) }
	}
	worst := int64(0)
	in := make([]float64, len(rows))
	for i, r := range rows {
		in[i] = number(r.in)
	}
	x := gpk.FromSlice(in).Cast(numpyTypes[kind])
	for _, view := range []*gpk.Array{x, gpk.Stack(1, x, x.Neg()).Slice(1, 0, 1).Squeeze(1)} {
		got, err := gpk.ToSlice[float64](unaryMethods[op](view).Cast(gpk.Float64))
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range rows {
			want := number(r.want)
			if math.IsNaN(want) && math.IsNaN(got[i]) {
				continue
			}
			bits := math.Float64bits(got[i])
			if size == 32 {
				bits = uint64(math.Float32bits(float32(got[i])))
			}
			off := ladder(bits, size) - ladder(r.want, size)
			off = max(off, -off)
			worst = max(worst, off)
			if off > r.ulp || math.IsNaN(want) != math.IsNaN(got[i]) {
				t.Errorf("%s of %s: %v (%#x) gives %v, want %v: %d ulp, at most %d", name, kind, in[i], r.in, got[i], want, off, r.ulp)
			}
		}
	}
	t.Logf("%s of %s: at most %d ulp in %d rows", name, kind, worst, len(rows))
}

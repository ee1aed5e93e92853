//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cutlass

import (
	"bytes"
	"errors"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// fake compiles testdata/fake.c with the given macros and describes it.
func fake(t testing.TB, macros ...string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("NOT RUN: no C compiler (cc) here to build the fake kernel library with")
	}
	path := filepath.Join(t.TempDir(), LibraryName)
	args := []string{"-shared", "-fPIC", "-O2", "-Isrc", `-DFAKE_SET="fakeset"`, "-o", path, "testdata/fake.c"}
	if out, err := exec.Command(cc, append(args, macros...)...).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	describe(t, path, nil)
	return path
}

func openOne(path string, log *bytes.Buffer) (*Library, error) {
	return Open(OpenOptions{
		Candidates: []Candidate{{Path: path, From: "test"}},
		Logger:     slog.New(slog.NewTextHandler(log, nil)),
	})
}

func openFake(t testing.TB) *Library {
	t.Helper()
	lib, err := openOne(fake(t), new(bytes.Buffer))
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

func TestOpen(t *testing.T) {
	path := fake(t)
	var log bytes.Buffer
	text := filepath.Join(t.TempDir(), "text.so")
	write(t, text, []byte("this is not a shared library"))
	lib, err := Open(OpenOptions{
		Candidates: []Candidate{{Path: text, From: "first"}, {Path: path, From: "second"}, {Path: text, From: "third"}},
		Logger:     slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if lib.Path() != path || lib.KernelSet() != "fakeset" || lib.CUDAVersion() != 13000 || lib.Describe().Archs[0] != "90a" {
		t.Errorf("path %s, kernel set %s, CUDA %d, %+v", lib.Path(), lib.KernelSet(), lib.CUDAVersion(), lib.Describe())
	}
	if tried := lib.Tried(); len(tried) != 2 || !errors.Is(tried[0].Err, ErrForeign) || tried[1].Err != nil || !strings.HasSuffix(tried[1].String(), "(second): used") {
		t.Errorf("tried %v", tried)
	}
	// One for the text, one because the fake is not this program's kernel set.
	if n := strings.Count(log.String(), "level=WARN"); n != 2 {
		t.Errorf("%d warnings, want 2:\n%s", n, log.String())
	}
	if i, ok := lib.KernelIndex("second"); i != 1 || !ok {
		t.Errorf("KernelIndex(second) = %d, %v", i, ok)
	}
	if _, ok := lib.KernelIndex("third"); ok {
		t.Error("KernelIndex(third) exists")
	}
}

// TestOpenRefused covers errors that are found only once the library is loaded.
func TestOpenRefused(t *testing.T) {
	for _, c := range []struct {
		name, macro string
		change      func(*Sidecar)
		want        error
		reason      string
	}{
		{"old ABI", "-DFAKE_ABI=0", nil, ErrABI, "version 0 of the kernel ABI"},
		{"missing entry", "-DFAKE_NO_SPIN", nil, ErrLoad, "gpk_spin"},
		{"undefined symbol", "-DFAKE_UNDEFINED", nil, ErrLoad, "gpk_nowhere"},
		{"another kernel set", "", func(s *Sidecar) { s.KernelSet = "other" }, ErrDamaged, "fakeset"},
		{"another CUDA", "", func(s *Sidecar) { s.CUDA = 12080 }, ErrDamaged, "12080"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var macros []string
			if c.macro != "" {
				macros = append(macros, c.macro)
			}
			path := fake(t, macros...)
			describe(t, path, c.change)
			var log bytes.Buffer
			_, err := openOne(path, &log)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.reason) {
				t.Errorf("error %v, want %v that says %q", err, c.want, c.reason)
			}
			if !strings.Contains(log.String(), path) {
				t.Errorf("no warning names %s: %q", path, log.String())
			}
		})
	}
}

// TestOpenDamaged damages a real library at many places: Open refuses each and
// the process lives.
func TestOpenDamaged(t *testing.T) {
	path := fake(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(whole); at += 1 + len(whole)/50 {
		b := bytes.Clone(whole)
		b[at] ^= 0x41
		write(t, path, b)
		if _, err := openOne(path, new(bytes.Buffer)); !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrForeign) {
			t.Fatalf("byte %d changed: %v", at, err)
		}
		write(t, path, whole[:at])
		if _, err := openOne(path, new(bytes.Buffer)); !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrForeign) {
			t.Fatalf("%d bytes of %d: %v", at, len(whole), err)
		}
	}
}

func TestOpenPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), LibraryName)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("no pipes here:", err)
	}
	done := make(chan error, 1)
	go func() { _, err := openOne(path, new(bytes.Buffer)); done <- err }()
	select {
	case err := <-done:
		if !errors.Is(err, ErrForeign) {
			t.Errorf("error %v, want ErrForeign", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("Open waits on a pipe")
	}
}

var numbered = Gemm{
	2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17.5, 18.5,
	19, 20, 21, 22, GuardMisses, 24, 25, 26, 27, 28,
}

// numberedPads are operands whose fields are 2, 3, ... in order.
var numberedPads = [2]Padded{
	{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
	{13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23},
}

// numberedAttention is a problem whose fields are 2, 3, ... in order, but for types and truths.
var numberedAttention = Attention{
	dtype.Float16,
	AttentionRows{2, 3, 4, 5},
	AttentionRows{6, 7, 8, 9},
	AttentionRows{10, 11, 12, 13},
	AttentionRows{14, 15, 16, 17},
	18, dtype.Float32,
	[4]int{20, 21, 22, 23},
	24, 25, 26, 27, 28, 29, 30, 31, 32, 33.5, false, true, 34, 35, 36,
}

// The problems of layers, whose fields are numbered likewise.
var (
	numberedEmbedNorm = EmbedNorm{
		dtype.Float16,
		[EmbedTables]EmbedTable{{1, 2, 3, 4, false}, {5, 6, 7, 8, true}},
		9, 10, 11, 12, 13, 14, 15.5,
	}
	numberedPool         = Pool{dtype.Float64, 1, 2, 3, 4, 5, 6, 7, 8, false, true}
	numberedNormResidual = NormResidual{dtype.Float16, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10.5}
)

// TestEntries checks that every argument arrives at its place in every entry.
func TestEntries(t *testing.T) {
	lib := openFake(t)
	record := make([]int64, 48)
	stream := uint64(uintptr(unsafe.Pointer(&record[0])))
	defer runtime.KeepAlive(record)
	f := func(x float64) int64 { return int64(math.Float64bits(x)) }
	s := func(n int) []int { return []int{99, n} } // the record keeps the last
	for _, c := range append(commonCalls(lib, stream, s), []entryCall{
		{"gpk_gemm_parts", func(code int) error {
			return lib.GemmParts(code, stream, dtype.Float16, 5, 6, 7, numbered)
		}, []int64{3, 2, 3, 5, 6, 7, 12, 13, 15, 16, f(17.5)}},
		{"gpk_prepare", func(code int) error {
			return lib.Prepare(code, stream, dtype.Complex64, FormSplit, 5, 6,
				Prepared{3, 7, 8, 9, 10, true, 12, 13, 14, 15, 16, 17}, Prepared{4, 18, 19, 20, 21, false, 23, 24, 25, 26, 27, 28}, 29, 30)
		}, []int64{10, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 0, 23, 24, 25, 26, 27, 28, 29, 30}},
		{"gpk_fill", func(code int) error { return lib.Fill(code, stream, dtype.Complex128, nil, 3, 4, 5, nil) }, []int64{11, 0, -1, 3, 4, 5, -1}},
		{"gpk_arange", func(code int) error { return lib.Arange(code, stream, dtype.Float16, 1, 2.5, -3, 4) }, []int64{3, 1, f(2.5), f(-3), 4}},
		{"gpk_arange", func(code int) error { return lib.Arange(code, stream, dtype.Int8, 1, 2, -3, 4) }, []int64{5, 1, 2, -3, 4}},
		{"gpk_take", func(code int) error {
			return lib.Take(code, stream, dtype.Float16, dtype.Int64, s(3), 4, s(5), 6, 7, 8, s(9), 10, s(11), 12)
		}, []int64{3, 8, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
		{"gpk_sort", func(code int) error {
			return lib.Sort(code, stream, dtype.Float16, s(3), 4, s(5), 6, s(7), true, 8, 9)
		}, []int64{3, 2, 3, 4, 5, 6, 7, 1, 8, 9}},
		{"gpk_topk", func(code int) error {
			return lib.TopK(code, stream, dtype.Float16, s(3), 4, s(5), 6, 7, s(8), 9, s(10), 11, 12)
		}, []int64{3, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
		{"gpk_uniform", func(code int) error {
			return lib.Uniform(code, stream, dtype.Float16, 4, 5, 6, [3]uint64{7, 8, 9}, 10)
		}, []int64{3, 4, 5, 6, 7, 8, 9, 10}},
		{"gpk_normal", func(code int) error {
			return lib.Normal(code, stream, dtype.Float16, 4, 5, 6, 7, 8, 9)
		}, []int64{3, 4, 5, 6, 7, 8, 9}},
		{"gpk_stack", func(code int) error { return lib.Stack(code, stream, 1, 2, []uint64{3, 4, 5}) }, []int64{1, 2, 3, 3, 5}},
		{"gpk_triangle", func(code int) error {
			return lib.Triangle(code, stream, &Triangle{1, 2, 3, 4, 5, 6, -7, true})
		}, []int64{1, 2, 3, 4, 5, 6, -7, 1}},
		{"gpk_spin", func(code int) error { return lib.Spin(code, stream, 77) }, []int64{77}},
		{"gpk_rope", func(code int) error {
			return lib.RoPE(code, stream, &RoPE{dtype.Float16, 1, 2, 3, [4]int{4, 5, 6, 7}, [4]int{8, 9, 10, 11}, 12, 13, 14, 15, 16, 17, true, false, []float64{18.5, 19.5}})
		}, []int64{1, 1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 16, 17, 2, 3, 1, 0, f(18.5), f(19.5)}},
		{"gpk_factor", func(code int) error {
			return lib.Factor(code, stream, &Factor{
				Op: FactorSolve, Type: dtype.Complex64, A: FactorOperand{1, 2, 3, 4}, B: FactorOperand{5, 6, 7, 8}, C: FactorOperand{9, 10, 11, 12},
				D: 13, DMember: 14, Flags: 15, Workspace: 16, WorkspaceBytes: 17, Rows: 18, Cols: 19, Batch: 20, First: 21, Conj: true, Unit: true,
			})
		}, []int64{1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 10, 6, 5}},
		{"gpk_scatter_add", func(code int) error {
			return lib.ScatterAdd(code, stream, &ScatterAdd{dtype.Complex64, dtype.Int64, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, true})
		}, []int64{1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 8, 1}},
		{"gpk_cum_sum", func(code int) error {
			return lib.CumSum(code, stream, &CumSum{ScanLargest, dtype.Complex64, s(1), s(2), s(3), 4, 5, 6, 7})
		}, []int64{1, 10, 2, 1, 2, 3, 4, 5, 6, 7, 2}},
		{"gpk_search", func(code int) error {
			return lib.Search(code, stream, &Search{dtype.Complex64, 1, 2, 3, 4, 5, true})
		}, []int64{1, 10, 1, 2, 3, 4, 5, 1}},
		{"gpk_count", func(code int) error { return lib.Count(code, stream, &Count{1, 2, 3, 4}) }, []int64{1, 1, 2, 3, 4}},
		{"gpk_count_trues", func(code int) error {
			return lib.CountTrues(code, stream, &Trues{Mask: 1, Offsets: 2, Total: 3, N: 4, Lead: true})
		}, []int64{1, 1, 2, 3, 4, 1}},
		{"gpk_place_trues", func(code int) error {
			return lib.PlaceTrues(code, stream, &Trues{TrueDistinct, dtype.Complex64, 1, 2, 3, 4, 5, 6, 7, 8, []uint64{9, 10}, []int{11, 12}, true})
		}, []int64{1, 3, 10, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 2, 11, 12, 1}},
		{"gpk_put_along", func(code int) error {
			return lib.PutAlong(code, stream, &PutAlong{1, dtype.Int64, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, true})
		}, []int64{1, 1, int64(dtype.Int64), 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 1}},
	}...) {
		c.check(t, record)
		var e *Error
		if err := c.call(CodeUnsupported); !errors.Is(err, expr.ErrUnsupported) || !errors.As(err, &e) || e.Entry != c.entry || e.Message != "no such kernel" {
			t.Errorf("%s: %#v, want ErrUnsupported", c.entry, err)
		}
		if err := c.call(2); !errors.As(err, &e) || !e.OutOfMemory() {
			t.Errorf("%s: %v, want out of memory", c.entry, err)
		}
	}
	if n, err := lib.GemmWorkspace(0, 1, 2, 3, 4, 5); n != 102030405 || err != nil {
		t.Errorf("GemmWorkspace: %d, %v", n, err)
	}
	if _, err := lib.GemmWorkspace(CodeUnsupported, 1, 2, 3, 4, 5); !errors.Is(err, expr.ErrUnsupported) {
		t.Errorf("GemmWorkspace: %v, want ErrUnsupported", err)
	}
	if n, err := lib.PrepareWorkspace(0, dtype.Float32, FormSplit, 3, 4, 5, 6); n != 10203040506 || err != nil {
		t.Errorf("PrepareWorkspace: %d, %v", n, err)
	}
	if n, err := lib.ReduceWorkspace(0, expr.Op(1), dtype.Float64, dtype.Float16, s(4), 5); n != 102030405 || err != nil {
		t.Errorf("ReduceWorkspace: %d, %v", n, err)
	}
	if n, err := lib.CumSumWorkspace(0, &CumSum{Type: dtype.Complex64, Shape: s(4)}); n != 20410 || err != nil {
		t.Errorf("CumSumWorkspace: %d, %v", n, err)
	}
	if n, err := lib.SortWorkspace(0, dtype.Float16, s(4), 5); n != 3020405 || err != nil {
		t.Errorf("SortWorkspace: %d, %v", n, err)
	}
	a := numberedAttention
	if n, err := lib.AttentionWorkspace(0, &a); n != 2930 || err != nil {
		t.Errorf("AttentionWorkspace: %d, %v", n, err)
	}
	if name := lib.AttentionKernel(0, &a); name != "a kernel" {
		t.Errorf("AttentionKernel: %q", name)
	}
	a.Batch = 0
	if name := lib.AttentionKernel(0, &a); name != "" {
		t.Errorf("AttentionKernel of what has none: %q", name)
	}
	if _, err := lib.ReduceWorkspace(CodeUnsupported, expr.Sum, 1, 1, s(4), 5); !errors.Is(err, expr.ErrUnsupported) {
		t.Errorf("ReduceWorkspace: %v, want ErrUnsupported", err)
	}
}

// TestDimensions checks that C never reads beyond a slice.
func TestDimensions(t *testing.T) {
	lib := openFake(t)
	two, three, nine := make([]int, 2), make([]int, 3), make([]int, 9)
	for name, err := range map[string]error{
		"unary x":          lib.Unary(0, 0, expr.Neg, 1, 1, three, 0, two, 0, three),
		"unary dst":        lib.Unary(0, 0, expr.Neg, 1, 1, three, 0, three, 0, nil),
		"binary y":         lib.Binary(0, 0, expr.Add, 1, 1, three, 0, three, 0, two, 0, 0, 0, three),
		"ternary z":        lib.Ternary(0, 0, expr.Where, 1, three, 0, three, 0, three, 0, two, 0, 0, 0, 0, 0, three),
		"line":             lib.Line(0, 0, expr.CumSum, 1, 1, three, 0, two, 0, three, 0, 0, 0),
		"cast":             lib.Cast(0, 0, 1, 1, three, 0, two, 0, three),
		"fill":             lib.Fill(0, 0, 1, three, 0, 0, 0, two),
		"reduce":           lib.Reduce(0, 0, expr.Sum, 1, 1, three, 1, 0, two, 0, 0, 0),
		"nine":             lib.Fill(0, 0, 1, nine, 0, 0, 0, nine),
		"reduce workspace": func() error { _, err := lib.ReduceWorkspace(0, expr.Sum, 1, 1, nine, 1); return err }(),
	} {
		var e *Error
		if !errors.As(err, &e) || e.Code != CodeArgument {
			t.Errorf("%s: %v, want CodeArgument", name, err)
		}
	}
}

// TestCallAllocates checks that a call costs no allocation.
func TestCallAllocates(t *testing.T) {
	lib := openFake(t)
	if n := testing.AllocsPerRun(100, func() {
		shape, strides := [2]int{3, 4}, [2]int{4, 1}
		if err := lib.Unary(0, 0, expr.Neg, dtype.Float32, dtype.Float32, shape[:], 0, strides[:], 0, strides[:]); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
}

func BenchmarkGemmCall(b *testing.B) {
	lib := openFake(b)
	for b.Loop() {
		if err := lib.Gemm(0, 0, 1, numbered); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnaryCall(b *testing.B) {
	lib := openFake(b)
	for b.Loop() {
		shape, strides := [2]int{3, 4}, [2]int{4, 1}
		if err := lib.Unary(0, 0, expr.Neg, dtype.Float32, dtype.Float32, shape[:], 0, strides[:], 0, strides[:]); err != nil {
			b.Fatal(err)
		}
	}
}

package matmul

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/devicetest"
)

func tempTuneFile(t *testing.T) *tuneFile {
	t.Helper()
	t.Setenv("GPK_CACHE", t.TempDir())
	return openTuneFile("a device", "580.1", "0123456789abcdef")
}

// reopened returns the file as another process reads it.
func reopened(f *tuneFile) *tuneFile {
	return openTuneFile(f.header.Device, f.header.Driver, f.header.Kernels)
}

func TestTuneFile(t *testing.T) {
	f := tempTuneFile(t)
	want := tuneChoice{manifest[3].Name, 12.5}
	if err := f.store("a problem", want); err != nil {
		t.Fatal(err)
	}
	inParts := tuneChoice{manifest[3].Name + inParts, 10.5}
	if err := f.store("another problem", inParts); err != nil {
		t.Fatal(err)
	}
	withLast := tuneChoice{manifest[3].Name + withLast, 9.5}
	if err := f.store("a third", withLast); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]tuneChoice{"a problem": want, "another problem": inParts, "a third": withLast} {
		if got, ok := reopened(f).lookup(key); !ok || got != want {
			t.Errorf("for %s another process finds %v, %v", key, got, ok)
		}
	}
	info, err := os.Stat(f.path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	for _, other := range []*tuneFile{
		openTuneFile("another device", f.header.Driver, f.header.Kernels),
		openTuneFile(f.header.Device, "590.1", f.header.Kernels),
		openTuneFile(f.header.Device, f.header.Driver, "fedcba9876543210"),
	} {
		if _, ok := other.lookup("a problem"); ok || other.path == f.path {
			t.Errorf("%+v has a choice of another header", other.header)
		}
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(f.path), "*"))
	if len(left) != 1 {
		t.Errorf("files left: %v", left)
	}
}

// TestTuneFileDamaged: an invalid file is ignored, and the next store replaces it.
func TestTuneFileDamaged(t *testing.T) {
	f := tempTuneFile(t)
	if err := f.store("good", tuneChoice{manifest[0].Name, 1}); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(f.path)
	if err != nil {
		t.Fatal(err)
	}
	change := func(old, now string) string {
		s := strings.Replace(string(good), old, now, 1)
		if s == string(good) {
			t.Fatalf("%q is not in %s", old, good)
		}
		return s
	}
	for name, text := range map[string]string{
		"empty":        "",
		"cut off":      string(good[:len(good)/2]),
		"no JSON":      "\x00\x01\x02",
		"an array":     "[]",
		"another kind": change(`"version": 1`, `"version": 2`),
		"driver":       change("580.1", "580.2"),
		"kernel":       change(manifest[0].Name, "sm90_no_such_kernel"),
		"time":         change(`"us": 1`, `"us": -1`),
		"type":         change(`"us": 1`, `"us": "1"`),
		"a field more": change(`"us": 1`, `"us": 1, "command": "x"`),
		"huge":         string(good) + strings.Repeat(" ", tuneBytes),
	} {
		if err := os.WriteFile(f.path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		again := reopened(f)
		if len(again.choices) != 0 {
			t.Errorf("%s: accepted: %v", name, again.choices)
		}
		if err := again.store("new", tuneChoice{manifest[1].Name, 2}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := reopened(f).choices; !reflect.DeepEqual(got, map[string]tuneChoice{"new": {manifest[1].Name, 2}}) {
			t.Errorf("%s: rewritten as %v", name, got)
		}
	}
}

// TestTuneFileShared: processes that write at once lose at most the choices written at
// the same moment, and never damage the file.
func TestTuneFileShared(t *testing.T) {
	f := tempTuneFile(t)
	const writers, each = 4, 20
	var wg sync.WaitGroup
	for w := range writers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			mine := reopened(f)
			for i := range each {
				if err := mine.store(fmt.Sprintf("%d/%d", w, i), tuneChoice{manifest[w].Name, float64(i + 1)}); err != nil {
					t.Error(err)
				}
				if _, err := mine.read(); err != nil {
					t.Errorf("a damaged file: %v", err)
				}
			}
		}()
	}
	wg.Wait()
	found := reopened(f).choices
	if len(found) < each {
		t.Errorf("%d of %d choices are left", len(found), writers*each)
	}
	// The next store of a process writes all of its own choices.
	if err := f.store("last", tuneChoice{manifest[0].Name, 1}); err != nil {
		t.Fatal(err)
	}
	if got := reopened(f).choices; len(got) != len(found)+1 {
		t.Errorf("%d choices after one more, %d before", len(got), len(found))
	}
}

func TestFastest(t *testing.T) {
	errNo := errors.New("no")
	for name, c := range map[string]struct {
		times map[string]time.Duration // 0: fails
		want  string
	}{
		"the model's choice":     {map[string]time.Duration{"a": 100, "b": 120, "c": 150}, "a"},
		"clearly faster":         {map[string]time.Duration{"a": 100, "b": 90, "c": 80}, "c"},
		"hardly faster":          {map[string]time.Duration{"a": 100, "b": 99, "c": 120}, "a"},
		"the first fails":        {map[string]time.Duration{"a": 0, "b": 120, "c": 150}, "b"},
		"none can be timed":      {map[string]time.Duration{"a": 0, "b": 0, "c": 0}, ""},
		"one hardly, one beyond": {map[string]time.Duration{"a": 100, "b": 50, "c": 49}, "c"},
	} {
		got, ok := fastest([]string{"a", "b", "c"}, func(k string) (time.Duration, error) {
			if c.times[k] == 0 {
				return 0, errNo
			}
			return c.times[k], nil
		})
		if ok != (c.want != "") || got.Kernel != c.want {
			t.Errorf("%s: %v, %v", name, got, ok)
		}
	}
}

// TestTuneCandidates: the candidates begin with the model's choice and have the
// requested precision.
func TestTuneCandidates(t *testing.T) {
	for _, p := range []Problem{
		{M: 4096, N: 4096, K: 4096, A: bf16, B: bf16, AlignA: 16, AlignB: 16, AlignC: 16},
		{M: 2048, N: 2048, K: 2048, A: fp32, B: fp32, AlignA: 16, AlignB: 16, AlignC: 16, Precision: TF32},
		{M: 2048, N: 2048, K: 2048, A: fp32, B: fp32, AlignA: 16, AlignB: 16, AlignC: 16, Precision: FullPrecision},
	} {
		names := tuneCandidates(p, sm90, manifest)
		plan, _ := Choose(p, sm90)
		if len(names) < 2 || len(names) > maxTuned || names[0] != plan.Kernel {
			t.Errorf("%v: %v, the model says %s", p, names, plan.Kernel)
		}
	}
	// A kernel that can compute parts of k is timed with and without parts.
	p := Problem{M: 256, N: 4096, K: 14336, A: bf16, B: bf16, Out: fp32, AlignA: 16, AlignB: 16, AlignC: 16}
	found, err := rank(p, sm90, "", manifest)
	if err != nil || found[0].parts == 0 {
		t.Fatalf("%v, %v", found, err)
	}
	for i, name := range tuneCandidates(p, sm90, manifest) {
		plan, c, err := choose(p, sm90, name, manifest)
		if err != nil || plan.Kernel != found[i].kernel.Name || c.parts != found[i].parts {
			t.Errorf("%s: %v in %d parts, %v; the model has %s in %d", name, plan.Kernel, c.parts, err, found[i].kernel.Name, found[i].parts)
		}
	}
	// A candidate that cuts the last rows is timed with them cut.
	p = Problem{M: 4097, N: 4097, K: 4097, A: bf16, B: bf16}
	if found, err = rank(p, sm90, "", manifest); err != nil || found[0].last == nil {
		t.Fatalf("%v, %v", found, err)
	}
	for i, name := range tuneCandidates(p, sm90, manifest) {
		plan, c, err := choose(p, sm90, name, manifest)
		if err != nil || plan.Kernel != found[i].kernel.Name || c.lastRows != found[i].lastRows || c.cycles != found[i].cycles {
			t.Errorf("%s: %v without its last %d rows, %s, %v; the model has %s without %d, %s",
				name, plan.Kernel, c.lastRows, c.predicted(), err, found[i].kernel.Name, found[i].lastRows, found[i].predicted())
		}
	}
	for _, q := range []Problem{{M: 4096, N: 4097, K: 4097, A: bf16, B: bf16}, {M: 4097, N: 4097, K: 4097, Batch: 2, A: bf16, B: bf16}} {
		if plan, _, err := choose(q, sm90, found[0].kernel.Name+withLast, manifest); !errors.Is(err, expr.ErrUnsupported) {
			t.Errorf("%v has no last rows: %v, %v", q, plan, err)
		}
	}
	if names := tuneCandidates(Problem{A: bf16, B: fp16}, sm90, manifest); names != nil {
		t.Errorf("an impossible product: %v", names)
	}
	if tuneKey(Problem{M: 1, AlignA: 16}) != tuneKey(Problem{M: 1, AlignA: 256}) || tuneKey(Problem{M: 1, AlignA: 8}) == tuneKey(Problem{M: 1, AlignA: 16}) {
		t.Error("keys tell alignments apart that make no difference, or do not where they do")
	}
}

// TestTuneOff: without GPK_AUTOTUNE no choice is looked up.
func TestTuneOff(t *testing.T) {
	if autotune() {
		t.Skip("GPK_AUTOTUNE is set")
	}
	if _, ok := measured(Problem{}, devicetest.NewFake(device.Info{Name: "fake", Kind: device.CUDA}, sm90)); ok {
		t.Error("a choice without GPK_AUTOTUNE")
	}
}

// TestTunedUnfit: a kernel of the file that cannot compute the problem is not chosen.
func TestTunedUnfit(t *testing.T) {
	dev := devicetest.NewFake(device.Info{Name: "fake", Kind: device.CUDA}, sm90)
	tn := &tuner{file: tempTuneFile(t)}
	tuners.Store(dev, tn)
	defer tuners.Delete(dev)
	tn.busy.Lock() // so that nothing is measured
	defer tn.busy.Unlock()
	s, err := dev.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	q := Problem{M: 64, N: 64, K: 64, Batch: 1, A: bf16, B: bf16, Out: bf16, AlignA: 16, AlignB: 16, AlignC: 16}
	for _, k := range manifest {
		if _, _, err := choose(q, sm90, k.Name, manifest); err == nil {
			continue
		}
		if err := tn.file.store(tuneKey(q), tuneChoice{k.Name, 1}); err != nil {
			t.Fatal(err)
		}
		var p Product
		if got := p.tuned(s, stack{}, q); got != "" {
			t.Fatalf("%q was chosen for %v", got, q)
		}
	}
}

package quantum

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dist"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestOtherRun checks that a folder of another run, a damaged folder and wrong shards are refused.
func TestOtherRun(t *testing.T) {
	if testDevice(t).Kind() != device.CPU {
		t.Skip("NOT RUN: ranks compute on CPUs")
	}
	onCPU(t)
	rng := testrand.New(t)
	x := arrayOf(randomSamples(rng, 60, 3), 3)
	other := arrayOf(randomSamples(rng, 60, 3), 3)
	type call struct {
		c    *Circuit
		x, y *gpk.Array
		o    Options
	}
	for want, change := range map[string]func(q *call, folder string) error{
		"3 ranks, not 4": func(q *call, _ string) error { q.o.Shard = Shard{0, 4}; return nil },
		"another circuit": func(q *call, _ string) error {
			q.c = entangled().RX(0, Feature(1)).CX(0, 1).RX(1, Feature(0))
			return nil
		},
		"other samples x":             func(q *call, _ string) error { q.x = other; return nil },
		"other samples y":             func(q *call, _ string) error { q.y = other; return nil },
		"a K of 60 x 60, not 50 x 50": func(q *call, _ string) error { q.x = x.Slice(0, 0, 50); return nil },
		"tiles of 10 samples, not 20": func(q *call, _ string) error { q.o.Tile = 40; return nil },
		"other options":               func(q *call, _ string) error { q.o.Precision = Double; return nil },
		"other options (":             func(q *call, _ string) error { q.o.Normalize = true; return nil },
		"K.npy is missing":            func(_ *call, f string) error { return os.Remove(filepath.Join(f, "K.npy")) },
		"K.npy does not have":         func(_ *call, f string) error { return os.Truncate(filepath.Join(f, "K.npy"), 99) },
		"rank-0 is damaged":           func(_ *call, f string) error { return os.Truncate(filepath.Join(f, "rank-0"), 2) },
		"rank-0 is damaged;": func(_ *call, f string) error {
			return os.WriteFile(filepath.Join(f, "rank-0"), []byte("abcdefg"), 0o600)
		},
		"run: invalid character":        func(_ *call, f string) error { return os.WriteFile(filepath.Join(f, "run"), []byte("}"), 0o600) },
		"another version of gpk":        func(_ *call, f string) error { return os.WriteFile(filepath.Join(f, "run"), []byte("{}"), 0o600) },
		"not the folder of a run":       func(_ *call, f string) error { return os.Remove(filepath.Join(f, "run")) },
		"rank 3 of 3; ranks are 0 to 2": func(q *call, _ string) error { q.o.Shard = Shard{3, 3}; return nil },
		"rank -1 of 3":                  func(q *call, _ string) error { q.o.Shard = Shard{-1, 3}; return nil },
		"shard 1 of 0":                  func(q *call, _ string) error { q.o.Shard = Shard{1, 0}; return nil },
		"Group and Shard are both set":  func(q *call, _ string) error { q.o.Group = new(dist.Comm); return nil },
		"Output is written by":          func(q *call, _ string) error { q.o.Output = &memoryFile{}; return nil },
		"without a File":                func(q *call, _ string) error { q.o.File = ""; return nil },
		"File is for":                   func(q *call, _ string) error { q.o.Shard = Shard{}; return nil },
	} {
		q := call{entangled(), x, nil, Options{Tile: 20, File: filepath.Join(t.TempDir(), "K.npy"), Shard: Shard{0, 3}}}
		if _, err := Gram(t.Context(), q.c, q.x, q.y, q.o); err != nil {
			t.Fatal(err)
		}
		file := q.o.File
		if err := change(&q, file+".parts"); err != nil {
			t.Fatal(err)
		}
		if _, err := Gram(t.Context(), q.c, q.x, q.y, q.o); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "resume_test.go") {
			t.Errorf("error %v, want %q", err, want)
		}
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%s: the file has its final name", want)
		}
	}
}

// TestDiedBehindRename checks that a shard or a group finds the complete file of a rank that died
// between the rename and the removal of the folder.
func TestDiedBehindRename(t *testing.T) {
	if testDevice(t).Kind() != device.CPU {
		t.Skip("NOT RUN: ranks compute on CPUs")
	}
	onCPU(t)
	x := arrayOf(randomSamples(testrand.New(t), 60, 3), 3)
	for _, ranks := range []int{1, 3} {
		file := filepath.Join(t.TempDir(), "K.npy")
		call := func(ctx context.Context, o Options) error {
			o.Tile, o.File = 20, file
			r, err := Gram(ctx, entangled(), x, nil, o)
			if err == nil && !r.Complete {
				err = errors.New("not complete")
			}
			return err
		}
		for shard := range ranks - 1 {
			if err := call(t.Context(), Options{Shard: Shard{shard, ranks}}); err == nil {
				t.Fatal("complete too early")
			}
		}
		kept := t.TempDir()
		last := Options{Shard: Shard{ranks - 1, ranks}, Progress: func(p Progress) {
			if p.Done < p.Total { // the folder is as after the death, except for this rank's record
				return
			}
			if err := os.CopyFS(kept, os.DirFS(file+".parts")); err != nil {
				t.Error(err)
			}
		}}
		if err := call(t.Context(), last); err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		log, err := os.ReadFile(filepath.Join(kept, fmt.Sprint("rank-", ranks-1)))
		if err != nil {
			t.Fatal(err)
		}
		for i := range log {
			log[i] = 1
		}
		for _, group := range []bool{false, true} {
			if err := os.CopyFS(file+".parts", os.DirFS(kept)); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.WriteFile(filepath.Join(file+".parts", fmt.Sprint("rank-", ranks-1)), log, 0o600), os.Remove(filepath.Join(file+".parts", "K.npy"))); err != nil {
				t.Fatal(err)
			}
			if group {
				err = cpuRanks(t, ranks).Run(t.Context(), func(ctx context.Context, c *dist.Comm) error { return call(ctx, Options{Group: c}) })
			} else {
				err = call(t.Context(), Options{Shard: Shard{0, ranks}})
			}
			if err != nil {
				t.Errorf("%d ranks, group %v: %v", ranks, group, err)
			}
			got, err := os.ReadFile(file)
			if entries, _ := os.ReadDir(filepath.Dir(file)); err != nil || !slices.Equal(got, want) || len(entries) != 1 {
				t.Errorf("%d ranks, group %v: %v, another file, or something beside it: %v", ranks, group, err, entries)
			}
		}
	}
}

// TestRecord: a tile whose Sync failed is never recorded, and a run is complete only if every
// byte of every record is 1 and the file is there.
func TestRecord(t *testing.T) {
	open := func(r *record) *record {
		t.Helper()
		r.folder, r.file = t.TempDir(), filepath.Join(t.TempDir(), "K.npy")
		var err error
		if r.data, err = os.Create(filepath.Join(r.folder, "K.npy")); err != nil {
			t.Fatal(err)
		}
		if err := r.openLog(&share{index: map[[2]int]int{{0, 0}: 0, {0, 1}: 1}}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.close)
		return r
	}
	r := open(&record{loads: []load{{tiles: 2}}})
	good := r.data
	var err error
	if r.data, err = os.Open(r.folder); err != nil {
		t.Fatal(err)
	}
	_ = r.data.Close() // its Sync fails
	if err := r.mark(0); err == nil {
		t.Error("no error of Sync")
	}
	r.data = good
	if err := errors.Join(r.mark(1), r.flush()); err != nil || r.has(0) || !r.has(1) {
		t.Errorf("tiles %v are recorded, %v", r.done, err)
	}
	for text, want := range map[string]bool{"\x01\x00": false, "\x01\x02": false, "ab": false, "\x01": false, "\x01\x01": true} {
		r := open(&record{loads: []load{{tiles: 2}}})
		if err := os.WriteFile(r.logName(0), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		done, err := r.complete()
		if _, missing := os.Stat(r.file); err != nil || done != want || (missing == nil) != want {
			t.Errorf("a record of %q: complete %v, %v", text, done, err)
		}
	}
	r = open(&record{loads: []load{{tiles: 2}}})
	if err := os.RemoveAll(r.folder); err != nil {
		t.Fatal(err)
	}
	if done, err := r.complete(); err != nil || done {
		t.Errorf("somebody removed the folder: complete %v, %v", done, err)
	}
}

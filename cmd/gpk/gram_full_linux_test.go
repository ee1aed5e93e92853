package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestGramFullDisk checks that a full disk, simulated by a limit on the file size in a
// process of its own, gives an error of one sentence and leaves no file, neither under
// the final name nor under a temporary one.
func TestGramFullDisk(t *testing.T) {
	const limit = 8 << 10 // K of 60 x 60 float32 takes 14, its picture more than three times that
	args := func(dir string) []string {
		return []string{"gram", "-device", "cpu", "-x", filepath.Join(dir, "x.npy"), "-out", filepath.Join(dir, "k.npy"), "-plot", filepath.Join(dir, "k.png")}
	}
	if dir := os.Getenv("GPK_TEST_FULL"); dir != "" {
		signal.Ignore(syscall.SIGXFSZ)
		for _, c := range []struct {
			limit uint64
			want  string
		}{{3 * limit, "k.png: "}, {limit, "writing K"}} { // a limit can only be lowered
			if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: c.limit, Max: c.limit}); err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			if status := run(context.Background(), args(dir), streams{&out, &errs}); status != 1 || !strings.Contains(errs.String(), c.want) {
				t.Errorf("%d bytes: status %d: %s", c.limit, status, &errs)
			}
			_, err := os.Stat(filepath.Join(dir, "k.npy"))
			if there := err == nil; there != (c.limit > limit) { // K fits into the first
				t.Errorf("%d bytes: K is there: %v", c.limit, there)
			}
			os.Remove(filepath.Join(dir, "k.npy"))
		}
		return
	}
	dir := gramFolder(t)
	before, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0], "-test.run=^TestGramFullDisk$")
	child.Env = append(os.Environ(), "GPK_TEST_FULL="+dir)
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	after, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(after) != len(before) {
		t.Errorf("left behind: %v", after)
	}
}

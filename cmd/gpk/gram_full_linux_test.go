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

// TestGramFullDisk: a file that may not grow any more, in a process of its own, stands
// for a disk that is full. There is a sentence, and nothing under the final name or
// beside it.
func TestGramFullDisk(t *testing.T) {
	const limit = 8 << 10 // K of 60 x 60 float32 takes 14
	if dir := os.Getenv("GPK_TEST_FULL"); dir != "" {
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		status := run(context.Background(), []string{"gram", "-device", "cpu", "-x", filepath.Join(dir, "x.npy"), "-out", filepath.Join(dir, "k.npy")}, streams{&out, &errs})
		if status != 1 || !strings.Contains(errs.String(), "writing K") {
			t.Errorf("status %d: %s", status, &errs)
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

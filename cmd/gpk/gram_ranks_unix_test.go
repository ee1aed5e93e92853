//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/porttest"
	"github.com/gpk-go/gpk/interop/npy"
)

// TestGramRank runs gpk in a process that TestGramKilled has started: one rank. If told to, the
// rank kills itself once some of its tiles are recorded.
func TestGramRank(*testing.T) {
	args := os.Getenv("GPK_TEST_GRAM")
	if args == "" {
		return
	}
	if log := os.Getenv("GPK_TEST_KILL"); log != "" {
		runtime.GOMAXPROCS(1) // the scheduler gives every goroutine its turn: it ends long before the last tile
		go func() {
			for ; ; time.Sleep(time.Millisecond) {
				if done, _ := os.ReadFile(log); bytes.IndexByte(done, 1) >= 0 {
					_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				}
			}
		}()
	}
	os.Exit(run(context.Background(), strings.Split(args, "\n"), streams{os.Stdout, os.Stderr}))
}

// gramProcess runs gpk in a process and returns its output, and whether it was killed.
func gramProcess(t *testing.T, kill string, env []string, args ...string) (out string, killed bool, err error) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestGramRank$")
	cmd.Env = append(append(os.Environ(), "GPK_TEST_GRAM="+strings.Join(args, "\n"), "GPK_TEST_KILL="+kill, "GPK_DEVICE=cpu"), env...)
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	err = cmd.Run()
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	return b.String(), ok && status.Signaled() && ctx.Err() == nil, err
}

// gramGroup runs gpk in ranks that join over TCP. That of victim kills itself.
func gramGroup(t *testing.T, ranks, victim int, folder string, args ...string) (outs []string, killed []bool, errs []error) {
	address := porttest.FreeAddress(t)
	outs, killed, errs = make([]string, ranks), make([]bool, ranks), make([]error, ranks)
	var wg sync.WaitGroup
	for rank := range ranks {
		kill := ""
		if rank == victim {
			kill = filepath.Join(folder, fmt.Sprint("rank-", rank))
		}
		env := []string{fmt.Sprint("GPK_RANK=", rank), fmt.Sprint("GPK_SIZE=", ranks), "GPK_ADDR=" + address, "GPK_TOKEN=" + t.Name()}
		wg.Go(func() { outs[rank], killed[rank], errs[rank] = gramProcess(t, kill, env, args...) })
	}
	wg.Wait()
	return outs, killed, errs
}

// TestGramKilled kills every rank of a group, and every shard, before it is done. Run again, they
// write the file of one process.
func TestGramKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT RUN: several processes, in short runs")
	}
	const samples, features, ranks = 1500, 10, 3
	folder := t.TempDir()
	x := filepath.Join(folder, "x.npy")
	if err := npy.WriteFile(x, gpk.NewRNG(5).Uniform(gpk.Float64, 0, 2*math.Pi, samples, features)); err != nil {
		t.Fatal(err)
	}
	args := func(out string, more ...string) []string {
		return append([]string{"gram", "-x", x, "-circuit", "zz", "-layers", "3", "-precision", "double", "-device", "cpu", "-out", out}, more...)
	}
	alone := filepath.Join(folder, "alone.npy")
	if out, _, err := gramProcess(t, "", nil, args(alone)...); err != nil {
		t.Fatal(err, out)
	}
	want, err := os.ReadFile(alone)
	if err != nil {
		t.Fatal(err)
	}
	check := func(out string) {
		t.Helper()
		got, err := os.ReadFile(out)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%v; the file has %d bytes and differs from that of one process, of %d", err, len(got), len(want))
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(out), "*")); len(left) != 1 {
			t.Errorf("beside the file: %v", left)
		}
	}
	missing := func(out string) {
		t.Helper()
		if _, err := os.Stat(out); err == nil {
			t.Error("the file has its final name too early")
		}
	}

	t.Run("group", func(t *testing.T) {
		for victim := range ranks {
			out := filepath.Join(t.TempDir(), "K.npy")
			outs, killed, errs := gramGroup(t, ranks, victim, out+".parts", args(out)...)
			if !killed[victim] {
				t.Fatalf("rank %d was not killed: %v\n%s", victim, errs[victim], outs[victim])
			}
			missing(out)
			for rank := range ranks {
				if named := strings.Contains(outs[rank], fmt.Sprint("rank ", victim)); rank != victim && (errs[rank] == nil || killed[rank] || !named) {
					t.Errorf("rank %d after the death of %d: %v\n%s", rank, victim, errs[rank], outs[rank])
				}
			}
			outs, _, errs = gramGroup(t, ranks, -1, "", args(out)...)
			for rank, err := range errs {
				if err != nil {
					t.Errorf("rank %d, resumed: %v\n%s", rank, err, outs[rank])
				}
			}
			check(out)
		}
	})
	t.Run("shards", func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "K.npy")
		for shard := range ranks {
			name := fmt.Sprintf("%d/%d", shard, ranks)
			printed, killed, err := gramProcess(t, filepath.Join(out+".parts", fmt.Sprint("rank-", shard)), nil, args(out, "-shard", name)...)
			if !killed {
				t.Fatalf("shard %s was not killed: %v\n%s", name, err, printed)
			}
			missing(out)
			printed, _, err = gramProcess(t, "", nil, args(out, "-shard", name)...)
			if err != nil {
				t.Fatalf("shard %s, resumed: %v\n%s", name, err, printed)
			}
			if all, rest := number(t, printed, `(\d+) pairs \(`), number(t, printed, `(\d+) pairs, `); rest >= all || rest == 0 {
				t.Errorf("shard %s, resumed, computes %d of %d pairs", name, rest, all)
			}
		}
		check(out)
	})
}

func number(t *testing.T, text, pattern string) int {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no %s in %s", pattern, text)
	}
	n, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

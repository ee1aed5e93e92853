package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/interop/npy"
)

// TestShardFlags checks the messages and the exit status of mistakes with -shard and gpk plan.
func TestShardFlags(t *testing.T) {
	folder := t.TempDir()
	x, k := filepath.Join(folder, "x.npy"), filepath.Join(folder, "K.npy")
	if err := npy.WriteFile(x, gpk.NewRNG(1).Normal(gpk.Float32, 0, 1, 40, 3)); err != nil {
		t.Fatal(err)
	}
	gram := "gram -x " + x + " -out " + k
	for _, q := range []struct {
		line   string
		status int
		says   string
	}{
		{gram + " -shard 4/4", exitUsage, "-shard 4/4: want i/n with i from 0 to n-1"},
		{gram + " -shard -1/4", exitUsage, "-shard -1/4: want i/n"},
		{gram + " -shard 2", exitUsage, "-shard 2: want i/n"},
		{gram + " -shard 0/2x", exitUsage, "-shard 0/2x: want i/n"},
		{gram + " -shard 0/99999", exitFailed, "rank 0 of 99999"},
		{gram + " -shard 0/2 -plot p.png", exitUsage, "-plot needs all of K"},
		{gram + " -shard 0/2", 0, "shard 0/2 is done; " + k + " is complete when all shards are"},
		{gram + " -shard 1/2 -layers 3 -reupload", exitFailed, "was begun with another circuit"},
		{gram + " -shard 1/2", 0, k + "\n"},
		{gram + " -shard 1/2", exitFailed, "already exists"},
		{"plan -samples 10", exitUsage, "-features 0"},
		{"plan -samples 10 -features 3 -ranks 0", exitUsage, "-ranks 0"},
		{"plan -samples 10 -features 3 -circuit cz", exitUsage, "-circuit \"cz\""},
		{"plan -samples 100000000 -features 3 -ranks 9 -tile 2", exitFailed, "gpk plan: -features 3 -circuit basic: unsupported: 100000000 x 100000000 tiles of 1 samples, and at most 16384 a row; a larger Tile"},
		{"plan -samples 10 -features 3 -circuit z -layers 9999999", exitFailed, "gpk plan: -features 3 -layers 9999999: "},
		{"plan -samples 20000 -features 6 -ranks 1024 -circuit zz", 0, "in a grid of 32 x 32"},
		{"plan -samples 500 -columns 300 -features 6 -ranks 4 -circuit zz -precision double", 0, "s a rank"},
	} {
		var out, errs bytes.Buffer
		if status := run(t.Context(), strings.Fields(q.line), streams{&out, &errs}); status != q.status || !strings.Contains(out.String()+errs.String(), q.says) {
			t.Errorf("gpk %s: status %d, want %d with %q\n%s%s", q.line, status, q.status, q.says, &out, &errs)
		}
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 2 {
		t.Errorf("files: %v, %v", left, err)
	}
}

// TestGramMPI checks that ranks started by MPI's launchers write the file of one process.
func TestGramMPI(t *testing.T) {
	if os.Getenv("GPK_TEST_MPI") != "" {
		os.Exit(run(t.Context(), strings.Fields(os.Getenv("GPK_TEST_MPI")), streams{os.Stdout, os.Stderr}))
	}
	if testing.Short() {
		t.Skip("NOT RUN: several processes, in short runs")
	}
	folder := t.TempDir()
	x, alone := filepath.Join(folder, "x.npy"), filepath.Join(folder, "alone.npy")
	if err := npy.WriteFile(x, gpk.NewRNG(1).Normal(gpk.Float32, 0, 1, 300, 5)); err != nil {
		t.Fatal(err)
	}
	line := "gram -device cpu -circuit zz -x " + x + " -out "
	var said bytes.Buffer
	if status := run(t.Context(), strings.Fields(line+alone), streams{&said, &said}); status != 0 {
		t.Fatal(said.String())
	}
	want, err := os.ReadFile(alone)
	if err != nil {
		t.Fatal(err)
	}
	for _, mpi := range []string{"mpirun.openmpi --oversubscribe", "mpiexec.mpich"} {
		t.Run(mpi, func(t *testing.T) {
			command := strings.Fields(mpi)
			if _, err := exec.LookPath(command[0]); err != nil {
				t.Skipf("NOT RUN: %v", err)
			}
			out := filepath.Join(t.TempDir(), "K.npy")
			cmd := exec.CommandContext(t.Context(), command[0], append(command[1:], "-n", "3", os.Args[0], "-test.run=^TestGramMPI$")...)
			cmd.Env = append(os.Environ(), "GPK_TEST_MPI="+line+out, "GPK_DEVICE=cpu", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
			if printed, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, printed)
			}
			if got, err := os.ReadFile(out); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%v; the file differs from that of one process", err)
			}
		})
	}
}

// TestGramRankWithoutGPU asks for a GPU on a machine without one. The rank says so before it waits for the others, and
// does not compute on the CPU.
func TestGramRankWithoutGPU(t *testing.T) {
	if _, err := device.Open("cuda"); err == nil {
		t.Skip("NOT RUN: it needs a machine without a GPU")
	}
	t.Setenv("GPK_RANK", "1")
	t.Setenv("GPK_SIZE", "2")
	t.Setenv("GPK_ADDR", "127.0.0.1:1")
	t.Setenv("GPK_TOKEN", t.Name())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	status := run(ctx, []string{"gram", "-x", filepath.Join(gramFolder(t), "x.npy"), "-out", filepath.Join(t.TempDir(), "K.npy"), "-device", "cuda"}, streams{&out, &errs})
	if status != exitFailed || !strings.Contains(errs.String(), "-device") {
		t.Errorf("status %d: %s", status, &errs)
	}
}

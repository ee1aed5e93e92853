package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpk-go/gpk/internal/porttest"
)

const want = "240 samples, K [240 240], trace 240.000, mean 0.0286\n"

// TestMain runs the program itself if a test has started the binary as a rank.
func TestMain(m *testing.M) {
	if os.Getenv("GPK_TEST_RANK") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestLaunchers runs the program unchanged in the environment of each launcher: alone, as two
// ranks, and under mpirun if it is installed. All runs print the same.
func TestLaunchers(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT RUN: several processes, in short runs")
	}
	address := porttest.FreeAddress(t)
	for name, env := range map[string]string{
		"alone":      "",
		"own":        "GPK_RANK=# GPK_SIZE=2 GPK_ADDR=" + address,
		"torchrun":   "RANK=# WORLD_SIZE=2 LOCAL_RANK=# LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 TORCHELASTIC_RUN_ID=" + address,
		"srun":       "SLURM_PROCID=# SLURM_STEP_ID=0 SLURM_JOB_ID=" + address + " SLURM_NTASKS=2 SLURM_LOCALID=# SLURM_STEP_NODELIST=localhost",
		"Kubernetes": "JOB_COMPLETION_INDEX=# GPK_SIZE=2 GPK_ADDR=localhost:" + address[strings.LastIndex(address, ":")+1:],
	} {
		t.Run(name, func(t *testing.T) {
			ranks := 2
			if env == "" {
				ranks = 1
			}
			outputs := make([]string, ranks)
			var wg sync.WaitGroup
			for rank := range ranks {
				set := strings.Fields(strings.ReplaceAll(env, "#", string(rune('0'+rank))))
				wg.Go(func() { outputs[rank] = program(t, set) })
			}
			wg.Wait()
			if got := strings.Join(outputs, ""); got != want {
				t.Errorf("it prints %q, want %q", got, want)
			}
		})
	}
	for _, mpi := range []string{"mpirun.openmpi --oversubscribe", "mpiexec.mpich"} {
		t.Run(mpi, func(t *testing.T) {
			command := strings.Fields(mpi)
			if _, err := exec.LookPath(command[0]); err != nil {
				t.Skipf("NOT RUN: %v", err)
			}
			if got := program(t, nil, append(command, "-n", "3")...); got != want {
				t.Errorf("it prints %q, want %q", got, want)
			}
		})
	}
}

// program runs the program, behind a launcher's command if there is one, and returns what it
// printed.
func program(t *testing.T, env []string, launcher ...string) string {
	self, err := os.Executable()
	if err != nil {
		t.Error(err)
		return ""
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := append(launcher, self)
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(append(os.Environ(), "GPK_TEST_RANK=1", "GPK_DEVICE=cpu", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"), env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Errorf("%v: %v\n%s", command, err, errs.String())
	}
	return out.String()
}

package dist

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/porttest"
)

// joinedSeveral runs f in processes (goroutines with an environment of their own) that hold several ranks on the CPU
// each, and returns the errors of Join or Run and what the groups say of themselves.
func joinedSeveral(t *testing.T, held []int, variables string, f func(ctx context.Context, c *Comm) error, more ...Option) (errs []error, how []string) {
	t.Helper()
	devices := cpu(t, slices.Max(held))
	address := porttest.FreeAddress(t)
	errs, how = make([]error, len(held)), make([]string, len(held))
	var wg sync.WaitGroup
	for i, n := range held {
		replaced := strings.NewReplacer("#", strconv.Itoa(i), "@", strconv.Itoa(len(held)), "%", address).Replace(variables)
		env := map[string]string{"GPK_TOKEN": t.Name()}
		for _, s := range strings.Fields(replaced) {
			name, value, _ := strings.Cut(s, "=")
			env[name] = value
		}
		opts := []Option{OnDevices(devices[:n]...), Timeout(20 * time.Second), Silence(10 * time.Second), lingering, Environment(func(k string) string { return env[k] })}
		wg.Go(func() {
			g, err := Join(t.Context(), append(opts, more...)...)
			if err != nil {
				errs[i] = err
				return
			}
			defer g.Close()
			how[i] = g.Explain()
			errs[i] = g.Run(t.Context(), f)
		})
	}
	wg.Wait()
	return errs, how
}

const ownVariables = "GPK_RANK=# GPK_SIZE=@ GPK_ADDR=%"

// TestJoinSeveral runs every collective function, and messages, in the environments of launchers, on two processes of three
// ranks.
func TestJoinSeveral(t *testing.T) {
	for name, variables := range map[string]string{
		"own":        ownVariables,
		"torchrun":   "RANK=# WORLD_SIZE=@ LOCAL_RANK=# LOCAL_WORLD_SIZE=@ MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 TORCHELASTIC_RUN_ID=%",
		"srun":       "SLURM_PROCID=# SLURM_STEP_ID=0 SLURM_JOB_ID=% SLURM_NTASKS=@ SLURM_LOCALID=# SLURM_STEP_NODELIST=localhost",
		"Kubernetes": "JOB_COMPLETION_INDEX=# GPK_SIZE=@ GPK_ADDR=%",
	} {
		t.Run(name, func(t *testing.T) {
			const p = 6
			r := random(t)
			i := r.IntN(len(types))
			xs := make([]tensor, p)
			for k := range xs {
				xs[k] = seen(t, i, build([]int{p, 2 * p}, func([]int) complex128 { return complex(float64(r.IntN(3)), 0) }))
			}
			var calls atomic.Int64
			errs, how := joinedSeveral(t, []int{3, 3}, variables, func(ctx context.Context, c *Comm) error {
				calls.Add(1)
				if c.Size() != p {
					return fmt.Errorf("%d ranks", c.Size())
				}
				return errors.Join(compareAll(c, i, xs, 1, 1, 4), long(ctx, c))
			})
			if err := errors.Join(errs...); err != nil || calls.Load() != p {
				t.Errorf("%d calls: %v", calls.Load(), err)
			}
			if !strings.HasPrefix(how[1], "ranks 3 to 5 of 6, started by ") {
				t.Error(how[1])
			}
		})
	}
	errs, how := joinedSeveral(t, []int{2}, "", func(_ context.Context, c *Comm) error {
		got, err := gpk.Item[float32](c.AllReduce(gpk.Full(gpk.Float32, c.Rank()+1), Sum))
		if err == nil && got != 3 {
			err = fmt.Errorf("%v", got)
		}
		return err
	})
	if errs[0] != nil || !strings.Contains(how[0], "2 ranks in this process") {
		t.Error(errs[0], how)
	}
}

// TestJoinSeveralFaults has a rank, the second of its process, that fails. Every process names it, and why.
func TestJoinSeveralFaults(t *testing.T) {
	cause := errors.New("no luck")
	nothing := func(context.Context, *Comm) error { return nil }
	for _, victim := range []int{1, 3} {
		for name, c := range map[string]struct {
			f    func(ctx context.Context, c *Comm) error
			want error
			says string
		}{
			"error": {func(_ context.Context, c *Comm) error {
				if c.Rank() == victim {
					return cause
				}
				return c.AllReduce(gpk.Ones(gpk.Float32, 2), Sum).Err()
			}, nil, "no luck"},
			"shape": {func(_ context.Context, c *Comm) error {
				n := 2
				if c.Rank() == victim {
					n = 3
				}
				return c.AllReduce(gpk.Ones(gpk.Float32, n), Sum).Err()
			}, gpk.ErrShape, "[3]"},
			"end": {func(ctx context.Context, c *Comm) error {
				if c.Rank() == victim {
					return nil
				}
				return c.Barrier(ctx)
			}, gpk.ErrUnsupported, "the end of Run"},
		} {
			t.Run(fmt.Sprintf("%s/rank=%d", name, victim), func(t *testing.T) {
				errs, _ := joinedSeveral(t, []int{2, 2}, ownVariables, c.f)
				for i, err := range errs {
					var re *RankError
					if !errors.As(err, &re) || re.Rank != victim || !strings.Contains(err.Error(), c.says) || c.want != nil && !errors.Is(err, c.want) {
						t.Errorf("process %d: %v", i, err)
					}
				}
			})
		}
	}
	t.Run("numbers of ranks", func(t *testing.T) {
		errs, _ := joinedSeveral(t, []int{2, 1}, ownVariables, nothing, func(o *options) error { o.linger = 2 * time.Second; return nil })
		for i, err := range errs {
			var re *RankError
			if !errors.As(err, &re) || re.Rank != 1 || !errors.Is(err, ErrWorld) {
				t.Errorf("process %d: %v", i, err)
			}
		}
	})
	t.Run("MPI", func(t *testing.T) {
		errs, _ := joinedSeveral(t, []int{2, 2}, ownVariables, nothing, Engine(MPI))
		for i, err := range errs {
			if !errors.Is(err, gpk.ErrUnsupported) || !strings.Contains(err.Error(), "this one holds 2") {
				t.Errorf("process %d: %v", i, err)
			}
		}
	})
	t.Run("too many", func(t *testing.T) {
		devices := cpu(t, 2)
		for _, c := range []struct{ held, size int }{{1, maxRanks + 1}, {1, math.MaxInt}, {2, maxRanks/2 + 1}, {2, math.MaxInt/2 + 1}} {
			env := map[string]string{"GPK_RANK": "0", "GPK_SIZE": strconv.Itoa(c.size), "GPK_ADDR": porttest.FreeAddress(t)}
			_, err := Join(t.Context(), OnDevices(devices[:c.held]...), Timeout(time.Second), Environment(func(k string) string { return env[k] }))
			if !errors.Is(err, errLauncher) || !strings.Contains(err.Error(), "at most 1048576 ranks") {
				t.Errorf("%d processes of %d ranks: %v", c.size, c.held, err)
			}
		}
	})
	t.Run("no device", func(t *testing.T) {
		if _, err := Join(t.Context(), OnDevices()); !errors.Is(err, gpk.ErrUnsupported) {
			t.Error(err)
		}
	})
}

// TestJoinSeveralNCCL runs collective functions and calls that differ over the fake NCCL.
func TestJoinSeveralNCCL(t *testing.T) {
	for _, different := range []bool{false, true} {
		log := fakeNCCL(t, every)
		errs, how := joinedSeveral(t, []int{2, 2}, ownVariables, func(_ context.Context, c *Comm) error {
			if p := c.compare; p == nil || p.meet == nil || p.alone {
				return errors.New("the ranks of the process do not meet")
			}
			for range 50 {
				if got, err := gpk.Item[float32](c.AllReduce(gpk.Full(gpk.Float32, c.Rank(), 1), Sum)); err != nil || got != 6 {
					return fmt.Errorf("%v, %w", got, err)
				}
			}
			n := 2
			if different && c.Rank() == 3 {
				n = 3
			}
			_, err := gpk.ToSlice[float32](c.AllReduce(gpk.Ones(gpk.Float32, n), Sum))
			return err
		})
		for i, err := range errs {
			var re *RankError
			if different && (!errors.As(err, &re) || re.Rank != 3 || !errors.Is(err, gpk.ErrShape)) || !different && err != nil {
				t.Errorf("process %d: %v", i, err)
			}
			if !strings.Contains(how[i], "run in NCCL 2.28.9") {
				t.Error(how[i])
			}
		}
		ended(t, log, map[bool]string{true: "abort", false: "destroy"}[different])
	}
}

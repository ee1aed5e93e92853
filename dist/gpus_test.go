//go:build unix

package dist

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/porttest"
)

// testGPUs returns the devices that GPK_TEST_DEVICES lists.
func testGPUs(t *testing.T) []string {
	t.Helper()
	names := os.Getenv("GPK_TEST_DEVICES")
	if names == "" {
		t.Skip("NOT RUN: GPK_TEST_DEVICES=cuda:0,cuda:1 runs it on these")
	}
	return strings.Split(names, ",")
}

// startGPUs starts a process a GPU, each with a program.
func startGPUs(t *testing.T, devices []string, program string) (ranks []*process) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	address := porttest.FreeAddress(t)
	for i, d := range devices {
		ranks = append(ranks, start(t, []string{
			child + "=" + program, "GPK_TEST_DEVICE=" + d, "GPK_RANK=" + strconv.Itoa(i), "GPK_SIZE=" + strconv.Itoa(len(devices)), "GPK_ADDR=" + address, "GPK_TOKEN=" + t.Name(),
		}, self))
	}
	return ranks
}

// TestGPUProcesses runs every collective function in processes with a GPU each.
func TestGPUProcesses(t *testing.T) {
	devices := testGPUs(t)
	for rank, p := range startGPUs(t, devices, "collectives") {
		if _, err := p.await("the device works afterwards", hang); err != nil {
			t.Errorf("rank %d: %v", rank, err)
		}
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

// lossLimit is the longest time from the loss of a rank, or from the end of the silence that is allowed to it, to the
// errors of the others.
const lossLimit = 5 * time.Second

// TestGPUKilled kills or stops each rank of processes with a GPU each, in the middle of collective functions. The
// others name it in time, end by themselves, and their devices work afterwards.
func TestGPUKilled(t *testing.T) {
	devices := testGPUs(t)
	for _, f := range []struct {
		signal syscall.Signal
		cause  string
	}{{syscall.SIGKILL, "died"}, {syscall.SIGSTOP, "silent"}} {
		for victim := range devices {
			t.Run(fmt.Sprintf("%v/rank=%d", f.signal, victim), func(t *testing.T) {
				ranks := startGPUs(t, devices, "forever")
				for _, p := range ranks {
					if _, err := p.await("runs as", hang); err != nil {
						t.Fatal(err)
					}
				}
				begun := time.Now()
				if err := ranks[victim].cmd.Process.Signal(f.signal); err != nil {
					t.Fatal(err)
				}
				for rank, p := range ranks {
					if rank == victim {
						continue
					}
					if _, err := p.await("the device works afterwards", hang); err != nil {
						t.Errorf("rank %d: %v", rank, err)
					}
					line, err := p.await("a rank's error", hang)
					if err != nil || !strings.Contains(line, fmt.Sprintf("rank %d (", victim)) || !strings.Contains(line, f.cause) {
						t.Errorf("rank %d: %v %s", rank, err, line)
					}
					limit := lossLimit
					if f.signal == syscall.SIGSTOP {
						checkSilence(t, line)
						limit += longestSilence
					}
					if took := time.Since(begun); took > limit {
						t.Errorf("rank %d after %v, want %v: %s", rank, took, limit, line)
					}
					if err := p.cmd.Wait(); err == nil || !strings.Contains(err.Error(), "exit status 3") {
						t.Errorf("rank %d ended with %v", rank, err)
					}
				}
			})
		}
	}
}

// TestGPUBeside starts an AllReduce with Beside before long products on the array's stream. It ends long before them,
// and has the same numbers as one that runs after them.
func TestGPUBeside(t *testing.T) {
	var devices []*device.Device
	for _, name := range testGPUs(t) {
		d, err := device.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		devices = append(devices, d)
	}
	g, err := Local(devices...)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	err = g.Run(t.Context(), func(ctx context.Context, c *Comm) error {
		d := c.Device()
		x := gpk.NewRNG(uint64(c.Rank())).Normal(gpk.Float32, 0, 1, 1<<20).To(d)
		a := gpk.Ones(gpk.BFloat16, 4096, 4096).To(d)
		product := func() error { y := a.MatMul(a); defer y.Free(); return gpk.Eval(y) }
		if err := errors.Join(c.AllReduce(c.Beside(x), Sum).Err(), product(), d.Synchronize(ctx), c.Barrier(ctx)); err != nil {
			return err
		}
		var events []*device.Event
		for range 3 {
			e, err := d.NewEvent()
			if err != nil {
				return err
			}
			defer e.Free()
			events = append(events, e)
		}
		if err := x.Stream().Record(events[0]); err != nil {
			return err
		}
		y := c.AllReduce(c.Beside(x), Sum)
		if y.Stream() == x.Stream() {
			return errors.New("the result is on the array's stream")
		}
		err := y.Stream().Record(events[1])
		for range 50 {
			err = errors.Join(err, product())
		}
		if err = errors.Join(err, x.Stream().Record(events[2]), d.Synchronize(ctx)); err != nil {
			return err
		}
		beside, err1 := events[1].Elapsed(events[0])
		all, err2 := events[2].Elapsed(events[0])
		if err1 != nil || err2 != nil || beside > all/4 {
			return fmt.Errorf("AllReduce ended after %v, the products after %v; %v", beside, all, errors.Join(err1, err2))
		}
		got, err1 := gpk.ToSlice[float32](y.On(x.Stream()))
		want, err2 := gpk.ToSlice[float32](c.AllReduce(x, Sum))
		if err1 != nil || err2 != nil || !slices.Equal(got, want) {
			return fmt.Errorf("other numbers, %v", errors.Join(err1, err2))
		}
		return nil
	})
	if err := errors.Join(err, g.Close()); err != nil {
		t.Error(err)
	}
}

// TestGPUCaptured replays a captured AllReduce on GPUs, in one process, with another input each time.
func TestGPUCaptured(t *testing.T) {
	var devices []*device.Device
	for _, name := range testGPUs(t) {
		d, err := device.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		devices = append(devices, d)
	}
	g, err := Local(devices...)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	err = g.Run(t.Context(), func(_ context.Context, c *Comm) error {
		if c.gpu == nil {
			return errors.New(g.Explain())
		}
		x := gpk.FromSliceOn(c.Device(), []float32{1, 2, 3})
		graph, err := gpk.Capture([]*gpk.Array{x}, func(in []*gpk.Array) []*gpk.Array {
			y := c.AllReduce(in[0].Mul(2), Sum)
			return []*gpk.Array{y.Add(1), c.AllGather(y, 0)}
		})
		if err != nil {
			return err
		}
		n := float32(c.Size())
		for round := range 5 {
			v := float32(round)
			if err := gpk.FromSliceInto(x, []float32{v, v + float32(c.Rank()), -v}); err != nil {
				return err
			}
			if err := graph.Replay(); err != nil {
				return err
			}
			got, err := gpk.ToSlice[float32](graph.Outputs()[0])
			if want := []float32{2*v*n + 1, 2*v*n + n*(n-1) + 1, -2*v*n + 1}; err != nil || !slices.Equal(got, want) {
				return fmt.Errorf("replay %d: %v, %w, want %v", round, got, err, want)
			}
			all, err := gpk.ToSlice[float32](graph.Outputs()[1])
			if err != nil || len(all) != 3*c.Size() || all[len(all)-1] != -2*v*n {
				return fmt.Errorf("replay %d: gathered %v, %w", round, all, err)
			}
		}
		return nil
	})
	if err := errors.Join(err, g.Close()); err != nil {
		t.Error(err)
	}
}

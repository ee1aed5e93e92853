package dist

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dist/internal/control"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/internal/nccl"
	"github.com/gpk-go/gpk/internal/nccl/nccltest"
)

// fakeDir is the folder of the fake library, which TestMain removes.
var fakeDir string

// fakeLibrary builds the fake library once: a process opens only the first that it finds.
var fakeLibrary = sync.OnceValues(func() (file, why string) {
	var err error
	if fakeDir, err = os.MkdirTemp("", "gpk-nccl"); err != nil {
		return "", err.Error()
	}
	return nccltest.Build(fakeDir)
})

// fakeNCCL makes this process use the fake library, for devices without a CUDA context. It returns the
// file in which the library logs its communicators.
func fakeNCCL(t testing.TB, has func(d *device.Device) bool) (log string) {
	t.Helper()
	file, why := fakeLibrary()
	if why != "" {
		t.Skipf("NOT RUN: there is no fake NCCL: %s", why)
	}
	t.Setenv("GPK_NCCL", file)
	log = filepath.Join(t.TempDir(), "log")
	t.Setenv("GPK_FAKE_NCCL_LOG", log)
	if err := nccl.Load(); err != nil {
		t.Fatal(err)
	}
	old := ncclDevices
	t.Cleanup(func() { ncclDevices = old })
	ncclDevices.has = has
	ncclDevices.context = func(*device.Device) (nccl.Context, error) { return 0, nil }
	return log
}

func every(*device.Device) bool { return true }

// ended checks that every communicator was ended exactly once.
func ended(t *testing.T, log string, how string) {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for line := range strings.Lines(string(text)) {
		what, _, _ := strings.Cut(line, " ")
		count[what]++
	}
	if count["init"] == 0 || count["init"] != count[how] || len(count) != 2 {
		t.Errorf("communicators: %v, want all ended by %s", count, how)
	}
}

// onNCCL runs f on ranks on the CPU; the fake library moves their arrays.
func onNCCL(t *testing.T, n int, f func(ctx context.Context, c *Comm) error, places ...func(g *Group)) error {
	t.Helper()
	g, err := Local(cpu(t, n)...)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if !strings.Contains(g.Explain(), "run in NCCL 2.28.9") {
		t.Fatal(g.Explain())
	}
	for _, place := range places {
		place(g)
	}
	return errors.Join(g.Run(t.Context(), f), g.Close())
}

// TestNCCLCollectives is like TestCollectives, over the fake library, on all ranks and on those of a Split.
func TestNCCLCollectives(t *testing.T) {
	log := fakeNCCL(t, every)
	r := random(t)
	for i, typ := range types {
		for p, place := range map[int]string{2: "one process", 3: "two processes", 4: "processes"} {
			t.Run(fmt.Sprintf("%v/ranks=%d", typ.dt, p), func(t *testing.T) {
				shape := make([]int, 1+r.IntN(3))
				for d := range shape {
					shape[d] = r.IntN(5) * p
				}
				xs := make([]tensor, p)
				for k := range xs {
					xs[k] = seen(t, i, build(shape, func([]int) complex128 {
						switch {
						case typ.dt == gpk.Uint8:
							return complex(float64(r.IntN(3)), 0)
						case typ.dt.IsComplex():
							return small(r) + 1i*small(r)
						}
						return small(r)
					}))
				}
				how, axis, root := r.IntN(4), r.IntN(len(shape)), r.IntN(p)
				err := onNCCL(t, p, func(ctx context.Context, c *Comm) error {
					if err := compareAll(c, i, xs, how, axis, root); err != nil {
						return err
					}
					whole, err := c.Split(ctx, 0, c.Rank()) // all ranks, in a communicator of their own
					if err != nil {
						return err
					}
					if whole.gpu == nil || whole.gpu == c.gpu {
						return errors.New("a Split without a communicator of its own")
					}
					return compareAll(whole, i, xs, how, axis, root)
				}, processes[place])
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
	ended(t, log, "destroy")
}

// TestNCCLNaN checks that Max and Min propagate NaN, as NCCL's own do not.
func TestNCCLNaN(t *testing.T) {
	fakeNCCL(t, every)
	err := onNCCL(t, 2, func(_ context.Context, c *Comm) error {
		x := gpk.FromSlice([][]float32{{1, float32(math.NaN())}, {float32(math.NaN()), 2}}[c.Rank()])
		for _, op := range []Op{Max, Min} {
			for name, y := range map[string]*gpk.Array{"AllReduce": c.AllReduce(x, op)} {
				got, err := gpk.ToSlice[float32](y)
				if err != nil || got[0] == got[0] || got[1] == got[1] {
					return fmt.Errorf("%s %v: %v, %v", name, op, got, err)
				}
			}
			part, err := gpk.ToSlice[float32](c.ReduceScatter(x, op, 0))
			if err != nil || part[0] == part[0] {
				return fmt.Errorf("ReduceScatter %v: %v, %v", op, part, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestNCCLMessages sends arrays of every type, arrays of a wrong type or shape, and an error.
func TestNCCLMessages(t *testing.T) {
	fakeNCCL(t, every)
	for _, typ := range types {
		err := onNCCL(t, 2, func(ctx context.Context, c *Comm) error {
			x := build([]int{3, 2}, func(index []int) complex128 { return complex(float64((index[0]+index[1])%2), 0) })
			into := typ.array(build([]int{3, 2}, func([]int) complex128 { return 0 }))
			if c.Rank() == 0 {
				bad := gpk.FromSlice([]float32{1, 2, 3}).Add(gpk.FromSlice([]float32{1, 2}))
				if err := c.Send(ctx, bad, 1); !errors.Is(err, gpk.ErrShape) {
					return fmt.Errorf("an array with an error is sent: %w", err)
				}
				return errors.Join(
					c.Send(ctx, laid(typ.array(x), 1), 1),
					c.Send(ctx, typ.array(build([]int{2, 3}, func([]int) complex128 { return 1 })), 1),
					c.Send(ctx, typ.array(build([]int{0, 3}, func([]int) complex128 { return 1 })), 1),
					c.Send(ctx, typ.array(x), 1),
				)
			}
			errs := errors.Join(is(c.Recv(ctx, into, 0), gpk.ErrShape), c.Recv(ctx, into, 0), equal(typ.read, into, x))
			errs = errors.Join(errs, is(c.Recv(ctx, into, 0), gpk.ErrShape), is(c.Recv(ctx, into, 0), gpk.ErrShape))
			return errors.Join(errs, equal(typ.read, into, x), c.Recv(ctx, into, 0), equal(typ.read, into, x))
		})
		if err != nil {
			t.Errorf("%v: %v", typ.dt, err)
		}
	}
}

// is returns an error unless err is the wanted one and names rank 0.
func is(err, want error) error {
	if e, ok := errors.AsType[*RankError](err); !ok || !errors.Is(err, want) || e.Rank != 0 {
		return fmt.Errorf("%w: the error is not %w of rank 0", err, want)
	}
	return nil
}

func equal(read func(*gpk.Array) ([]complex128, error), a *gpk.Array, x tensor) error {
	got, err := read(a)
	if err != nil || !slices.Equal(got, x.data) {
		return fmt.Errorf("%v, %w; want %v", got, err, x.data)
	}
	return nil
}

// fakeGPUs returns n fake GPUs, whose memory is the host's.
func fakeGPUs(t testing.TB, n int) (out []*device.Device) {
	for i := range n {
		out = append(out, devicetest.NewFake(device.Info{Name: "fake", Kind: device.CUDA, Index: i, SM: 90, TotalMemory: 1 << 30}, device.CapabilitiesOf(90)))
	}
	return out
}

// TestBeside calls AllReduce on a stream of the Comm's own, which ends with the group, also with one that fails.
func TestBeside(t *testing.T) {
	fakeNCCL(t, ncclDevices.has)
	for _, fails := range []bool{false, true} {
		g, err := Local(fakeGPUs(t, 2)...)
		if err != nil {
			t.Fatal(err)
		}
		failure := errors.New("a rank gives up")
		var kept [2]*gpk.Array
		err = g.Run(t.Context(), func(_ context.Context, c *Comm) error {
			x := gpk.FromSlice([]float32{1, float32(c.Rank())}).To(c.Device())
			var none *Comm
			if none.Beside(x) != x {
				return errors.New("a nil Comm has a stream")
			}
			y := c.AllReduce(c.Beside(x), Sum)
			kept[c.Rank()] = y
			if y.Stream() == x.Stream() || c.Beside(x).Stream() != y.Stream() {
				return errors.New("not the Comm's stream")
			}
			got, err := gpk.ToSlice[float32](y.On(x.Stream()))
			if err != nil || !slices.Equal(got, []float32{2, 1}) {
				return fmt.Errorf("%v, %w", got, err)
			}
			if fails && c.Rank() == 1 {
				return failure
			}
			return nil
		})
		if errors.Is(err, failure) != fails || err != nil && !fails {
			t.Error(err)
		}
		if err := g.Close(); err != nil && !fails {
			t.Error(err)
		}
		for rank, y := range kept {
			if !deviceapi.Closed(y.Stream()) {
				t.Errorf("rank %d: the stream is open after the group", rank)
			}
		}
	}
}

// TestNCCLOnGPUs runs on fake GPUs, for which Local chooses NCCL by itself. A chain of collective calls on
// two streams depends on one deferred error, which reaches everything computed from it.
func TestNCCLOnGPUs(t *testing.T) {
	log := fakeNCCL(t, ncclDevices.has)
	g, err := Local(fakeGPUs(t, 3)...)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	lost := &RankError{1, "", ErrDisconnected}
	err = g.Run(t.Context(), func(_ context.Context, c *Comm) error {
		x := gpk.FromSlice([]float32{1, float32(c.Rank())}).To(c.Device())
		s, err := c.Device().NewStream()
		if err != nil {
			return err
		}
		y := x
		for i := range 100 { // more calls than a buffer has room for errors
			if i == 50 {
				y = y.On(s)
			}
			y = c.AllReduce(y, Mean)
		}
		c.gpu.mu.Lock()
		open := len(c.gpu.open)
		c.gpu.mu.Unlock()
		if open != 1 {
			return fmt.Errorf("%d batches are open", open)
		}
		got, err := gpk.ToSlice[float32](y)
		if err != nil || got[0] != 1 || got[1] != 1 {
			return fmt.Errorf("%v, %w", got, err)
		}
		y = c.AllGather(x, 0)
		z := c.AllReduce(y, Sum)
		c.gpu.failOpen(lost)
		for _, a := range []*gpk.Array{y, z} {
			if _, err := gpk.ToSlice[float32](a); !errors.Is(err, ErrDisconnected) {
				return fmt.Errorf("a result of a group that failed: %w", err)
			}
		}
		if got, err := gpk.ToSlice[float32](c.AllReduce(x, Sum)); err != nil || got[1] != 3 {
			return fmt.Errorf("the next batch: %v, %w", got, err)
		}
		return s.Close()
	})
	if err := errors.Join(err, g.Close()); err != nil {
		t.Error(err)
	}
	ended(t, log, "destroy")
}

// TestNCCLFaults lets a rank fail while the others are in NCCL, or NCCL fail itself. All ranks get an error
// that names the rank, and every communicator is aborted.
func TestNCCLFaults(t *testing.T) {
	lost := errors.New("rank 1 gives up")
	for _, c := range []struct {
		name, fake string
		rank1      func(ctx context.Context, c *Comm) error // nil: as the others
		rank       int
		says       string
	}{
		{"code", "ncclAllReduce:1:2:socket gone", nil, 1, "ncclSystemError (2): socket gone"},
		{"found later", "async:1:6:peer gone", func(ctx context.Context, _ *Comm) error { <-ctx.Done(); return ctx.Err() }, 1, "ncclRemoteError (6): peer gone"},
		{"error of another", "ncclAllReduce:1:0:", func(_ context.Context, c *Comm) error {
			time.AfterFunc(50*time.Millisecond, func() { c.r.node.Fail(lost) })
			return c.AllReduce(gpk.Ones(gpk.Float32, 3), Sum).Err() // stays in NCCL
		}, 1, "gives up"},
		{"death", "ncclAllReduce:1:0:", func(_ context.Context, c *Comm) error {
			time.AfterFunc(50*time.Millisecond, func() { c.r.node.Blame(&control.Failure{Rank: 1, Host: "h", Err: ErrDisconnected}) })
			return c.AllReduce(gpk.Ones(gpk.Float32, 3), Sum).Err()
		}, 1, "the process has died"},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := fakeNCCL(t, every)
			t.Setenv("GPK_FAKE_NCCL", c.fake)
			g, err := Local(cpu(t, 3)...)
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			errs := make([]error, 3)
			err = g.Run(t.Context(), func(ctx context.Context, comm *Comm) error {
				r := comm.Rank()
				if errs[r] = comm.Barrier(ctx); errs[r] != nil { // all ranks are in Run
					return errs[r]
				}
				if r == 1 && c.rank1 != nil {
					errs[r] = c.rank1(ctx, comm)
				} else {
					errs[r] = comm.AllReduce(gpk.Ones(gpk.Float32, 3), Sum).Err()
				}
				return errs[r]
			})
			for r, err := range append(errs, err) {
				if e, ok := errors.AsType[*RankError](err); (r != 1 || c.rank1 == nil) && (!ok || e.Rank != c.rank || !strings.Contains(err.Error(), c.says)) {
					t.Errorf("error %d: %v", r, err)
				}
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}
			ended(t, log, "abort")
		})
	}
}

// TestNCCLRefused lets NCCL fail to start. The ranks continue without it, and Explain says why. If one of
// them is stuck in NCCL, which nothing can end, joining fails instead.
func TestNCCLRefused(t *testing.T) {
	sum := func(_ context.Context, c *Comm) error {
		got, err := gpk.Item[float32](c.AllReduce(gpk.Ones(gpk.Float32, 1), Sum))
		if err != nil || got != 2 || c.gpu != nil {
			return fmt.Errorf("%v, %w", got, err)
		}
		return nil
	}
	for _, c := range []struct {
		name, fake string
		has        func(d *device.Device) bool
		says       string
	}{
		{"no GPU", "", func(*device.Device) bool { return false }, ""},
		{"off", "off", every, "rank 0: GPK_NCCL=off"},
		{"no ID", "ncclGetUniqueId:0:3:no interface", every, "NCCL is not used, arrays are copied through the host: rank 0: ncclGetUniqueId: ncclInternalError (3): no interface"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fakeNCCL(t, c.has)
			t.Setenv("GPK_FAKE_NCCL", c.fake)
			if c.fake == "off" {
				t.Setenv("GPK_NCCL", "off")
			}
			g, err := Local(cpu(t, 2)...)
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			if how := g.Explain(); !strings.Contains(how, c.says) || c.says == "" && strings.Contains(how, "NCCL") {
				t.Error(how)
			}
			if err := g.Run(t.Context(), sum); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("one rank", func(t *testing.T) {
		fakeNCCL(t, every)
		t.Setenv("GPK_FAKE_NCCL", "ncclCommInitRankConfig:1:1:no device")
		defer func(old time.Duration) { othersLimit = old }(othersLimit)
		othersLimit = 50 * time.Millisecond
		_, err := Local(cpu(t, 2)...)
		if e, ok := errors.AsType[*RankError](err); !ok || e.Rank != 1 || !strings.Contains(err.Error(), "no device") {
			t.Error(err)
		}
	})
}

// TestObstacle checks that NCCL is used only if all ranks have it in one version.
func TestObstacle(t *testing.T) {
	for _, c := range []struct {
		offers []offer
		why    string
		gpus   bool
	}{
		{[]offer{{true, 22809, ""}, {true, 22809, ""}}, "", true},
		{[]offer{{true, 22809, ""}, {true, 22703, ""}}, "rank 1 has version 22703, rank 0 version 22809", true},
		{[]offer{{true, 22809, ""}, {false, 0, "it is on cpu"}, {true, 0, "not found"}}, "rank 1: it is on cpu", true},
		{[]offer{{false, 0, "it is on cpu"}}, "rank 0: it is on cpu", false},
	} {
		if why, gpus := obstacle(c.offers); why != c.why || gpus != c.gpus {
			t.Errorf("%v: %q, %v", c.offers, why, gpus)
		}
	}
}

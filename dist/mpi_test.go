package dist

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/nccl"
)

// child is the variable that selects the program of a test binary that was started as a rank.
const child = "GPK_TEST_RANK"

func TestMain(m *testing.M) {
	if what := os.Getenv(child); what != "" {
		if err := asRank(what); err != nil {
			fmt.Fprintln(os.Stderr, "a rank's error:", err)
			os.Exit(3)
		}
		return
	}
	code := m.Run()
	if fakeDir != "" {
		_ = os.RemoveAll(fakeDir)
	}
	os.Exit(code)
}

// asRank runs the program of a rank that a launcher started.
func asRank(what string) error {
	onGPU := os.Getenv("GPK_TEST_DEVICE")
	_ = os.Setenv("GPK_DEVICE", cmp.Or(onGPU, "cpu"))
	if what == "missing" {
		return withoutRank1()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Second)
	defer cancel()
	onNCCL := os.Getenv("GPK_TEST_NCCL") != "" // the fake library moves arrays of the CPU
	if onNCCL {
		ncclDevices.has = every
		ncclDevices.context = func(*device.Device) (nccl.Context, error) { return 0, nil }
	}
	var options []Option
	if n, _ := strconv.Atoi(os.Getenv("GPK_TEST_HELD")); n > 1 {
		options = append(options, OnDevices(slices.Repeat([]*device.Device{device.Default()}, n)...))
	}
	g, err := Join(ctx, options...)
	if err != nil {
		return err
	}
	defer g.Close()
	if want := os.Getenv("GPK_TEST_ENGINE"); want != "" && g.ranks[0].engine != want {
		return fmt.Errorf("the engine is %q: %s", g.ranks[0].engine, g.Explain())
	}
	if onNCCL && g.ranks[0].gpu == nil {
		return fmt.Errorf("NCCL is not used: %s", g.Explain())
	}
	if want := os.Getenv("GPK_TEST_ABI"); g.ranks[0].engine != "memory" && !strings.HasSuffix(g.how[1], want) {
		return fmt.Errorf("the ABI is not %q: %s", want, g.Explain())
	}
	if what == "splits" {
		return manySplits(ctx, g)
	}
	err = g.Run(ctx, programs[what])
	if onGPU != "" {
		err = errors.Join(err, worksAfterwards(g.ranks[0].device))
	}
	if err == nil && g.ranks[0].node.Rank() == 0 {
		fmt.Println("all ranks are done:", g.Size())
	}
	return errors.Join(err, g.Close())
}

// worksAfterwards computes something on a device and says so.
func worksAfterwards(d *device.Device) error {
	got, err := gpk.Item[float32](gpk.FromSliceOn(d, []float32{1, 2, 4}).Sum())
	if err != nil || got != 7 {
		return fmt.Errorf("after the group %v computes %v, %w", d, got, err)
	}
	fmt.Println("the device works afterwards")
	return nil
}

var programs = map[string]func(ctx context.Context, c *Comm) error{
	// Every collective function, type and layout, on random shapes that all ranks draw alike.
	"collectives": func(ctx context.Context, c *Comm) error {
		r := rand.New(rand.NewPCG(7, 7))
		for i, typ := range types {
			for round := range 4 {
				p := c.Size()
				shape := []int{p * (1 + r.IntN(3)), p * r.IntN(4), 1 + r.IntN(3)}
				if round == 3 {
					oneStep = 8
				}
				xs := make([]tensor, p)
				for k := range xs {
					x := build(shape, func([]int) complex128 { return complex(float64(r.IntN(3)), 0) })
					data, err := typ.read(typ.array(x))
					if err != nil {
						return err
					}
					xs[k] = tensor{shape, data}
				}
				if err := compareAll(c, i, xs, round, r.IntN(2), r.IntN(p)); err != nil {
					return fmt.Errorf("%v %v: %w", typ.dt, shape, err)
				}
			}
		}
		return long(ctx, c)
	},
	"long": long,
	// Rank 1 makes other calls than the others, and the ranks go on; then it returns an error.
	"fault": func(_ context.Context, c *Comm) error {
		x := gpk.Ones(gpk.Float32, 2)
		for _, f := range []struct {
			name  string
			rank1 func() *gpk.Array
			want  error
		}{
			{"shape", func() *gpk.Array { return c.AllReduce(gpk.Ones(gpk.Float32, 9), Sum) }, gpk.ErrShape},
			{"type", func() *gpk.Array { return c.AllReduce(x.Cast(gpk.Float64), Sum) }, gpk.ErrDType},
			{"operation", func() *gpk.Array { return c.AllReduce(x, Max) }, gpk.ErrUnsupported},
			{"function", func() *gpk.Array { return c.AllGather(x, 0) }, gpk.ErrUnsupported},
		} {
			call := func() *gpk.Array { return c.AllReduce(x, Sum) }
			if c.Rank() == 1 {
				call = f.rank1
			}
			err := call().Err()
			var re *RankError
			if !errors.As(err, &re) || re.Rank != 1 || !errors.Is(err, f.want) {
				return fmt.Errorf("a %s that differs: %w", f.name, err)
			}
		}
		if c.Rank() == 1 {
			return errUnlucky
		}
		err := c.AllReduce(x, Sum).Err()
		var re *RankError
		if !errors.As(err, &re) || re.Rank != 1 || !strings.Contains(err.Error(), "no luck") {
			return fmt.Errorf("a rank that fails: %w", err)
		}
		return err
	},
	"canceled": canceled,
}

// canceled has rank 1 wait with a context that is canceled, and the others for rank 1.
func canceled(ctx context.Context, c *Comm) error {
	if c.Rank() != 1 {
		return c.Recv(ctx, gpk.Zeros(gpk.Float32, 2), 1)
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return c.Barrier(ctx)
}

// withoutRank1 joins under Open MPI, but in rank 1, which starts MPI and then does nothing.
func withoutRank1() error {
	if os.Getenv("OMPI_COMM_WORLD_RANK") == "1" {
		_, err := startMPI(place{mpi: "openmpi"}.mpiFiles(""))
		time.Sleep(100 * time.Second)
		return err
	}
	g, err := Join(context.Background(), Timeout(2*time.Second))
	if err == nil {
		_ = g.Close()
	}
	return err
}

// manySplits makes Comms in several Runs, each of which frees its own. No call uses a freed Comm. A
// library supports some thousands at a time.
func manySplits(ctx context.Context, g *Group) error {
	var kept *Comm
	for range 5 {
		err := g.Run(ctx, func(ctx context.Context, c *Comm) error {
			for i := range 10 {
				s, err := c.Split(ctx, c.Rank()*(i%2), 0)
				if err != nil {
					return err
				}
				kept = s
			}
			return kept.Barrier(ctx)
		})
		if err != nil {
			return err
		}
	}
	if _, err := kept.move.(*mpiComm).startBroadcast([]byte{1}, 0); !errors.Is(err, errFreed) {
		return fmt.Errorf("a Comm that was freed: %w", err)
	}
	if g.ranks[0].node.Rank() == 0 {
		fmt.Println("all ranks are done:", g.Size())
	}
	return nil
}

// long moves arrays of several pieces, splits, and sends around a ring.
func long(ctx context.Context, c *Comm) error {
	x := gpk.Ones(gpk.Float32, 3<<20).Mul(c.Rank() + 1)
	want := float32(c.Size() * (c.Size() + 1) / 2)
	for range 3 {
		y := c.AllReduce(x, Sum)
		lo, err := gpk.Item[float32](y.Min())
		hi, err2 := gpk.Item[float32](y.Max())
		if err := errors.Join(err, err2); err != nil || lo != want || hi != want {
			return fmt.Errorf("a long sum is %v to %v, want %v: %w", lo, hi, want, err)
		}
	}
	// Colors and keys that are equal in their lower 32 bits, if int has 64 bits.
	s, err := c.Split(ctx, c.Rank()%2<<(strconv.IntSize-32), -c.Rank()<<(strconv.IntSize-32))
	if err != nil {
		return err
	}
	all, err := gpk.ToSlice[int64](s.AllGather(gpk.FromSlice([]int64{int64(c.Rank())}), 0))
	if err != nil || len(all) != s.Size() || all[s.Rank()] != int64(c.Rank()) {
		return fmt.Errorf("split: %v, rank %d: %w", all, s.Rank(), err)
	}
	for i := 1; i < len(all); i++ {
		if all[i-1] < all[i] {
			return fmt.Errorf("split: keys are not in order: %v", all)
		}
	}
	if c.Size() > 1 {
		right, left := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
		into := gpk.Zeros(gpk.Int32, 5)
		steps := []func() error{
			func() error { return c.Send(ctx, gpk.Full(gpk.Int32, c.Rank(), 5), right) },
			func() error { return c.Recv(ctx, into, left) },
		}
		if c.Rank()%2 == 1 { // with NCCL, Send waits for Recv
			slices.Reverse(steps)
		}
		for _, step := range steps {
			if err := step(); err != nil {
				return err
			}
		}
		if got, err := gpk.ToSlice[int32](into); err != nil || got[4] != int32(left) {
			return fmt.Errorf("received %v: %w", got, err)
		}
	}
	return c.Barrier(ctx)
}

// launch runs the test binary as ranks of a launcher, and returns what it printed.
func launch(t *testing.T, what, engine string, command ...string) (string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], append(command[1:], self)...)
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = append(os.Environ(), child+"="+what, "GPK_TEST_ENGINE="+engine, "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	return out.String(), err
}

// launcher returns the command of an MPI launcher, and skips the test if there is none. CI installs
// Open MPI's and sets GPK_CI, with which a missing launcher is an error.
func launcher(t *testing.T, required bool, names ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("NOT RUN: several processes, in short runs")
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if required && os.Getenv("GPK_CI") != "" {
		t.Fatalf("no %v here", names)
	}
	t.Skipf("NOT RUN: no %v here", names)
	return ""
}

func testMPI(t *testing.T, command ...string) {
	if _, err := startMPI(nil); errors.Is(err, errNoMPI) {
		t.Skipf("NOT RUN: %v", err)
	}
	for _, n := range []string{"1", "2", "4"} {
		out, err := launch(t, "collectives", map[bool]string{true: "mpi"}[n != "1"], append(command, "-n", n)...)
		if err != nil || !strings.Contains(out, "all ranks are done: "+n) {
			t.Fatalf("%s ranks: %v\n%s", n, err, out)
		}
	}
	out, err := launch(t, "splits", "mpi", append(command, "-n", "2")...)
	if err != nil || !strings.Contains(out, "all ranks are done: 2") {
		t.Errorf("many Comms: %v\n%s", err, out)
	}
	t.Setenv("GPK_TEST_HELD", "2") // ranks a process, which only meet by MPI
	out, err = launch(t, "long", "tcp", append(command, "-n", "2")...)
	if err != nil || !strings.Contains(out, "all ranks are done: 4") {
		t.Errorf("two ranks a process: %v\n%s", err, out)
	}
	t.Setenv("GPK_TEST_HELD", "")
	out, err = launch(t, "fault", "mpi", append(command, "-n", "3")...)
	if err == nil || !strings.Contains(out, "rank 1") || !strings.Contains(out, "no luck") || strings.Contains(out, "a rank that fails") || strings.Contains(out, "that differs") {
		t.Errorf("a rank that fails: %v\n%s", err, out)
	}
	out, err = launch(t, "canceled", "mpi", append(command, "-n", "3")...)
	if err == nil || !strings.Contains(out, "rank 1 (") || !strings.Contains(out, context.Canceled.Error()) {
		t.Errorf("a context that is canceled: %v\n%s", err, out)
	}
}

// TestOpenMPI runs every collective function in processes that Open MPI's mpirun starts.
func TestOpenMPI(t *testing.T) {
	testMPI(t, launcher(t, true, "mpirun.openmpi"), "--oversubscribe")
}

// TestMPICH does so with MPICH's mpiexec.
func TestMPICH(t *testing.T) { testMPI(t, launcher(t, false, "mpiexec.mpich", "mpiexec.hydra")) }

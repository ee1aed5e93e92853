package dist

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpk-go/gpk"
)

// processes makes the ranks of a Local group behave as those of several processes.
var processes = map[string]func(g *Group){
	"one process": func(*Group) {},
	"processes":   separate,
	"two processes": func(g *Group) {
		separate(g)
		b := &beside{ranks: []int{0, 1}}
		g.ranks[0].beside, g.ranks[1].beside = b, b
	},
}

// inProcesses runs a test with each placement of the ranks.
func inProcesses(t *testing.T, test func(t *testing.T, place func(g *Group))) {
	for name, place := range processes {
		t.Run(name, func(t *testing.T) { test(t, place) })
	}
}

func separate(g *Group) {
	for _, r := range g.ranks {
		r.beside = nil
	}
}

// TestNCCLDifferent has rank 1 make another call than the others, which have started theirs. All ranks get an
// error that names it, and the communicators are aborted.
func TestNCCLDifferent(t *testing.T) {
	x := func(n int) *gpk.Array { return gpk.Ones(gpk.Float32, n) }
	bad := func() *gpk.Array { return x(2).Add(x(3)) }
	for _, c := range []struct {
		name  string
		rank1 func(ctx context.Context, c *Comm) error
		want  error
		says  string
	}{
		{"function", func(_ context.Context, c *Comm) error { return c.AllGather(x(6), 0).Err() }, gpk.ErrUnsupported, "it calls AllGather(axis 0) of [6] float32, rank 0 calls AllReduce(Sum) of [6] float32"},
		{"operation", func(_ context.Context, c *Comm) error { return c.AllReduce(x(6), Max).Err() }, gpk.ErrUnsupported, "AllReduce(Max)"},
		{"shape", func(_ context.Context, c *Comm) error { return c.AllReduce(x(7), Sum).Err() }, gpk.ErrShape, "[7]"},
		{"no elements", func(_ context.Context, c *Comm) error { return c.AllReduce(x(0), Sum).Err() }, gpk.ErrShape, "[0]"},
		{"type", func(_ context.Context, c *Comm) error { return c.AllReduce(x(6).Cast(gpk.Int32), Sum).Err() }, gpk.ErrDType, "int32"},
		{"an array's error", func(_ context.Context, c *Comm) error { return c.AllReduce(bad(), Sum).Err() }, gpk.ErrShape, "Add"},
		{"a barrier", func(ctx context.Context, c *Comm) error { return c.Barrier(ctx) }, gpk.ErrUnsupported, "it calls Barrier"},
		{"the end", func(context.Context, *Comm) error { return nil }, gpk.ErrUnsupported, "it calls the end of Run"},
	} {
		for name, place := range processes {
			t.Run(name+"/"+c.name, func(t *testing.T) { testDifferent(t, place, c.rank1, c.want, c.says) })
		}
	}
}

func testDifferent(t *testing.T, place func(g *Group), rank1 func(ctx context.Context, c *Comm) error, want error, says string) {
	log := fakeNCCL(t, every)
	g, err := Local(cpu(t, 3)...)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	place(g)
	errs := make([]error, 3)
	err = g.Run(t.Context(), func(ctx context.Context, comm *Comm) error {
		for range 5 {
			if got, err := gpk.Item[float32](comm.AllReduce(gpk.Ones(gpk.Float32, 1), Sum)); err != nil || got != 3 {
				return fmt.Errorf("before: %v, %w", got, err)
			}
		}
		r := comm.Rank()
		if r == 1 {
			errs[r] = rank1(ctx, comm)
		} else {
			errs[r] = comm.AllReduce(gpk.Ones(gpk.Float32, 6), Sum).Err()
		}
		return errs[r]
	})
	errs[1] = nil // the error of rank 1 depends on which rank fails first
	for r, err := range append(errs, err) {
		e, ok := errors.AsType[*RankError](err)
		if r != 1 && (!ok || e.Rank != 1 || !errors.Is(err, want) || !strings.Contains(err.Error(), says)) {
			t.Errorf("error %d: %v", r, err)
		}
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	ended(t, log, "abort")
}

// TestNCCLSameError has all ranks fail in the same call, each for its own reason. No work has started, so they
// continue.
func TestNCCLSameError(t *testing.T) {
	inProcesses(t, testSameError)
}

func testSameError(t *testing.T, place func(g *Group)) {
	log := fakeNCCL(t, every)
	err := onNCCL(t, 3, func(_ context.Context, c *Comm) error {
		if err := c.AllReduce(gpk.Ones(gpk.Bool, 2+c.Rank()), Sum).Err(); !errors.Is(err, gpk.ErrDType) {
			return fmt.Errorf("a sum of Bool: %w", err)
		}
		if got, err := gpk.Item[float32](c.AllReduce(gpk.Ones(gpk.Float32, 1), Sum)); err != nil || got != 3 {
			return fmt.Errorf("%v, %w", got, err)
		}
		return nil
	}, place)
	if err != nil {
		t.Error(err)
	}
	ended(t, log, "destroy")
}

// TestNCCLCanceled ends the context while a rank makes no call and the others have started theirs.
func TestNCCLCanceled(t *testing.T) {
	inProcesses(t, testCanceled)
}

func testCanceled(t *testing.T, place func(g *Group)) {
	log := fakeNCCL(t, every)
	g, err := Local(cpu(t, 3)...)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	place(g)
	ctx, cancel := context.WithCancel(t.Context())
	err = g.Run(ctx, func(ctx context.Context, c *Comm) error {
		if c.Rank() == 1 {
			time.Sleep(20 * time.Millisecond)
			cancel()
			<-ctx.Done()
			return nil
		}
		return c.AllReduce(gpk.Ones(gpk.Float32, 2), Sum).Err()
	})
	if _, ok := errors.AsType[*RankError](err); !ok || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	ended(t, log, "abort")
}

// afterRun returns the Comm of rank 0 after a Run of one call on two ranks.
func afterRun(t *testing.T, place ...func(g *Group)) (kept *Comm) {
	t.Helper()
	fakeNCCL(t, every)
	err := onNCCL(t, 2, func(_ context.Context, c *Comm) error {
		if c.Rank() == 0 {
			kept = c
		}
		return c.AllReduce(gpk.Ones(gpk.Float32, 1), Sum).Err()
	}, place...)
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

// TestComparisonEnded checks that a call is refused once the ranks no longer compare calls, because it would
// wait forever.
func TestComparisonEnded(t *testing.T) {
	kept := afterRun(t, separate)
	n := kept.compare.number()
	if err := kept.compare.add(&heading{Call: "AllReduce"}); err == nil || kept.compare.number() != n {
		t.Errorf("a call after the Run: %v, %d calls", err, kept.compare.number())
	}
	if err := kept.compare.reach(n); err != nil {
		t.Errorf("calls of the Run: %v", err)
	}
}

// TestMeetingEnded makes a call after the Run, on ranks of one process.
func TestMeetingEnded(t *testing.T) {
	kept := afterRun(t)
	if err := kept.compare.announce(&heading{Call: "AllReduce"}); err == nil {
		t.Error("no error")
	}
}

// TestComparedInRounds makes more calls than a round compares, on ranks that run ahead of each other.
func TestComparedInRounds(t *testing.T) {
	const ranks, calls = 3, 3000
	fakeNCCL(t, every)
	err := onNCCL(t, ranks, func(ctx context.Context, c *Comm) error {
		for i := range calls {
			if err := c.compare.add(&heading{Call: "AllReduce", Axis: i}); err != nil {
				return err
			}
			if i%1000 == 300*c.Rank() {
				time.Sleep(5 * time.Millisecond)
			}
		}
		return c.Barrier(ctx)
	}, separate)
	if err != nil {
		t.Error(err)
	}
	err = onNCCL(t, ranks, func(ctx context.Context, c *Comm) error {
		for i := range calls {
			h := heading{Call: "AllReduce", Axis: i}
			if i == 2500 && c.Rank() == 2 {
				h.Axis = 7
			}
			if err := c.compare.add(&h); err != nil {
				return err
			}
		}
		return c.Barrier(ctx)
	}, separate)
	if e, ok := errors.AsType[*RankError](err); !ok || e.Rank != 2 {
		t.Error(err)
	}
}

// TestDigest checks that headings that differ in one field have different digests.
func TestDigest(t *testing.T) {
	seen := map[uint64]string{}
	for _, h := range []heading{
		{},
		{Call: "a"},
		{Call: "b"},
		{Op: "a"},
		{DType: "a"},
		{Axis: 1},
		{Axis: -1},
		{Shape: []int{0}},
		{Shape: []int{1}},
		{Shape: []int{1, 1}},
		{Shape: []int{1 << 30}},
		{Shape: []int{2, 3}},
		{Shape: []int{3, 2}},
		{Error: "a"},
		{Error: "b"},
		{Call: "a", Error: "b"},
	} {
		d := h.digest()
		if other, ok := seen[d]; ok {
			t.Errorf("%v and %s", h, other)
		}
		if seen[d] = h.String(); (d&1 != 0) != (h.Error != "") {
			t.Errorf("%v: %x", h, d)
		}
	}
}

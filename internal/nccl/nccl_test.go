package nccl

import (
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/gpk-go/gpk/internal/dynlib"
	"github.com/gpk-go/gpk/internal/nccl/nccltest"
)

// fake loads the fake library.
func fake(t *testing.T) {
	t.Helper()
	file, why := nccltest.Build(t.TempDir())
	if why != "" {
		t.Skipf("NOT RUN: there is no fake NCCL: %s", why)
	}
	old := library
	t.Cleanup(func() { library = old })
	t.Setenv("GPK_NCCL", file)
	library = newLibrary()
	if err := Load(); err != nil || Number() != 22809 || filepath.Base(Path()) != filepath.Base(file) {
		t.Fatalf("%s of version %d, %v", Path(), Number(), err)
	}
}

// comms makes a communicator of n ranks.
func comms(t *testing.T, n int) []*Comm {
	t.Helper()
	id, err := NewID()
	if err != nil {
		t.Fatal(err)
	}
	out, errs := make([]*Comm, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { out[i], errs[i] = Init(0, n, id, i) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return out
}

// buffer returns memory with the given elements, and its address, which does not change until the test ends.
func buffer(t *testing.T, elements ...int32) ([]int32, uint64) {
	p := new(runtime.Pinner)
	p.Pin(unsafe.SliceData(elements))
	t.Cleanup(p.Unpin)
	return elements, uint64(uintptr(unsafe.Pointer(unsafe.SliceData(elements))))
}

// TestCalls makes every kind of call between three ranks, and compares the results with plain loops.
func TestCalls(t *testing.T) {
	fake(t)
	const ranks, n = 3, 4
	cs := comms(t, ranks)
	value := func(rank, i int) int32 { return int32(100*(rank+1) + i*i) }
	sum := func(i int) (s int32) {
		for r := range ranks {
			s += value(r, i)
		}
		return s
	}
	for _, k := range []struct {
		call       Call
		send, recv int // elements of the buffers
		want       func(rank, i int) int32
	}{
		{Call{Kind: AllReduce, Count: n}, n, n, func(_, i int) int32 { return sum(i) }},
		{Call{Kind: ReduceScatter, Count: n}, ranks * n, n, func(rank, i int) int32 { return sum(rank*n + i) }},
		{Call{Kind: AllGather, Count: n}, n, ranks * n, func(_, i int) int32 { return value(i/n, i%n) }},
		{Call{Kind: Broadcast, Count: n, Peer: 1}, n, n, func(_, i int) int32 { return value(1, i) }},
		{Call{Kind: AllToAll, Count: n, Ranks: ranks}, ranks * n, ranks * n, func(rank, i int) int32 { return value(i/n, rank*n+i%n) }},
	} {
		var wg sync.WaitGroup
		for rank, c := range cs {
			wg.Go(func() {
				send, from := buffer(t, make([]int32, k.send)...)
				recv, to := buffer(t, make([]int32, k.recv)...)
				for i := range send {
					send[i] = value(rank, i)
				}
				for i := range recv {
					recv[i] = -1
				}
				call := k.call
				call.Send, call.Recv, call.Type = from, to, Int32
				if err := c.Run(&call); err != nil {
					t.Errorf("%v, rank %d: %v", call.Kind, rank, err)
				}
				for i, v := range recv {
					if w := k.want(rank, i); v != w {
						t.Errorf("%v, rank %d: element %d is %d, want %d", call.Kind, rank, i, v, w)
					}
				}
			})
		}
		wg.Wait()
	}
	var wg sync.WaitGroup
	got, to := buffer(t, make([]int32, n)...)
	_, from := buffer(t, 7, 8, 9, 10)
	wg.Go(func() {
		if err := cs[2].Run(&Call{Kind: Send, Send: from, Count: n, Type: Int32, Peer: 0}); err != nil {
			t.Error(err)
		}
	})
	if err := cs[0].Run(&Call{Kind: Recv, Recv: to, Count: n, Type: Int32, Peer: 2}); err != nil || got[0] != 7 || got[3] != 10 {
		t.Errorf("received %v, %v", got, err)
	}
	wg.Wait()
}

// TestSplit splits four ranks into communicators in reverse order; one rank is in none.
func TestSplit(t *testing.T) {
	fake(t)
	var wg sync.WaitGroup
	for rank, c := range comms(t, 5) {
		wg.Go(func() {
			color := rank % 2
			if rank == 4 {
				color = -1
			}
			part, err := c.Split(color, -rank)
			if err != nil {
				t.Errorf("rank %d: %v", rank, err)
				return
			}
			if rank == 4 {
				if part != nil {
					t.Error("a rank with a negative color is in a communicator")
				}
				return
			}
			_, from := buffer(t, int32(rank))
			recv, to := buffer(t, -1, -1)
			if err := part.Run(&Call{Kind: AllGather, Send: from, Recv: to, Count: 1, Type: Int32}); err != nil {
				t.Errorf("rank %d: %v", rank, err)
			}
			if recv[0] != int32(color+2) || recv[1] != int32(color) {
				t.Errorf("rank %d: the part is %v", rank, recv)
			}
			if err := errors.Join(part.Destroy(), c.Destroy(), c.Destroy()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// TestFailures checks the errors and texts of functions that fail, and that Abort ends a call that no other
// rank makes.
func TestFailures(t *testing.T) {
	fake(t)
	cs := comms(t, 2)
	_, buf := buffer(t, make([]int32, 4)...)
	call := Call{Kind: AllReduce, Send: buf, Recv: buf, Count: 1, Type: Int32}
	t.Run("code", func(t *testing.T) {
		t.Setenv("GPK_FAKE_NCCL", "ncclAllReduce:0:2:socket gone")
		err := cs[0].Run(&call)
		if e := library.StatusOf(err); e == nil || e.Code != 2 || e.Detail != "socket gone" || !strings.Contains(err.Error(), "ncclSystemError (2): socket gone") {
			t.Error(err)
		}
	})
	t.Run("group", func(t *testing.T) { // the group must end, so that the next call is not part of it
		t.Setenv("GPK_FAKE_NCCL", "ncclRecv:0:5:no")
		if err := cs[0].Run(&Call{Kind: AllToAll, Send: buf, Recv: buf, Count: 1, Type: Int32, Ranks: 2}); err == nil {
			t.Error("no error")
		}
	})
	t.Run("id", func(t *testing.T) {
		t.Setenv("GPK_FAKE_NCCL", "ncclGetUniqueId:0:3:no interface")
		if _, err := NewID(); err == nil || !strings.Contains(err.Error(), "no interface") {
			t.Error(err)
		}
	})
	t.Run("async", func(t *testing.T) {
		t.Setenv("GPK_FAKE_NCCL", "async:0:6:peer gone")
		if err := cs[0].AsyncError(); err == nil || !strings.Contains(err.Error(), "ncclRemoteError (6): peer gone") {
			t.Error(err)
		}
		if err := cs[1].AsyncError(); err != nil {
			t.Error(err)
		}
	})
	t.Run("abort", func(t *testing.T) {
		done := make(chan error)
		go func() { done <- cs[1].Run(&call) }() // rank 0 never makes the call
		time.Sleep(20 * time.Millisecond)
		if err := cs[1].Abort(); err != nil {
			t.Error(err)
		}
		if err := <-done; err == nil {
			t.Error("an aborted call succeeds")
		}
		if err := cs[1].Run(&call); !errors.Is(err, ErrAborted) {
			t.Error(err)
		}
		if _, err := cs[1].Split(0, 0); !errors.Is(err, ErrAborted) {
			t.Error(err)
		}
		if err := errors.Join(cs[1].Abort(), cs[1].Destroy(), cs[1].AsyncError()); err != nil {
			t.Error(err)
		}
	})
}

// TestVersion checks which versions are accepted, and that a library other than NCCL is refused.
func TestVersion(t *testing.T) {
	fake(t)
	t.Setenv("GPK_FAKE_NCCL_VERSION", "22605")
	files := map[string]string{library.Path(): ""}
	if found, _ := filepath.Glob("/lib/*-linux-gnu/libm.so.6"); len(found) > 0 {
		files[found[0]] = "ncclGetVersion"
	}
	for file, want := range files {
		handle, err := dynlib.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		version, missing := bind(handle)
		if missing != want || want == "" && (version != 22605 || version >= library.Least) {
			t.Errorf("%s: version %d, lacks %q, want %q", file, version, missing, want)
		}
	}
}

// TestNames checks the texts of values without a name.
func TestNames(t *testing.T) {
	for got, want := range map[string]string{
		library.Failure("x", 99, "").Error(): "x: unknown result (99)",
		Kind(-1).String():                    "unknown call",
		Recv.String():                        "ncclRecv",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

//go:build cgo && linux && (amd64 || arm64) && !nocuda

package nccl

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/gpk-go/gpk/internal/submit"
	"github.com/gpk-go/gpk/internal/submit/submittest"
	"github.com/gpk-go/gpk/internal/testrand"
)

// newQueue returns a queue that is closed when the test ends.
func newQueue(t *testing.T) *submit.Queue {
	t.Helper()
	q := submit.New(submit.Always)
	if q == nil {
		t.Fatal("no queue")
	}
	t.Cleanup(q.Close)
	return q
}

// pair returns two ranks and an AllReduce of one number each into memory that holds -1.
func pair(t *testing.T) (cs []*Comm, call Call, result []int32) {
	_, from := buffer(t, 20)
	result, to := buffer(t, -1)
	return comms(t, 2), Call{Kind: AllReduce, Send: from, Recv: to, Count: 1, Type: Int32}, result
}

// TestQueued makes calls of three ranks through a queue each, some of them directly, and compares every result with a
// plain loop.
func TestQueued(t *testing.T) {
	fake(t)
	const ranks, rounds = 3, 500
	rng := testrand.New(t)
	values, direct := make([][ranks]int32, rounds), make([][ranks]bool, rounds)
	for i := range values {
		for r := range ranks {
			values[i][r], direct[i][r] = rng.Int32()/4, rng.IntN(4) == 0
		}
	}
	var wg sync.WaitGroup
	for rank, c := range comms(t, ranks) {
		q := newQueue(t)
		wg.Go(func() {
			send, from := buffer(t, make([]int32, rounds)...)
			recv, to := buffer(t, make([]int32, rounds*(ranks+1))...)
			for i := range send {
				send[i] = values[i][rank]
			}
			for i := range recv {
				recv[i] = -1
			}
			for i := range uint64(rounds) {
				call := Call{Kind: AllReduce, Send: from + 4*i, Recv: to + 16*i, Count: 1, Type: Int32}
				if i%2 == 1 {
					call.Kind = AllGather
				}
				switch {
				case direct[i][rank]:
					q.Flush()
					if err := c.Run(&call); err != nil {
						t.Errorf("rank %d: %v", rank, err)
					}
				case !c.Enqueue(q, &call):
					t.Errorf("rank %d: call %d is not queued", rank, i)
				}
			}
			q.Drain()
			for i, v := range values {
				want := [4]int32{v[0] + v[1] + v[2], -1, -1, -1}
				if i%2 == 1 {
					want = [4]int32{v[0], v[1], v[2], -1}
				}
				if got := [4]int32(recv[4*i:]); got != want {
					t.Errorf("rank %d, call %d: %v, want %v", rank, i, got, want)
				}
			}
			if err := errors.Join(c.Failure(), c.Destroy(), c.Failure()); err != nil {
				t.Errorf("rank %d: %v", rank, err)
			}
			if call := (Call{Kind: AllReduce}); c.Enqueue(q, &call) {
				t.Error("a call of a communicator that has ended is queued")
			}
		})
	}
	wg.Wait()
}

// TestQueuedFailure checks that a queued call that fails is the failure of its communicator only, and that later calls
// of this communicator are not made.
func TestQueuedFailure(t *testing.T) {
	fake(t)
	cs, call, result := pair(t)
	q := newQueue(t)
	t.Setenv("GPK_FAKE_NCCL", "ncclAllReduce:0:2:socket gone")
	cs[0].Enqueue(q, &call)
	q.Drain()
	t.Setenv("GPK_FAKE_NCCL", "")
	if !cs[0].Enqueue(q, &call) { // it would wait for the other rank
		t.Error("not queued")
	}
	submittest.Logged()
	r := q.Next()
	r.Function, r.Args[0] = submittest.Note, 5
	q.Push()
	q.Drain()
	for _, err := range []error{cs[0].Failure(), cs[0].AsyncError()} {
		if e := library.StatusOf(err); e == nil || e.Code != 2 || e.Detail != "socket gone" {
			t.Error(err)
		}
	}
	if q.Failed() || len(submittest.Logged()) != 1 || result[0] != -1 {
		t.Errorf("the queue has failed, or the result is written: %d", result[0])
	}
	if err := errors.Join(cs[0].Abort(), cs[1].Abort()); err != nil {
		t.Error(err)
	}
	if e := library.StatusOf(cs[0].Failure()); e == nil || e.Code != 2 {
		t.Errorf("after the end the failure is %v", cs[0].Failure())
	}
}

// TestQueuedSkipped: if the queue leaves a call out, the communicator fails, and no later call is made.
func TestQueuedSkipped(t *testing.T) {
	fake(t)
	cs, call, result := pair(t)
	q := newQueue(t)
	r := q.Next()
	r.Function, r.Args[0] = submittest.Answer, 7
	q.Push()
	cs[0].Enqueue(q, &call)
	q.Drain()
	if err := cs[0].Failure(); !errors.Is(err, errSkipped) {
		t.Error(err)
	}
	if f := q.Take(); f == nil || f.Code != 7 {
		t.Fatalf("%+v", f)
	}
	cs[0].Enqueue(q, &call) // the other rank would take it for the first
	q.Drain()
	if err := cs[0].Failure(); !errors.Is(err, errSkipped) || result[0] != -1 {
		t.Errorf("%v, result %d", err, result[0])
	}
	if err := errors.Join(cs[0].Abort(), cs[1].Abort()); err != nil {
		t.Error(err)
	}
}

// TestQueuedAbort aborts a communicator while the queue makes a call that waits for a rank, with more calls queued
// after it. The queue continues without them.
func TestQueuedAbort(t *testing.T) {
	fake(t)
	cs, call, result := pair(t)
	q := newQueue(t)
	for range 10 {
		cs[0].Enqueue(q, &call)
	}
	for !cs[0].queued.running() {
		time.Sleep(time.Millisecond)
	}
	begun := time.Now()
	if err := cs[0].Abort(); err != nil {
		t.Error(err)
	}
	q.Drain()
	if took := time.Since(begun); took > callTime+10*time.Second || took < callTime {
		t.Errorf("the abort took %v", took)
	}
	if q.Failed() || result[0] != -1 || cs[0].Enqueue(q, &call) {
		t.Errorf("the queue has failed, or the result is written: %d", result[0])
	}
	if err := cs[1].Abort(); err != nil {
		t.Error(err)
	}
}

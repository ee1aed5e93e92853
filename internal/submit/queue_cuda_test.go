//go:build cgo && linux && (amd64 || arm64) && !nocuda

package submit

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpk-go/gpk/internal/submit/submittest"
	"github.com/gpk-go/gpk/internal/testrand"
)

// newQueue returns a queue that is closed when the test ends.
func newQueue(t *testing.T, mode Mode) *Queue {
	t.Helper()
	q := New(mode)
	if q == nil {
		t.Fatal("no queue")
	}
	submittest.Logged()
	t.Cleanup(q.Close)
	return q
}

// push pushes a call of f.
func push(q *Queue, f uintptr, words ...uint64) {
	r := q.Next()
	r.Function, r.Stream, r.Seq = f, 7, q.head
	copy(r.Args[:], words)
	q.Push()
}

// TestOrder wraps around the ring many times, at random speeds of both sides.
func TestOrder(t *testing.T) {
	q := newQueue(t, Always)
	rng := testrand.New(t)
	const n = 20000
	for i := range uint64(n) {
		if !q.Ready() {
			t.Fatal("not ready")
		}
		push(q, submittest.Note, i)
		switch rng.IntN(400) {
		case 0:
			q.Drain()
			if got := q.done(); got != i+1 {
				t.Fatalf("%d of %d calls were made when Drain returned", got, i+1)
			}
		case 1:
			time.Sleep(time.Duration(rng.IntN(200)) * time.Microsecond) // the thread falls asleep
		}
	}
	q.Drain()
	got := submittest.Logged()
	if len(got) != n {
		t.Fatalf("%d calls, want %d", len(got), n)
	}
	for i, v := range got {
		if v != uint64(i) {
			t.Fatalf("call %d is %d", i, v)
		}
	}
}

// TestWords checks that every word of a record reaches the call.
func TestWords(t *testing.T) {
	q := newQueue(t, Always)
	var want []uint64
	for i := range uint64(1000) {
		var words [Words]uint64
		sum := uint64(0)
		for j := range words {
			words[j] = i<<32 ^ rand.Uint64()
			sum += words[j] * uint64(j+1)
		}
		want = append(want, sum)
		q.Ready()
		push(q, submittest.Sum, words[:]...)
	}
	q.Drain()
	for i, v := range submittest.Logged() {
		if v != want[i] {
			t.Fatalf("record %d came with other words", i)
		}
	}
}

// TestFull blocks the thread: the ring fills, and Next waits for room.
func TestFull(t *testing.T) {
	q := newQueue(t, Always)
	submittest.Open(0)
	t.Cleanup(func() { submittest.Open(1) }) // before Close, which waits for the call
	q.Ready()
	push(q, submittest.Gate, 1)
	var mu sync.Mutex
	pushed := 0
	end := make(chan struct{})
	go func() {
		defer close(end)
		for i := range uint64(3 * waiting) {
			push(q, submittest.Note, i)
			mu.Lock()
			pushed++
			mu.Unlock()
		}
	}()
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return pushed
	}
	for deadline := time.Now().Add(time.Minute); count() < waiting-1 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(20 * time.Millisecond)
	if n := count(); n != waiting-1 {
		t.Errorf("%d calls were taken behind one that waits, want %d", n, waiting-1)
	}
	submittest.Open(1)
	<-end
	q.Drain()
	if got := submittest.Logged(); len(got) != 3*waiting || got[len(got)-1] != 3*waiting-1 {
		t.Errorf("%d calls, want %d", len(got), 3*waiting)
	}
}

// TestFailure makes one call in the middle fail. The calls before it were made, those after
// it were not, and Take gives the first call that was not made of each stream.
func TestFailure(t *testing.T) {
	q := newQueue(t, Always)
	const ok, bad = 300, 120 // once around the ring
	at := func(i int) (stream, seq uint64) { return uint64(10 + i%3), uint64(i) }
	for i := range ok {
		q.Ready()
		push(q, submittest.Note, uint64(i))
	}
	q.Drain() // as the caller's look at Failed does
	for i := range bad {
		r := q.Next()
		r.Function, r.Args[0] = submittest.Note, uint64(ok+i)
		if i == 1 {
			r.Function, r.Args[0] = submittest.Answer, 700
		}
		r.Stream, r.Seq = at(i)
		q.Push()
	}
	f := q.Take()
	if f == nil || f.Code != 700 || f.Function != submittest.Answer {
		t.Fatalf("%+v", f)
	}
	for i := 1; i < 4; i++ {
		if stream, seq := at(i); f.First[stream] != seq {
			t.Errorf("stream %d from %d on, want %d", stream, f.First[stream], seq)
		}
	}
	if got := submittest.Logged(); len(got) != ok+1 {
		t.Errorf("%d calls were made, want %d", len(got), ok+1)
	}
	if q.Failed() || q.Take() != nil {
		t.Error("it failed twice")
	}
	q.Ready()
	push(q, submittest.Note, 42)
	q.Drain()
	if got := submittest.Logged(); len(got) != 1 || got[0] != 42 {
		t.Errorf("%v were made after Take", got)
	}
}

// TestFailureKept pushes many times the ring's capacity after a call that failed, before
// anybody reads the failure. The failure and the first skipped calls are still known.
func TestFailureKept(t *testing.T) {
	rng := testrand.New(t)
	for _, n := range []int{waiting - 1, waiting, waiting + 1, 2 * waiting, 5*waiting + rng.IntN(waiting)} {
		q := newQueue(t, Always)
		bad := 1 + rng.IntN(2*waiting)
		for i := range bad + n {
			q.Ready()
			r := q.Next()
			r.Function, r.Stream, r.Seq = submittest.Note, uint64(1+i%5), uint64(i)
			switch {
			case i == bad:
				r.Function, r.Args[0] = submittest.Answer, 700
			case i > bad+n/2 && i%2 == 0:
				r.Stream = 9
			}
			q.Push()
		}
		f := q.Take()
		if f == nil || f.Code != 700 || f.Function != submittest.Answer {
			t.Fatalf("%d calls behind number %d, which failed: %+v", n, bad, f)
		}
		want := map[uint64]uint64{9: uint64(bad + n/2 + 1 + (bad+n/2+1)%2)}
		for i := range 5 {
			want[uint64(1+(bad+i)%5)] = uint64(bad + i)
		}
		if !maps.Equal(f.First, want) {
			t.Errorf("%d calls behind number %d, which failed: from %v on, want %v", n, bad, f.First, want)
		}
		if got := submittest.Logged(); len(got) != bad {
			t.Errorf("%d calls were made before number %d, which failed", len(got), bad)
		}
		push(q, submittest.Answer, 701) // the next failure is another one
		if f := q.Take(); f == nil || f.Code != 701 || len(f.First) != 1 {
			t.Errorf("%+v after a second failure", f)
		}
	}
}

// TestDrainFromOthers drains from several goroutines while one pushes.
func TestDrainFromOthers(t *testing.T) {
	q := newQueue(t, Always)
	end := make(chan struct{})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
					q.Drain()
				}
			}
		})
	}
	const n = 5000
	for i := range uint64(n) {
		q.Ready()
		push(q, submittest.Note, i)
	}
	close(end)
	group.Wait()
	q.Drain()
	if got := submittest.Logged(); len(got) != n {
		t.Errorf("%d calls, want %d", len(got), n)
	}
}

// TestRows checks which calls go through the queue in the default mode.
func TestRows(t *testing.T) {
	r := row{mode: InRows}
	run := func(n int, pause time.Duration, waits uint64) (queued int) {
		for range n {
			r.last -= pause
			if r.next(waits) {
				queued++
			}
		}
		return queued
	}
	if n := run(10000, 0, 0); n < 100 { // the machine's own pauses may break a row, once it is one they do not
		t.Errorf("%d of 10000 calls in a row were queued", n)
	}
	r = row{mode: InRows}
	if n := run(100, time.Millisecond, 0); n != 0 {
		t.Errorf("%d of 100 calls far apart were queued", n)
	}
	r = row{mode: InRows}
	for w := range uint64(50) {
		if n := run(rowLength-1, 0, w); n != 0 {
			t.Errorf("%d calls of short rows were queued", n)
		}
	}
	for _, mode := range []Mode{Always, Direct} {
		r = row{mode: mode}
		if n := run(10, time.Second, 1); n != 0 && mode == Direct || n != 10 && mode == Always {
			t.Errorf("mode %d: %d of 10 were queued", mode, n)
		}
	}
}

// TestSleeps lets the thread fall asleep in a row: the next call bypasses the queue, and the
// pushed calls are made without another push.
func TestSleeps(t *testing.T) {
	q := newQueue(t, InRows)
	through := 0
	for deadline := time.Now().Add(time.Minute); through == 0 && time.Now().Before(deadline); {
		if q.Ready() {
			push(q, submittest.Note, 1)
			through++
		}
	}
	for deadline := time.Now().Add(time.Minute); q.done() != 1 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if len(submittest.Logged()) != 1 {
		t.Fatal("a call in a row was not made")
	}
	time.Sleep(20 * time.Millisecond)
	if q.Ready() {
		t.Error("a call after a pause went through the queue")
	}
}

// TestThread counts threads: there is one, which ends when idle and with Close.
func TestThread(t *testing.T) {
	before := threads(t)
	q := New(Always)
	submittest.Logged()
	submittest.Open(0)
	defer submittest.Open(1)
	q.Ready()
	push(q, submittest.Note, 1)
	push(q, submittest.Gate, 1) // the thread cannot end before it has been counted
	for deadline := time.Now().Add(time.Minute); threads(t) == before && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond) // until it has its name
	}
	if n := threads(t); n != before+1 {
		t.Errorf("%d threads of queues, want %d", n, before+1)
	}
	submittest.Open(1)
	q.Drain()
	for deadline := time.Now().Add(time.Minute); threads(t) != before && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
	}
	if n := threads(t); n != before {
		t.Errorf("an idle queue keeps its thread: %d", n)
	}
	q.Ready()
	push(q, submittest.Note, 2)
	q.Drain()
	q.Close()
	if n := threads(t); n != before {
		t.Errorf("%d threads after Close, want %d", n, before)
	}
	if got := submittest.Logged(); len(got) != 2 {
		t.Errorf("%v", got)
	}
}

// threads counts the threads of queues, by their names. A thread that has been joined may
// still be listed, and is not counted.
func threads(t *testing.T) (n int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/self/task/[0-9]*/stat")
	if err != nil || len(stats) == 0 {
		t.Skip("threads cannot be counted, which /proc lists on Linux: ", err)
	}
	for _, stat := range stats {
		text, _ := os.ReadFile(stat) // the thread may have ended
		_, rest, ok := strings.Cut(string(text), "(gpk-submit) ")
		if fields := strings.Fields(rest); ok && len(fields) > 6 {
			const exiting = 4 // PF_EXITING of <linux/sched.h>, in proc(5)'s field flags
			if flags, err := strconv.ParseUint(fields[6], 10, 64); err == nil && flags&exiting == 0 {
				n++
			}
		}
	}
	return n
}

// BenchmarkPush measures the caller's time of a call while the thread is idle.
func BenchmarkPush(b *testing.B) {
	q := New(Always)
	defer q.Close()
	for b.Loop() {
		q.Ready()
		push(q, submittest.Note, 1)
	}
	q.Drain()
}

//go:build cgo && linux && (amd64 || arm64) && !nocuda

package submit

/*
#cgo linux LDFLAGS: -lpthread
#cgo noescape gpk_submit_wait
#cgo nocallback gpk_submit_wait
#cgo noescape gpk_submit_room
#cgo nocallback gpk_submit_room
#cgo noescape gpk_submit_wake
#cgo nocallback gpk_submit_wake

#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { GPK_SUBMIT_RECORDS = 256, GPK_SUBMIT_WORDS = 64 };

// The states of the thread: not running, asleep, looking for records.
enum { GPK_SUBMIT_ENDED = 0, GPK_SUBMIT_ASLEEP, GPK_SUBMIT_AWAKE };

// Fields that different threads write are in different cache lines.
typedef struct {
	_Alignas(128) uint64_t head; // records written, by the owner
	_Alignas(128) uint64_t done; // records made or skipped, by the thread
	_Alignas(128) uint32_t state;
	uint32_t stop;
	uint32_t code; // of the first call that failed; 0 if none has
	uint32_t joined; // whether the last thread was joined
	uint64_t failed; // the number of that call
	pthread_t thread;
	_Alignas(128) uint64_t records[GPK_SUBMIT_RECORDS][GPK_SUBMIT_WORDS];
} gpk_submit;

static gpk_submit* gpk_submit_new(void) {
	gpk_submit* q = NULL;
	if (posix_memalign((void**)&q, 128, sizeof *q) != 0) return NULL;
	__builtin_memset(q, 0, sizeof *q);
	q->joined = 1;
	return q;
}

static void gpk_submit_pause(void) {
#if defined(__x86_64__)
	__builtin_ia32_pause();
#else
	__asm__ volatile("yield" ::: "memory");
#endif
}

static int64_t gpk_submit_now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

// gpk_submit_look spins for 50 us for a record after the n-th.
static int gpk_submit_look(gpk_submit* q, uint64_t n) {
	for (int64_t end = gpk_submit_now() + 50000;;) {
		for (int i = 0; i < 32; i++) {
			if (__atomic_load_n(&q->head, __ATOMIC_ACQUIRE) != n) return 1;
			gpk_submit_pause();
		}
		if (__atomic_load_n(&q->stop, __ATOMIC_ACQUIRE) || gpk_submit_now() > end) return 0;
	}
}

// gpk_submit_step makes the n-th call, unless an earlier one failed. more is the number of
// records after it.
static void gpk_submit_step(gpk_submit* q, uint64_t n, uint64_t more) {
	if (more != 0) { // the next record is in the cache of the writer's core
		const char* next = (const char*)q->records[(n + 1) % GPK_SUBMIT_RECORDS];
		for (int i = 0; i < 5 * 64; i += 64) __builtin_prefetch(next + i);
	}
	const uint64_t* r = q->records[n % GPK_SUBMIT_RECORDS];
	if (__atomic_load_n(&q->code, __ATOMIC_RELAXED) == 0) {
		int code = ((int (*)(const uint64_t*))(uintptr_t)r[0])(r + 4);
		if (code != 0) {
			q->failed = n;
			__atomic_store_n(&q->code, (uint32_t)code, __ATOMIC_RELEASE);
		}
	} else if (r[3] != 0) {
		((void (*)(const uint64_t*))(uintptr_t)r[3])(r + 4);
	}
	// A waiting caller polls this cache line, so it is written only for every fourth of many records.
	if (more == 0 || (n + 1) % 4 == 0) __atomic_store_n(&q->done, n + 1, __ATOMIC_RELEASE);
}

static void* gpk_submit_run(void* p) {
	gpk_submit* q = p;
	prctl(PR_SET_NAME, "gpk-submit", 0, 0, 0);
	uint64_t n = __atomic_load_n(&q->done, __ATOMIC_RELAXED), head = n;
	for (;;) {
		if (n == head) head = __atomic_load_n(&q->head, __ATOMIC_ACQUIRE);
		if (n == head && !gpk_submit_look(q, n)) {
			// The writer stores a record and then reads the state; this thread stores the state and
			// then reads head. So at least one of them sees the other's store.
			__atomic_store_n(&q->state, GPK_SUBMIT_ASLEEP, __ATOMIC_SEQ_CST);
			if (__atomic_load_n(&q->head, __ATOMIC_SEQ_CST) == n) {
				struct timespec second = {1, 0};
				if (!__atomic_load_n(&q->stop, __ATOMIC_SEQ_CST)) {
					syscall(SYS_futex, &q->state, FUTEX_WAIT_PRIVATE, GPK_SUBMIT_ASLEEP, &second, NULL, 0);
				}
				uint32_t asleep = GPK_SUBMIT_ASLEEP;
				if (__atomic_compare_exchange_n(&q->state, &asleep, GPK_SUBMIT_ENDED, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return NULL;
				continue;
			}
			uint32_t asleep = GPK_SUBMIT_ASLEEP;
			__atomic_compare_exchange_n(&q->state, &asleep, GPK_SUBMIT_AWAKE, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
			continue;
		}
		if (n != head) {
			gpk_submit_step(q, n, head - n - 1);
			n++;
		}
	}
}

// gpk_submit_wake makes the thread look for records, and starts it if it is not running. If
// that fails, it makes the calls itself.
static int gpk_submit_wake(gpk_submit* q) {
	uint32_t state = GPK_SUBMIT_ASLEEP;
	if (__atomic_compare_exchange_n(&q->state, &state, GPK_SUBMIT_AWAKE, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
		syscall(SYS_futex, &q->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
		return 0;
	}
	if (state == GPK_SUBMIT_AWAKE) return 0;
	if (!q->joined) pthread_join(q->thread, NULL);
	q->joined = 1;
	__atomic_store_n(&q->state, GPK_SUBMIT_AWAKE, __ATOMIC_SEQ_CST);
	// The program's own threads handle its signals.
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int e = pthread_create(&q->thread, NULL, gpk_submit_run, q);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	q->joined = e != 0;
	if (e != 0) { // no thread: make the calls here
		for (uint64_t n = q->done; n != q->head; n++) gpk_submit_step(q, n, 0);
		__atomic_store_n(&q->state, GPK_SUBMIT_ENDED, __ATOMIC_SEQ_CST);
	}
	return e;
}

// gpk_submit_wait returns when n records are done: it spins for 2 ms, then sleeps 20 us at a
// time.
static void gpk_submit_wait(gpk_submit* q, uint64_t n) {
	int64_t end = 0;
	for (int i = 1; (int64_t)(__atomic_load_n(&q->done, __ATOMIC_ACQUIRE) - n) < 0; i++) {
		for (int j = 0; j < 4; j++) gpk_submit_pause();
		if (i % 16 != 0) continue;
		int64_t now = gpk_submit_now();
		if (end == 0) end = now + 2000000;
		if (now > end) {
			struct timespec t = {0, 20000};
			nanosleep(&t, NULL);
		}
	}
}

// gpk_submit_room is gpk_submit_wait for a caller who has filled the ring: it sleeps from the
// start and leaves the processor core to the thread.
static void gpk_submit_room(gpk_submit* q, uint64_t n) {
	while ((int64_t)(__atomic_load_n(&q->done, __ATOMIC_ACQUIRE) - n) < 0) {
		struct timespec t = {0, 20000};
		nanosleep(&t, NULL);
	}
}

static void gpk_submit_close(gpk_submit* q) {
	__atomic_store_n(&q->stop, 1, __ATOMIC_SEQ_CST);
	uint32_t asleep = GPK_SUBMIT_ASLEEP;
	if (__atomic_compare_exchange_n(&q->state, &asleep, GPK_SUBMIT_AWAKE, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
		syscall(SYS_futex, &q->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
	if (!q->joined) pthread_join(q->thread, NULL);
	free(q);
}
*/
import "C"

import (
	"sync/atomic"
	"unsafe"
)

// Queue is a queue of calls for the thread. Drain, Flush and Calls are safe for concurrent
// use; the other methods are for one goroutine at a time. A nil Queue is empty.
type Queue struct {
	c       *C.gpk_submit
	records *[C.GPK_SUBMIT_RECORDS]Record
	head    uint64 // the owner's copy of c's head
	seen    uint64 // done, when last read
	row     row
	waits   atomic.Uint64

	failure *Failure // the first failure since the last Take
	known   uint64   // records before this number are accounted for in failure

	// Stream and Seq are the stream and the sequence number of the next records.
	Stream, Seq uint64
}

// Record and a record of the ring have the same layout.
var _ = [1]struct{}{}[unsafe.Sizeof(Record{})-C.GPK_SUBMIT_WORDS*8]

// New makes a queue. In the mode Direct, and if there is no memory, it returns nil.
func New(mode Mode) *Queue {
	if mode == Direct {
		return nil
	}
	c := C.gpk_submit_new()
	if c == nil {
		return nil
	}
	return &Queue{c: c, records: (*[C.GPK_SUBMIT_RECORDS]Record)(unsafe.Pointer(&c.records)), row: row{mode: mode}}
}

func (q *Queue) published() *uint64 { return (*uint64)(unsafe.Pointer(&q.c.head)) }

func (q *Queue) done() uint64 { return atomic.LoadUint64((*uint64)(unsafe.Pointer(&q.c.done))) }

func (q *Queue) state() uint32 { return atomic.LoadUint32((*uint32)(unsafe.Pointer(&q.c.state))) }

func (q *Queue) code() uint32 { return atomic.LoadUint32((*uint32)(unsafe.Pointer(&q.c.code))) }

// Ready counts a call that is about to be made. If it reports true, call Next and Push;
// otherwise call Flush and make the call directly.
func (q *Queue) Ready() bool {
	if q == nil || !q.row.next(q.waits.Load()) {
		return false
	}
	if q.state() == C.GPK_SUBMIT_AWAKE {
		return true
	}
	if q.row.mode == InRows && q.row.length != rowLength {
		q.row.reset() // the thread slept, so there was a pause
		return false
	}
	return C.gpk_submit_wake(q.c) == 0
}

// Next returns the record of the next call for the caller to fill in. It waits if the ring is
// full.
func (q *Queue) Next() *Record {
	if q.head-q.seen >= waiting {
		if q.seen = q.done(); q.head-q.seen >= waiting {
			C.gpk_submit_room(q.c, C.uint64_t(q.head-waiting/2)) // the other half keeps the thread busy
			q.seen = q.done()
		}
		if q.Failed() { // before this record overwrites one that was skipped
			q.note()
		}
	}
	r := &q.records[q.head%C.GPK_SUBMIT_RECORDS]
	r.Stream, r.Seq, r.Skipped = q.Stream, q.Seq, 0
	return r
}

// waiting is the largest number of records in the ring.
const waiting = C.GPK_SUBMIT_RECORDS

// note adds the skipped records, from the failed one on, to failure.
func (q *Queue) note() {
	if q.failure == nil {
		q.known = uint64(q.c.failed)
		r := &q.records[q.known%C.GPK_SUBMIT_RECORDS]
		q.failure = &Failure{Function: r.Function, Code: int(q.code()), First: map[uint64]uint64{}}
	}
	for ; q.known != q.head; q.known++ {
		r := &q.records[q.known%C.GPK_SUBMIT_RECORDS]
		if _, ok := q.failure.First[r.Stream]; !ok {
			q.failure.First[r.Stream] = r.Seq
		}
	}
}

// Push passes the record of Next to the thread.
func (q *Queue) Push() {
	q.head++
	atomic.StoreUint64(q.published(), q.head)
	if q.state() != C.GPK_SUBMIT_AWAKE {
		C.gpk_submit_wake(q.c)
	}
}

// Drain returns when every call pushed before has been made. It counts as a wait, so it may
// end a row of calls. Any goroutine may call it.
func (q *Queue) Drain() {
	if q != nil {
		q.waits.Add(1)
		q.Flush()
	}
}

// Flush is Drain before a call that bypasses the queue. Unlike Drain, it does not end a row.
func (q *Queue) Flush() {
	if q == nil {
		return
	}
	if head := atomic.LoadUint64(q.published()); q.done() != head {
		C.gpk_submit_wait(q.c, C.uint64_t(head))
	}
}

// Calls returns the number of calls pushed.
func (q *Queue) Calls() uint64 {
	if q == nil {
		return 0
	}
	return atomic.LoadUint64(q.published())
}

// Failed reports whether a call is known to have failed. It stays true until Take.
func (q *Queue) Failed() bool { return q != nil && q.code() != 0 }

// Take drains the queue, returns the failure or nil, and makes the queue accept calls
// again.
func (q *Queue) Take() *Failure {
	q.Drain()
	if !q.Failed() {
		return nil
	}
	q.note()
	f := q.failure
	q.failure = nil
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&q.c.code)), 0)
	return f
}

// Close drains the queue, ends its thread and frees its memory.
func (q *Queue) Close() {
	if q != nil {
		q.Drain()
		C.gpk_submit_close(q.c)
		q.c = nil
	}
}

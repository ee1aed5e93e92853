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

// The states of the thread: there is none, it sleeps, it looks for records.
enum { GPK_SUBMIT_ENDED = 0, GPK_SUBMIT_ASLEEP, GPK_SUBMIT_AWAKE };

// What different threads write lies in different lines of the cache.
typedef struct {
	_Alignas(128) uint64_t head; // records that were written: by the owner
	_Alignas(128) uint64_t done; // of these, carried out or passed over: by the thread
	_Alignas(128) uint32_t state;
	uint32_t stop;
	uint32_t code;   // of the first call that failed; 0: none
	uint32_t joined; // the last thread
	uint64_t failed; // its number
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

// gpk_submit_look waits for a record for a moment.
static int gpk_submit_look(gpk_submit* q, uint64_t n) {
	for (int64_t end = gpk_submit_now() + 50000;;) {
		for (int i = 0; i < 32; i++) {
			if (__atomic_load_n(&q->head, __ATOMIC_ACQUIRE) != n) return 1;
			gpk_submit_pause();
		}
		if (__atomic_load_n(&q->stop, __ATOMIC_ACQUIRE) || gpk_submit_now() > end) return 0;
	}
}

// gpk_submit_step makes the n-th call, unless one before it failed. more says how
// many are behind it.
static void gpk_submit_step(gpk_submit* q, uint64_t n, uint64_t more) {
	if (more != 0) { // the next one is in the cache of who wrote it
		const char* next = (const char*)q->records[(n + 1) % GPK_SUBMIT_RECORDS];
		for (int i = 0; i < 5 * 64; i += 64) __builtin_prefetch(next + i);
	}
	const uint64_t* r = q->records[n % GPK_SUBMIT_RECORDS];
	if (__atomic_load_n(&q->code, __ATOMIC_RELAXED) == 0) {
		int code = ((int (*)(const uint64_t*))(uintptr_t)r[0])(r + 3);
		if (code != 0) {
			q->failed = n;
			__atomic_store_n(&q->code, (uint32_t)code, __ATOMIC_RELEASE);
		}
	}
	// Who waits for a few of many is in no hurry, and the line is in his cache.
	if (more == 0 || (n + 1) % 4 == 0) __atomic_store_n(&q->done, n + 1, __ATOMIC_RELEASE);
}

static void* gpk_submit_run(void* p) {
	gpk_submit* q = p;
	prctl(PR_SET_NAME, "gpk-submit", 0, 0, 0);
	uint64_t n = __atomic_load_n(&q->done, __ATOMIC_RELAXED), head = n;
	for (;;) {
		if (n == head) head = __atomic_load_n(&q->head, __ATOMIC_ACQUIRE);
		if (n == head && !gpk_submit_look(q, n)) {
			// Who writes a record looks at the state behind it, this the other way
			// round: one of them sees the other.
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

// gpk_submit_wake has the thread look for records, and makes it where there is
// none. Where that fails it makes the calls itself.
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
	// Signals are for the threads of the program.
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int e = pthread_create(&q->thread, NULL, gpk_submit_run, q);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	q->joined = e != 0;
	if (e != 0) { // no thread to be had: here, then
		for (uint64_t n = q->done; n != q->head; n++) gpk_submit_step(q, n, 0);
		__atomic_store_n(&q->state, GPK_SUBMIT_ENDED, __ATOMIC_SEQ_CST);
	}
	return e;
}

// gpk_submit_wait returns when n records are carried out: it spins for a while,
// then sleeps in small pieces.
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

// gpk_submit_room is gpk_submit_wait for a caller who has given the thread much to
// do: he sleeps, and leaves it the processor's core.
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

// Queue is calls on their way to the thread. Drain, Flush and
// Calls are for everybody, its other methods for one goroutine at a time; a nil Queue
// has nothing to wait for.
type Queue struct {
	c       *C.gpk_submit
	records *[C.GPK_SUBMIT_RECORDS]Record
	head    uint64 // of c
	seen    uint64 // done, as last looked at
	row     row
	waits   atomic.Uint64

	failure *Failure // what is known of it until Take
	known   uint64   // the records before this one are part of failure

	// Stream and Seq are those of the records to come.
	Stream, Seq uint64
}

// A Record is a record of the ring.
var _ = [1]struct{}{}[unsafe.Sizeof(Record{})-C.GPK_SUBMIT_WORDS*8]

// New makes a queue; nil in the mode Direct and where there is no memory for one.
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

// Ready counts a call that is about to be made, and reports whether it is to go
// through the queue: Next and Push. Where it is not, Flush and make it.
func (q *Queue) Ready() bool {
	if q == nil || !q.row.next(q.waits.Load()) {
		return false
	}
	if q.state() == C.GPK_SUBMIT_AWAKE {
		return true
	}
	if q.row.mode == InRows && q.row.length != rowLength {
		q.row.broken() // it slept: there was a pause
		return false
	}
	return C.gpk_submit_wake(q.c) == 0
}

// Next returns the record of the next call, for the caller to fill in, and
// waits where the ring is full.
func (q *Queue) Next() *Record {
	if q.head-q.seen >= waiting {
		if q.seen = q.done(); q.head-q.seen >= waiting {
			C.gpk_submit_room(q.c, C.uint64_t(q.head-waiting/2)) // the other half keeps the thread busy
			q.seen = q.done()
		}
		if q.Failed() { // the records that were passed over are about to be overwritten
			q.note()
		}
	}
	r := &q.records[q.head%C.GPK_SUBMIT_RECORDS]
	r.Stream, r.Seq = q.Stream, q.Seq
	return r
}

// waiting is how many records are on their way at most.
const waiting = C.GPK_SUBMIT_RECORDS

// note adds the records from the first one that failed to what is known of the
// failure.
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

// Push hands the record of Next over.
func (q *Queue) Push() {
	q.head++
	atomic.StoreUint64(q.published(), q.head)
	if q.state() != C.GPK_SUBMIT_AWAKE {
		C.gpk_submit_wake(q.c)
	}
}

// Drain returns when every call that was pushed before has been made, for
// somebody who waits: a row of calls may end here. It is safe for use by any goroutine.
func (q *Queue) Drain() {
	if q != nil {
		q.waits.Add(1)
		q.Flush()
	}
}

// Flush is Drain for a call that is made beside the queue, and breaks no row.
func (q *Queue) Flush() {
	if q == nil {
		return
	}
	if head := atomic.LoadUint64(q.published()); q.done() != head {
		C.gpk_submit_wait(q.c, C.uint64_t(head))
	}
}

// Calls returns how many calls were pushed.
func (q *Queue) Calls() uint64 {
	if q == nil {
		return 0
	}
	return atomic.LoadUint64(q.published())
}

// Failed reports whether a call has failed, as far as it is known. It is true
// until Take.
func (q *Queue) Failed() bool { return q != nil && q.code() != 0 }

// Take drains the queue, returns what has failed, nil where nothing has, and has
// the queue make calls again.
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

// Close drains the queue, ends its thread and gives the memory back.
func (q *Queue) Close() {
	if q != nil {
		q.Drain()
		C.gpk_submit_close(q.c)
		q.c = nil
	}
}

//go:build cgo && linux && (amd64 || arm64) && !nocuda

// Package submittest has C functions for the tests of queues of calls.
package submittest

/*
#include <sched.h>
#include <stdint.h>

enum { GPK_TEST_ROOM = 1 << 20 };
static uint64_t log_of[GPK_TEST_ROOM];
static uint64_t logged, gate;

static int gpk_test_note(const uint64_t* args) {
	uint64_t n = __atomic_load_n(&logged, __ATOMIC_RELAXED);
	log_of[n % GPK_TEST_ROOM] = args[0];
	__atomic_store_n(&logged, n + 1, __ATOMIC_RELEASE);
	return 0;
}

static int gpk_test_sum(const uint64_t* args) {
	uint64_t s = 0;
	for (int i = 0; i < 60; i++) s += args[i] * (i + 1);
	uint64_t words[] = {s};
	return gpk_test_note(words);
}

static int gpk_test_answer(const uint64_t* args) { return (int)args[0]; }

static int gpk_test_gate(const uint64_t* args) {
	while (__atomic_load_n(&gate, __ATOMIC_ACQUIRE) < args[0]) sched_yield();
	return 0;
}

static uintptr_t gpk_test_function(int which) {
	switch (which) {
	case 0: return (uintptr_t)gpk_test_note;
	case 1: return (uintptr_t)gpk_test_sum;
	case 2: return (uintptr_t)gpk_test_answer;
	}
	return (uintptr_t)gpk_test_gate;
}

static uint64_t gpk_test_logged(void) { return __atomic_load_n(&logged, __ATOMIC_ACQUIRE); }
static uint64_t gpk_test_log(uint64_t i) { return log_of[i % GPK_TEST_ROOM]; }
static void gpk_test_forget(void) { __atomic_store_n(&logged, 0, __ATOMIC_RELEASE); }
static void gpk_test_open(uint64_t n) { __atomic_store_n(&gate, n, __ATOMIC_RELEASE); }
*/
import "C"

// The functions, for the records of a queue. Note logs its first word. Sum logs the sum of
// its words times their numbers, from 1. Answer returns its first word. Gate waits until
// Open has been called with a number that is at least its first word.
var (
	Note   = uintptr(C.gpk_test_function(0))
	Sum    = uintptr(C.gpk_test_function(1))
	Answer = uintptr(C.gpk_test_function(2))
	Gate   = uintptr(C.gpk_test_function(3))
)

// Logged returns the words logged since its last call, at most 2^20. Nothing may be logged
// during the call.
func Logged() []uint64 {
	out := make([]uint64, C.gpk_test_logged())
	for i := range out {
		out[i] = uint64(C.gpk_test_log(C.uint64_t(i)))
	}
	C.gpk_test_forget()
	return out
}

// Open releases the calls of Gate whose word is at most n.
func Open(n uint64) { C.gpk_test_open(C.uint64_t(n)) }

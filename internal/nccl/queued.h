// The calls of a communicator that a launch queue makes. It is a part of library_cuda.go.

// The queue's thread writes running, kind, code and why.
typedef struct {
	uintptr_t context, comm;
	uint32_t ended;    // whether calls are left out, because the communicator ends
	uint32_t running;  // whether a call is being made
	uint32_t users;    // the Comm, and the records that the queue's thread has not reached; atomic
	int32_t code;      // the result of the call that failed; 0: none
	int kind;          // of that call
	char why[GPK_NCCL_WHY];
} gpk_nccl_calls;

enum { GPK_NCCL_SKIPPED = 1 << 20 }; // the queue left a call out, because work before it failed

static gpk_nccl_calls* gpk_nccl_calls_new(uintptr_t context, uintptr_t comm) {
	gpk_nccl_calls* c = calloc(1, sizeof *c);
	if (c == NULL) return NULL;
	c->context = context;
	c->comm = comm;
	c->users = 1;
	return c;
}

static void gpk_nccl_calls_release(gpk_nccl_calls* c) {
	if (__atomic_sub_fetch(&c->users, 1, __ATOMIC_ACQ_REL) == 0) free(c);
}

// gpk_nccl_queued makes a call: arguments are the gpk_nccl_calls and a gpk_nccl_call. A failure is that of the
// communicator and not of the queue, so it returns 0. After a failure no call is made: the ranks no longer agree.
static int gpk_nccl_queued(const uint64_t* args) {
	gpk_nccl_calls* c = (gpk_nccl_calls*)(uintptr_t)args[0];
	const gpk_nccl_call* k = (const gpk_nccl_call*)(args + 1);
	// This thread stores running and then reads ended; the one that ends the communicator stores ended and then reads
	// running. So at least one of them sees the other's store.
	__atomic_store_n(&c->running, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&c->ended, __ATOMIC_SEQ_CST) && c->code == 0) {
		int e = gpk_nccl_run(c->context, c->comm, k, c->why);
		c->kind = k->kind;
		__atomic_store_n(&c->code, e, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&c->running, 0, __ATOMIC_SEQ_CST);
	gpk_nccl_calls_release(c);
	return 0;
}

// gpk_nccl_skipped is called instead where the queue leaves the call out. Another rank would take the next call for
// this one, so the communicator has failed.
static void gpk_nccl_skipped(const uint64_t* args) {
	gpk_nccl_calls* c = (gpk_nccl_calls*)(uintptr_t)args[0];
	if (c->code == 0) __atomic_store_n(&c->code, GPK_NCCL_SKIPPED, __ATOMIC_RELEASE);
	gpk_nccl_calls_release(c);
}

static uintptr_t gpk_nccl_queued_at(void) { return (uintptr_t)gpk_nccl_queued; }

static uintptr_t gpk_nccl_skipped_at(void) { return (uintptr_t)gpk_nccl_skipped; }

static void gpk_nccl_calls_end(gpk_nccl_calls* c) { __atomic_store_n(&c->ended, 1, __ATOMIC_SEQ_CST); }

static int gpk_nccl_calls_running(gpk_nccl_calls* c) { return (int)__atomic_load_n(&c->running, __ATOMIC_SEQ_CST); }

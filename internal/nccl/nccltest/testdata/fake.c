// A libnccl.so.2 over the host's memory, for tests: the ranks of a communicator are threads of one
// process, streams are ignored, and a call returns when its work is done. It checks the
// configuration's prefix. Calls that differ hang until the communicator is aborted.
//
// Environment variables control it. GPK_FAKE_NCCL_VERSION is its version. GPK_FAKE_NCCL is
// FUNCTION:RANK:CODE:TEXT: that function on that rank returns the code, and TEXT is the last error; with
// code 0 it waits until its communicator is aborted. GPK_FAKE_NCCL_LOG names a file that gets a line
// whenever a communicator is made or ended. With GPK_FAKE_NCCL=idle collective calls return at once and move
// nothing: what remains is the time of the caller. GPK_FAKE_NCCL=apart:N is for ranks in several processes, which this
// library does not connect: a communicator is made without the others, its first N collective calls return at once
// and move nothing, and later ones wait until it is aborted.

#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { char bytes[128]; } ncclUniqueId;
typedef struct {
	size_t size;
	unsigned magic, version;
	int blocking, cga, min_ctas, max_ctas;
	const char* net;
	int share, traffic;
	const char* name;
} config_t;

enum { SUCCESS = 0, INTERNAL = 3, ARGUMENT = 4, USAGE = 5, REMOTE = 6 };
enum { ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, BROADCAST, INIT, SPLIT };

typedef struct { int kind, type, op, root; size_t n; const void* send; } call_t;

// A message waits in its group until the receiver has taken it.
typedef struct message {
	int from, to, type, taken;
	size_t n;
	const void* data;
	struct message* next;
} message;

typedef struct group {
	char id[128];
	int ranks, arrived;
	unsigned long generation;
	call_t* calls;
	struct group** split; // by rank, between two meetings
	message* mail;
	struct group* next;
} group;

typedef struct { group* g; int rank, aborted, calls; } comm_t;

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static group* groups;
static int last_id;
static char last_error[256];

static int fail(int code, const char* text) {
	pthread_mutex_lock(&mu);
	snprintf(last_error, sizeof(last_error), "%s", text);
	pthread_mutex_unlock(&mu);
	return code;
}

static void note(const char* what, comm_t* c) {
	const char* path = getenv("GPK_FAKE_NCCL_LOG");
	if (path == NULL || path[0] == 0) return;
	pthread_mutex_lock(&mu);
	FILE* f = fopen(path, "a");
	if (f != NULL) {
		fprintf(f, "%s %p\n", what, (void*)c);
		fclose(f);
	}
	pthread_mutex_unlock(&mu);
}

// hang waits until the communicator is aborted.
static int hang(comm_t* c) {
	pthread_mutex_lock(&mu);
	while (!c->aborted) pthread_cond_wait(&changed, &mu);
	pthread_mutex_unlock(&mu);
	return fail(REMOTE, "aborted");
}

// asked returns the code with which a function of a rank is asked to fail, or -1.
static int asked(const char* function, int rank, comm_t* c) {
	const char* s = getenv("GPK_FAKE_NCCL");
	char name[64], text[128] = "";
	int who, code;
	if (s == NULL || sscanf(s, "%63[^:]:%d:%d:%127[^\n]", name, &who, &code, text) < 3) return -1;
	if (strcmp(name, function) != 0 || who != rank) return -1;
	if (code != 0) return fail(code, text);
	return hang(c);
}

// apart returns how many collective calls return at once if the ranks are in several processes, or -1.
static int apart(void) {
	const char* s = getenv("GPK_FAKE_NCCL");
	int n;
	return s != NULL && sscanf(s, "apart:%d", &n) == 1 ? n : -1;
}

#define FAIL_IF_ASKED(function, comm) { int e_ = asked(function, (comm)->rank, comm); if (e_ >= 0) return e_; }

// meet waits for all ranks, or until this one is aborted.
static int meet(comm_t* c) {
	group* g = c->g;
	pthread_mutex_lock(&mu);
	unsigned long now = g->generation;
	if (++g->arrived == g->ranks) {
		g->arrived = 0;
		g->generation++;
		pthread_cond_broadcast(&changed);
	}
	while (g->generation == now && !c->aborted) pthread_cond_wait(&changed, &mu);
	int done = g->generation != now;
	if (!done) g->arrived--;
	pthread_mutex_unlock(&mu);
	return done ? SUCCESS : fail(REMOTE, "aborted");
}

int ncclGetVersion(int* version) {
	const char* s = getenv("GPK_FAKE_NCCL_VERSION");
	*version = s != NULL && s[0] != 0 ? atoi(s) : 22809;
	return SUCCESS;
}

int ncclGetUniqueId(ncclUniqueId* id) {
	int e = asked("ncclGetUniqueId", 0, NULL);
	if (e >= 0) return e;
	memset(id, 0xa5, sizeof(*id)); // all bytes must be passed on
	pthread_mutex_lock(&mu);
	snprintf(id->bytes, sizeof(id->bytes), "fake %d", ++last_id);
	pthread_mutex_unlock(&mu);
	return SUCCESS;
}

const char* ncclGetLastError(void* comm) { (void)comm; return last_error; }

static int check_config(const config_t* c) {
	int ok = c != NULL && c->size == 56 && c->magic == 0xcafebeef && c->version == 22700 && c->blocking == 1 && c->cga == INT_MIN &&
		c->min_ctas == INT_MIN && c->max_ctas == INT_MIN && c->net == NULL && c->share == INT_MIN && c->traffic == INT_MIN && c->name == NULL;
	return ok ? SUCCESS : fail(ARGUMENT, "the configuration is not the prefix of 2.27");
}

// find returns the group of an ID, which it makes. mu is held.
static group* find(const char* id, int ranks) {
	for (group* g = groups; g != NULL; g = g->next)
		if (memcmp(g->id, id, 128) == 0) return g;
	group* g = calloc(1, sizeof(*g));
	memcpy(g->id, id, 128);
	g->ranks = ranks;
	g->calls = calloc((size_t)ranks, sizeof(call_t));
	g->split = calloc((size_t)ranks, sizeof(group*));
	g->next = groups;
	groups = g;
	return g;
}

static comm_t* make(group* g, int rank) {
	comm_t* c = calloc(1, sizeof(*c));
	c->g = g;
	c->rank = rank;
	return c;
}

int ncclCommInitRankConfig(void** out, int ranks, ncclUniqueId id, int rank, config_t* config) {
	int e = check_config(config);
	if (e == SUCCESS && (e = asked("ncclCommInitRankConfig", rank, NULL)) < 0) e = SUCCESS;
	if (e != SUCCESS) return e;
	pthread_mutex_lock(&mu);
	group* g = find(id.bytes, ranks);
	pthread_mutex_unlock(&mu);
	if (g->ranks != ranks || rank < 0 || rank >= ranks) return fail(ARGUMENT, "ranks");
	comm_t* c = make(g, rank);
	if (apart() < 0 && (e = meet(c)) != SUCCESS) return e;
	note("init", c);
	*out = c;
	return SUCCESS;
}

int ncclCommSplit(comm_t* c, int color, int key, void** out, config_t* config) {
	int e = check_config(config);
	if (e != SUCCESS) return e;
	FAIL_IF_ASKED("ncclCommSplit", c);
	group* g = c->g;
	pthread_mutex_lock(&mu);
	g->calls[c->rank] = (call_t){.kind = SPLIT, .root = color, .op = key};
	pthread_mutex_unlock(&mu);
	if ((e = meet(c)) != SUCCESS) return e;
	*out = NULL;
	int ranks = 0, rank = 0, first = -1;
	for (int i = 0; i < g->ranks; i++) {
		if (g->calls[i].root != color) continue;
		if (first < 0) first = i;
		ranks++;
		rank += g->calls[i].op < key || (g->calls[i].op == key && i < c->rank);
	}
	if (color >= 0 && first == c->rank) {
		ncclUniqueId id;
		ncclGetUniqueId(&id);
		pthread_mutex_lock(&mu);
		g->split[first] = find(id.bytes, ranks);
		pthread_mutex_unlock(&mu);
	}
	if ((e = meet(c)) != SUCCESS) return e;
	if (color >= 0) *out = make(g->split[first], rank);
	if ((e = meet(c)) != SUCCESS) return e;
	if (color >= 0) note("init", *out);
	return SUCCESS;
}

int ncclCommGetAsyncError(comm_t* c, int* result) {
	int e = asked("async", c->rank, c);
	*result = e < 0 ? SUCCESS : e;
	return SUCCESS;
}

int ncclCommAbort(comm_t* c) {
	note("abort", c);
	pthread_mutex_lock(&mu);
	c->aborted = 1;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mu);
	return SUCCESS; // a thread may still use it: it is not freed
}

int ncclCommDestroy(comm_t* c) {
	note("destroy", c);
	return SUCCESS;
}

static float half_to_float(uint16_t h) {
	int exponent = h >> 10 & 31, mantissa = h & 1023;
	float v = exponent == 0 ? mantissa / 16777216.0f : exponent == 31 ? (mantissa != 0 ? 0.0f / 0.0f : 1 / 0.0f) : 0;
	if (exponent > 0 && exponent < 31) {
		v = 1 + mantissa / 1024.0f;
		for (; exponent > 15; exponent--) v *= 2;
		for (; exponent < 15; exponent++) v /= 2;
	}
	return h >> 15 ? -v : v;
}

// half_of rounds to the nearest float16, ties to even.
static uint16_t half_of(float v) {
	uint16_t sign = v < 0 ? 0x8000 : 0;
	float a = v < 0 ? -v : v;
	if (a != a) return 0x7e00;
	uint16_t low = 0, high = 0x7c00;
	while (high - low > 1) {
		uint16_t middle = (uint16_t)((low + high) / 2);
		if (half_to_float(middle) <= a) low = middle; else high = middle;
	}
	float below = a - half_to_float(low), above = half_to_float(high) - a;
	if (above < below || (above == below && (high & 1) == 0)) low = high;
	return sign | low;
}

static float brain_to_float(uint16_t b) {
	uint32_t bits = (uint32_t)b << 16;
	float v;
	memcpy(&v, &bits, 4);
	return v;
}

static uint16_t brain_of(float v) {
	uint32_t bits;
	memcpy(&bits, &v, 4);
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static size_t size_of(int type) {
	static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
	return type >= 0 && type < 10 ? sizes[type] : 0;
}

#define APPLY(a, b) (op == 1 ? (a) * (b) : op == 2 ? ((a) > (b) ? (a) : (b)) : op == 3 ? ((a) < (b) ? (a) : (b)) : (a) + (b))

#define REDUCE(T) { \
	T a = ((const T*)g->calls[0].send)[at]; \
	for (int r = 1; r < g->ranks; r++) { T b = ((const T*)g->calls[r].send)[at]; a = (T)APPLY(a, b); } \
	if (op == 4) a = (T)(a / g->ranks); \
	((T*)out)[i] = a; break; }

#define REDUCE_16(widen, narrow) { \
	float a = widen(((const uint16_t*)g->calls[0].send)[at]); \
	for (int r = 1; r < g->ranks; r++) { float b = widen(((const uint16_t*)g->calls[r].send)[at]); a = APPLY(a, b); } \
	if (op == 4) a /= g->ranks; \
	((uint16_t*)out)[i] = narrow(a); break; }

// reduce reduces element at of all ranks into element i of out.
static void reduce(group* g, int type, int op, void* out, size_t i, size_t at) {
	switch (type) {
	case 0: REDUCE(int8_t)
	case 1: REDUCE(uint8_t)
	case 2: REDUCE(int32_t)
	case 4: REDUCE(int64_t)
	case 6: REDUCE_16(half_to_float, half_of)
	case 7: REDUCE(float)
	case 8: REDUCE(double)
	case 9: REDUCE_16(brain_to_float, brain_of)
	}
}

// collective makes a call with all ranks. It writes results only when all inputs have been read.
static int collective(comm_t* c, call_t k, void* recv) {
	group* g = c->g;
	size_t bytes = k.n * size_of(k.type);
	const char* mode = getenv("GPK_FAKE_NCCL");
	if (mode != NULL && strcmp(mode, "idle") == 0) return SUCCESS;
	if (apart() >= 0) return c->calls++ < apart() ? SUCCESS : hang(c);
	if (bytes == 0) return fail(ARGUMENT, "no elements, or an unknown type");
	pthread_mutex_lock(&mu);
	g->calls[c->rank] = k;
	pthread_mutex_unlock(&mu);
	int e = meet(c);
	if (e != SUCCESS) return e;
	for (int i = 0; i < g->ranks; i++) {
		call_t* o = &g->calls[i];
		if (o->kind != k.kind || o->type != k.type || o->op != k.op || o->root != k.root || o->n != k.n) e = REMOTE;
	}
	if (e != SUCCESS) return hang(c); // as NCCL does
	size_t total = k.kind == ALL_GATHER ? bytes * (size_t)g->ranks : bytes;
	char* out = malloc(total);
	if (e == SUCCESS) switch (k.kind) {
	case ALL_REDUCE:
		for (size_t i = 0; i < k.n; i++) reduce(g, k.type, k.op, out, i, i);
		break;
	case REDUCE_SCATTER:
		for (size_t i = 0; i < k.n; i++) reduce(g, k.type, k.op, out, i, (size_t)c->rank * k.n + i);
		break;
	case ALL_GATHER:
		for (int r = 0; r < g->ranks; r++) memcpy(out + (size_t)r * bytes, g->calls[r].send, bytes);
		break;
	case BROADCAST:
		memcpy(out, g->calls[k.root].send, bytes);
	}
	int end = meet(c);
	if (e == SUCCESS && (e = end) == SUCCESS) memcpy(recv, out, total);
	free(out);
	return e;
}

int ncclAllReduce(const void* send, void* recv, size_t n, int type, int op, comm_t* c, void* stream) {
	(void)stream;
	FAIL_IF_ASKED("ncclAllReduce", c);
	return collective(c, (call_t){ALL_REDUCE, type, op, 0, n, send}, recv);
}

int ncclReduceScatter(const void* send, void* recv, size_t n, int type, int op, comm_t* c, void* stream) {
	(void)stream;
	FAIL_IF_ASKED("ncclReduceScatter", c);
	return collective(c, (call_t){REDUCE_SCATTER, type, op, 0, n, send}, recv);
}

int ncclAllGather(const void* send, void* recv, size_t n, int type, comm_t* c, void* stream) {
	(void)stream;
	FAIL_IF_ASKED("ncclAllGather", c);
	return collective(c, (call_t){ALL_GATHER, type, 0, 0, n, send}, recv);
}

int ncclBroadcast(const void* send, void* recv, size_t n, int type, int root, comm_t* c, void* stream) {
	(void)stream;
	FAIL_IF_ASKED("ncclBroadcast", c);
	return collective(c, (call_t){BROADCAST, type, 0, root, n, send}, recv);
}

// The sends and receives of a thread's group, which are made at its end.
typedef struct { int recv, peer, type; size_t n; void* data; comm_t* c; } pending_t;
static __thread int depth, count, broken; // broken: the code of the group's call that failed
static __thread pending_t list[2 * 64];

int ncclGroupStart(void) { depth++; return SUCCESS; }

static int take(pending_t* p) {
	group* g = p->c->g;
	pthread_mutex_lock(&mu);
	for (;;) {
		for (message* m = g->mail; m != NULL; m = m->next) {
			if (m->taken || m->from != p->peer || m->to != p->c->rank) continue;
			int same = m->n == p->n && m->type == p->type;
			if (same) memcpy(p->data, m->data, p->n * size_of(p->type));
			m->taken = 1;
			pthread_cond_broadcast(&changed);
			pthread_mutex_unlock(&mu);
			return same ? SUCCESS : fail(USAGE, "a message of another length or type");
		}
		if (p->c->aborted) break;
		pthread_cond_wait(&changed, &mu);
	}
	pthread_mutex_unlock(&mu);
	return fail(REMOTE, "aborted");
}

int ncclGroupEnd(void) {
	int e = SUCCESS;
	if (--depth > 0) return SUCCESS;
	if (broken != SUCCESS) { // no call of the group is made
		e = broken;
		broken = count = 0;
		return e;
	}
	message sent[64];
	int sends = 0;
	for (int i = 0; i < count; i++) {
		pending_t* p = &list[i];
		if (p->recv) continue;
		message* m = &sent[sends++];
		*m = (message){p->c->rank, p->peer, p->type, 0, p->n, p->data, NULL};
		pthread_mutex_lock(&mu);
		message** end = &p->c->g->mail;
		while (*end != NULL) end = &(*end)->next;
		*end = m;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&mu);
	}
	for (int i = 0; i < count; i++)
		if (list[i].recv && e == SUCCESS) e = take(&list[i]);
	comm_t* c = count > 0 ? list[0].c : NULL;
	count = 0;
	pthread_mutex_lock(&mu);
	for (int i = 0; i < sends; i++) {
		while (!sent[i].taken && !c->aborted && e == SUCCESS) pthread_cond_wait(&changed, &mu);
		int taken = sent[i].taken;
		message** at = &c->g->mail;
		while (*at != &sent[i]) at = &(*at)->next;
		*at = sent[i].next;
		if (!taken && e == SUCCESS) e = REMOTE;
	}
	if (e == REMOTE) snprintf(last_error, sizeof(last_error), "aborted");
	pthread_mutex_unlock(&mu);
	return e;
}

static int queue(pending_t p) {
	if (count == (int)(sizeof(list) / sizeof(list[0]))) return fail(USAGE, "more calls in a group than the fake has room for");
	ncclGroupStart();
	list[count++] = p;
	return ncclGroupEnd();
}

int ncclSend(const void* send, size_t n, int type, int peer, comm_t* c, void* stream) {
	(void)stream;
	int e = asked("ncclSend", c->rank, c);
	if (e >= 0) return depth > 0 ? (broken = e) : e;
	return queue((pending_t){0, peer, type, n, (void*)(uintptr_t)send, c});
}

int ncclRecv(void* recv, size_t n, int type, int peer, comm_t* c, void* stream) {
	(void)stream;
	int e = asked("ncclRecv", c->rank, c);
	if (e >= 0) return depth > 0 ? (broken = e) : e;
	return queue((pending_t){1, peer, type, n, recv, c});
}

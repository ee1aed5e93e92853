//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cutlass

/*
#cgo noescape gpk_call_words
#cgo nocallback gpk_call_words

#include "entry.h"
#include "src/gpk.h"
#include "src/gpk_attention.h"
#include "src/gpk_layers.h"

// The entry points with a queue's calling convention: the function, then its arguments, one 64-bit word
// each. Shape and strides are last, ndim words each.
static double gpk_word_double(uint64_t word) {
	union { uint64_t word; double number; } u = {word};
	return u.number;
}

static int gpk_queued_gemm(const uint64_t* a) {
	return GPK_AT(gpk_gemm, a[0])((int)a[1], a[2], (int)a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15],
	                              a[16], a[17], (int)a[18], gpk_word_double(a[19]), gpk_word_double(a[20]), a[21], a[22], a[23], a[24],
	                              (int)a[25], a[26], a[27], a[28], a[29], a[30]);
}

static int gpk_queued_unary(const uint64_t* a) {
	const int64_t* n = (const int64_t*)(a + 9);
	int const d = (int)a[6];
	return GPK_AT(gpk_unary, a[0])((int)a[1], a[2], (int)a[3], (int)a[4], (int)a[5], d, n, a[7], n + d, a[8], n + 2 * d);
}

static int gpk_queued_cast(const uint64_t* a) {
	const int64_t* n = (const int64_t*)(a + 8);
	int const d = (int)a[5];
	return GPK_AT(gpk_cast, a[0])((int)a[1], a[2], (int)a[3], (int)a[4], d, n, a[6], n + d, a[7], n + 2 * d);
}

static int gpk_queued_binary(const uint64_t* a) {
	const int64_t* n = (const int64_t*)(a + 12);
	int const d = (int)a[6];
	return GPK_AT(gpk_binary, a[0])((int)a[1], a[2], (int)a[3], (int)a[4], (int)a[5], d, n, a[7], n + d, a[8], n + 2 * d, a[9], a[10], a[11],
	                                n + 3 * d);
}

static int gpk_queued_ternary(const uint64_t* a) {
	const int64_t* n = (const int64_t*)(a + 14);
	int const d = (int)a[5];
	return GPK_AT(gpk_ternary, a[0])((int)a[1], a[2], (int)a[3], (int)a[4], d, n, a[6], n + d, a[7], n + 2 * d, a[8], n + 3 * d, a[9], a[10],
	                                 a[11], a[12], a[13], n + 4 * d);
}

static int gpk_queued_fill(const uint64_t* a) {
	const int64_t* n = (const int64_t*)(a + 8);
	int const d = (int)a[4];
	return GPK_AT(gpk_fill, a[0])((int)a[1], a[2], (int)a[3], d, n, a[5], a[6], a[7], n + d);
}

static int gpk_queued_line(const uint64_t* a) {
	const int64_t* n = (const int64_t*)(a + 12);
	int const d = (int)a[6];
	return GPK_AT(gpk_line, a[0])((int)a[1], a[2], (int)a[3], (int)a[4], (int)a[5], d, n, a[7], n + d, a[8], n + 2 * d, a[9], a[10],
	                              gpk_word_double(a[11]));
}

static int gpk_queued_reduce(const uint64_t* a) {
	const int64_t* n = (const int64_t*)(a + 12);
	int const d = (int)a[6];
	return GPK_AT(gpk_reduce, a[0])((int)a[1], a[2], (int)a[3], (int)a[4], (int)a[5], d, n, (uint32_t)a[7], a[8], n + d, a[9], a[10], a[11]);
}

static int gpk_queued_pad(const uint64_t* a) {
	return GPK_AT(gpk_pad, a[0])((int)a[1], a[2], (int)a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15], a[16],
	                             a[17], a[18], a[19], a[20], a[21], a[22], a[23], a[24], a[25]);
}

// gpk_call_words calls a function with a queue's calling convention.
static int gpk_call_words(uintptr_t f, const uint64_t* a) { return ((int (*)(const uint64_t*))f)(a); }

GPK_QUEUED_AT(gemm)
GPK_QUEUED_AT(unary)
GPK_QUEUED_AT(cast)
GPK_QUEUED_AT(binary)
GPK_QUEUED_AT(ternary)
GPK_QUEUED_AT(fill)
GPK_QUEUED_AT(line)
GPK_QUEUED_AT(reduce)
GPK_QUEUED_AT(pad)
GPK_QUEUED(attention)
GPK_QUEUED(embed_norm)
GPK_QUEUED(pool)
GPK_QUEUED(norm_residual)
*/
import "C"

import (
	"unsafe"

	"github.com/gpk-go/gpk/internal/submit"
)

// queuedEntries is the number of entries, with the unused 0.
const queuedEntries = entryNormResidual + 1

// queued has the name of each entry point that a queue can call, and the C function that the queue calls for it.
var queued = [queuedEntries]struct {
	name     string
	function uintptr
}{
	entryGemm:         {"gpk_gemm", uintptr(C.gpk_queued_gemm_at())},
	entryPad:          {"gpk_pad", uintptr(C.gpk_queued_pad_at())},
	entryUnary:        {"gpk_unary", uintptr(C.gpk_queued_unary_at())},
	entryCast:         {"gpk_cast", uintptr(C.gpk_queued_cast_at())},
	entryBinary:       {"gpk_binary", uintptr(C.gpk_queued_binary_at())},
	entryTernary:      {"gpk_ternary", uintptr(C.gpk_queued_ternary_at())},
	entryFill:         {"gpk_fill", uintptr(C.gpk_queued_fill_at())},
	entryLine:         {"gpk_line", uintptr(C.gpk_queued_line_at())},
	entryReduce:       {"gpk_reduce", uintptr(C.gpk_queued_reduce_at())},
	entryAttention:    {"gpk_attention", uintptr(C.gpk_queued_attention_at())},
	entryEmbedNorm:    {"gpk_embed_norm", uintptr(C.gpk_queued_embed_norm_at())},
	entryPool:         {"gpk_pool", uintptr(C.gpk_queued_pool_at())},
	entryNormResidual: {"gpk_norm_residual", uintptr(C.gpk_queued_norm_residual_at())},
}

// calls has the entry points that Library calls at once and Submitted through a queue.
type calls struct {
	lib    *Library
	queue  *submit.Queue // nil: at once
	unmade func() error
	made   map[kind]struct{} // the kinds of the queue's calls
	last   kind              // the most recently used element of made
}

// Submitted provides some entry points of a library through a queue. The first call of each
// kind is made directly, so that its caller gets the library's error. Like its queue it is
// for one goroutine at a time.
type Submitted struct{ calls }

// Submit returns the library's entry points through a queue. unmade returns the error of
// queued work, if any; then no direct call is made.
func (l *Library) Submit(q *submit.Queue, unmade func() error) *Submitted {
	return &Submitted{calls{lib: l, queue: q, unmade: unmade, made: map[kind]struct{}{}}}
}

// Failure returns the error of a call that the queue made.
func (s *Submitted) Failure(function uintptr, code int) error {
	name := ""
	for _, q := range queued {
		if q.function == function {
			name = q.name
		}
	}
	return s.lib.failure(name, code)
}

// call calls an entry point. Its arguments are words and, after them, a shape and strides.
func (c *calls) call(k kind, words []uint64, dims ...[]int) error {
	if len(dims) > 0 {
		if err := checkDims(queued[k.entry].name, dims[0], dims[1:]...); err != nil {
			return err
		}
	}
	if c.queue == nil {
		return c.direct(k.entry, words, dims)
	}
	if k != c.last {
		if _, ok := c.made[k]; !ok {
			return c.first(k, words, dims)
		}
		c.last = k
	}
	r := c.queue.Next()
	r.Function = queued[k.entry].function
	c.setArgs(&r.Args, k.entry, words, dims)
	c.queue.Push()
	return nil
}

// first makes the queue's first call of a kind.
func (c *calls) first(k kind, words []uint64, dims [][]int) error {
	c.queue.Drain()
	err := c.unmade()
	if err == nil {
		err = c.direct(k.entry, words, dims)
	}
	if err == nil {
		c.made[k] = struct{}{}
	}
	return err
}

// direct makes a call at once.
func (c *calls) direct(entry queuedEntry, words []uint64, dims [][]int) error {
	var args [submit.Words]uint64
	c.setArgs(&args, entry, words, dims)
	q := &queued[entry]
	return c.lib.check(q.name, C.gpk_call_words(C.uintptr_t(q.function), (*C.uint64_t)(&args[0])))
}

// setArgs sets the arguments of a function that a queue calls: the entry point's address, words, a shape and strides.
func (c *calls) setArgs(args *[submit.Words]uint64, entry queuedEntry, words []uint64, dims [][]int) {
	args[0] = uint64(c.lib.entries.queued[entry])
	at := 1 + copy(args[1:], words)
	for _, list := range dims {
		for _, n := range list {
			args[at] = uint64(n)
			at++
		}
	}
}

// wordsOf returns the words of a structure for a C entry point.
func wordsOf[T any](args *T) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(args)), unsafe.Sizeof(*args)/8)
}

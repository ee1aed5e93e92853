//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cutlass

/*
#cgo noescape gpk_call_search
#cgo nocallback gpk_call_search
#cgo noescape gpk_call_count
#cgo nocallback gpk_call_count
#cgo noescape gpk_call_last
#cgo nocallback gpk_call_last

#include "entry.h"
#include "src/gpk_search.h"

static int gpk_call_search(uintptr_t f, const gpk_search_args* args) { return GPK_AS(gpk_search)(args); }
static int gpk_call_count(uintptr_t f, const gpk_count_args* args) { return GPK_AS(gpk_count)(args); }
static int gpk_call_last(uintptr_t f, const gpk_count_args* args) { return GPK_AS(gpk_last)(args); }
*/
import "C"

import "unsafe"

// searchEntries are the library's functions that search in sorted lists and look through integers.
type searchEntries struct {
	search, count, last C.uintptr_t
}

// Search enqueues dst = the indices of values in a sorted list.
func (l *Library) Search(device int, stream uint64, s *Search) error {
	args := C.gpk_search_args{
		size: C.uint64_t(unsafe.Sizeof(C.gpk_search_args{})), stream: C.uint64_t(stream), device: C.int32_t(device), _type: C.int32_t(s.Type),
		list: C.uint64_t(s.List), values: C.uint64_t(s.Values), dst: C.uint64_t(s.Dst), n: C.int64_t(s.N), count: C.int64_t(s.Count), right: flag(s.Right),
	}
	return l.check("gpk_search", C.gpk_call_search(l.entries.search, &args))
}

func (c *Count) args(device int, stream uint64) C.gpk_count_args {
	return C.gpk_count_args{
		size: C.uint64_t(unsafe.Sizeof(C.gpk_count_args{})), stream: C.uint64_t(stream), device: C.int32_t(device),
		x: C.uint64_t(c.X), dst: C.uint64_t(c.Dst), n: C.int64_t(c.N), count: C.int64_t(c.Count),
	}
}

// Count enqueues dst = the number of elements of x that equal each integer below N.
func (l *Library) Count(device int, stream uint64, c *Count) error {
	args := c.args(device, stream)
	return l.check("gpk_count", C.gpk_call_count(l.entries.count, &args))
}

// Last enqueues dst = the index of the last element of x that equals each integer below N, or -1.
func (l *Library) Last(device int, stream uint64, c *Count) error {
	args := c.args(device, stream)
	return l.check("gpk_last", C.gpk_call_last(l.entries.last, &args))
}

//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cutlass

/*
#cgo noescape gpk_call_stack
#cgo nocallback gpk_call_stack

#include "entry.h"
#include "src/gpk_stack.h"

static int gpk_call_stack(uintptr_t f, int device, uint64_t stream, uint64_t dst, int64_t bytes, int count, const uint64_t* sources) {
	return GPK_AS(gpk_stack)(device, stream, dst, bytes, count, sources);
}
*/
import "C"

import "unsafe"

// stackEntries are the library's functions that copy many arrays into one.
type stackEntries struct {
	stack C.uintptr_t
}

// StackSources is the maximum number of arrays per Stack.
const StackSources = C.GPK_STACK_SOURCES

// Stack enqueues a copy of `bytes` bytes of each source to dst, one after the other. There
// are at most StackSources sources.
func (l *Library) Stack(device int, stream, dst uint64, bytes int, sources []uint64) error {
	return l.check("gpk_stack", C.gpk_call_stack(l.entries.stack, C.int(device), C.uint64_t(stream), C.uint64_t(dst), C.int64_t(bytes),
		C.int(len(sources)), (*C.uint64_t)(unsafe.SliceData(sources))))
}

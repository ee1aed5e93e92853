//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cutlass

/*
#cgo noescape gpk_call_stack
#cgo nocallback gpk_call_stack
#cgo noescape gpk_call_triangle
#cgo nocallback gpk_call_triangle

#include "entry.h"
#include "src/gpk_stack.h"

static int gpk_call_stack(uintptr_t f, int device, uint64_t stream, uint64_t dst, int64_t bytes, int count, const uint64_t* sources) {
	return GPK_AS(gpk_stack)(device, stream, dst, bytes, count, sources);
}

static int gpk_call_triangle(uintptr_t f, int device, uint64_t stream, int bytes, uint64_t x, uint64_t dst, int64_t batch, int64_t rows, int64_t cols, int64_t diagonal, int upper) {
	return GPK_AS(gpk_triangle)(device, stream, bytes, x, dst, batch, rows, cols, diagonal, upper);
}
*/
import "C"

import "unsafe"

// stackEntries are the library's functions that copy many arrays into one, and triangles of matrices.
type stackEntries struct {
	stack, triangle C.uintptr_t
}

// StackSources is the maximum number of arrays per Stack.
const StackSources = C.GPK_STACK_SOURCES

// Stack enqueues a copy of `bytes` bytes of each source to dst, one after the other. There
// are at most StackSources sources.
func (l *Library) Stack(device int, stream, dst uint64, bytes int, sources []uint64) error {
	return l.check("gpk_stack", C.gpk_call_stack(l.entries.stack, C.int(device), C.uint64_t(stream), C.uint64_t(dst), C.int64_t(bytes),
		C.int(len(sources)), (*C.uint64_t)(unsafe.SliceData(sources))))
}

// Triangle enqueues a copy of a triangle of each matrix. The other elements become 0.
func (l *Library) Triangle(device int, stream uint64, t *Triangle) error {
	return l.check("gpk_triangle", C.gpk_call_triangle(l.entries.triangle, C.int(device), C.uint64_t(stream), C.int(t.Bytes), C.uint64_t(t.X),
		C.uint64_t(t.Dst), C.int64_t(t.Batch), C.int64_t(t.Rows), C.int64_t(t.Cols), C.int64_t(t.Diagonal), C.int(flag(t.Upper))))
}

//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cutlass

/*
#cgo noescape gpk_call_take
#cgo nocallback gpk_call_take
#cgo noescape gpk_call_sort_workspace
#cgo nocallback gpk_call_sort_workspace
#cgo noescape gpk_call_sort
#cgo nocallback gpk_call_sort
#cgo noescape gpk_call_topk
#cgo nocallback gpk_call_topk

#include "entry.h"
#include "src/gpk.h"

static int gpk_call_take(uintptr_t f, int device, uint64_t stream, int type, int index_type, int ndim, const int64_t* shape,
                         uint64_t x, const int64_t* x_strides, int64_t length, int64_t step, uint64_t indices,
                         const int64_t* index_strides, uint64_t dst, const int64_t* dst_strides, uint64_t flags) {
	return GPK_AS(gpk_take)(device, stream, type, index_type, ndim, shape, x, x_strides, length, step, indices, index_strides, dst, dst_strides, flags);
}

static int64_t gpk_call_sort_workspace(uintptr_t f, int device, int type, int ndim, const int64_t* shape, int64_t k) {
	return GPK_AS(gpk_sort_workspace)(device, type, ndim, shape, k);
}

static int gpk_call_sort(uintptr_t f, int device, uint64_t stream, int type, int ndim, const int64_t* shape, uint64_t x,
                         const int64_t* x_strides, uint64_t dst, const int64_t* dst_strides, int descending,
                         uint64_t workspace, int64_t workspace_bytes) {
	return GPK_AS(gpk_sort)(device, stream, type, ndim, shape, x, x_strides, dst, dst_strides, descending, workspace, workspace_bytes);
}

static int gpk_call_topk(uintptr_t f, int device, uint64_t stream, int type, int ndim, const int64_t* shape, uint64_t x,
                         const int64_t* x_strides, int64_t k, uint64_t values, const int64_t* value_strides,
                         uint64_t places, const int64_t* place_strides, uint64_t workspace, int64_t workspace_bytes) {
	return GPK_AS(gpk_topk)(device, stream, type, ndim, shape, x, x_strides, k, values, value_strides, places, place_strides, workspace, workspace_bytes);
}
*/
import "C"

import "github.com/gpk-go/gpk/dtype"

// indexEntries are the library's functions that gather and sort elements.
type indexEntries struct {
	take, sortSpace, sort, topk C.uintptr_t
}

// Take enqueues the copy of elements of x, selected along an axis of the given length by
// indices of type indexType; shape is that of dst. If dst is 0, the indices are only
// checked. Indices outside the axis are recorded in the two int64 at flags.
func (l *Library) Take(device int, stream uint64, typ, indexType dtype.DType, shape []int, x uint64, xStrides []int, length, step int,
	indices uint64, indexStrides []int, dst uint64, dstStrides []int, flags uint64,
) error {
	if err := checkDims("gpk_take", shape, xStrides, indexStrides, dstStrides); err != nil {
		return err
	}
	return l.check("gpk_take", C.gpk_call_take(l.entries.take, C.int(device), C.uint64_t(stream), C.int(typ), C.int(indexType),
		C.int(len(shape)), numbers(shape), C.uint64_t(x), numbers(xStrides), C.int64_t(length), C.int64_t(step),
		C.uint64_t(indices), numbers(indexStrides), C.uint64_t(dst), numbers(dstStrides), C.uint64_t(flags)))
}

// SortWorkspace returns the bytes of workspace that Sort (k = 0) or TopK needs.
func (l *Library) SortWorkspace(device int, typ dtype.DType, shape []int, k int) (int64, error) {
	if err := checkDims("gpk_sort_workspace", shape); err != nil {
		return 0, err
	}
	return l.bytes("gpk_sort_workspace", C.gpk_call_sort_workspace(l.entries.sortSpace, C.int(device), C.int(typ),
		C.int(len(shape)), numbers(shape), C.int64_t(k)))
}

// Sort enqueues dst = x sorted along the last dimension.
func (l *Library) Sort(device int, stream uint64, typ dtype.DType, shape []int, x uint64, xStrides []int, dst uint64, dstStrides []int,
	descending bool, workspace uint64, workspaceBytes int64,
) error {
	if err := checkDims("gpk_sort", shape, xStrides, dstStrides); err != nil {
		return err
	}
	falling := C.int(0)
	if descending {
		falling = 1
	}
	return l.check("gpk_sort", C.gpk_call_sort(l.entries.sort, C.int(device), C.uint64_t(stream), C.int(typ),
		C.int(len(shape)), numbers(shape), C.uint64_t(x), numbers(xStrides), C.uint64_t(dst), numbers(dstStrides),
		falling, C.uint64_t(workspace), C.int64_t(workspaceBytes)))
}

// TopK enqueues the k largest elements of each line along the last dimension of x, whose
// shape is given, and their indices.
func (l *Library) TopK(device int, stream uint64, typ dtype.DType, shape []int, x uint64, xStrides []int, k int,
	values uint64, valueStrides []int, places uint64, placeStrides []int, workspace uint64, workspaceBytes int64,
) error {
	if err := checkDims("gpk_topk", shape, xStrides, valueStrides, placeStrides); err != nil {
		return err
	}
	return l.check("gpk_topk", C.gpk_call_topk(l.entries.topk, C.int(device), C.uint64_t(stream), C.int(typ),
		C.int(len(shape)), numbers(shape), C.uint64_t(x), numbers(xStrides), C.int64_t(k), C.uint64_t(values), numbers(valueStrides),
		C.uint64_t(places), numbers(placeStrides), C.uint64_t(workspace), C.int64_t(workspaceBytes)))
}

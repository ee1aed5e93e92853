//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cutlass

/*
#cgo noescape gpk_call_search
#cgo nocallback gpk_call_search
#cgo noescape gpk_call_count
#cgo nocallback gpk_call_count
#cgo noescape gpk_call_count_trues
#cgo nocallback gpk_call_count_trues
#cgo noescape gpk_call_place_trues
#cgo nocallback gpk_call_place_trues
#cgo noescape gpk_call_put_along
#cgo nocallback gpk_call_put_along

#include "entry.h"
#include "src/gpk_search.h"

static int gpk_call_search(uintptr_t f, const gpk_search_args* args) { return GPK_AS(gpk_search)(args); }
static int gpk_call_count(uintptr_t f, const gpk_count_args* args) { return GPK_AS(gpk_count)(args); }
static int gpk_call_count_trues(uintptr_t f, const gpk_trues_args* args) { return GPK_AS(gpk_count_trues)(args); }
static int gpk_call_place_trues(uintptr_t f, const gpk_trues_args* args) { return GPK_AS(gpk_place_trues)(args); }
static int gpk_call_put_along(uintptr_t f, const gpk_put_along_args* args) { return GPK_AS(gpk_put_along)(args); }
*/
import "C"

import "unsafe"

// The constants of library_search.go equal those of src/gpk_search.h.
const (
	_ = uint(C.GPK_MASK_TILE-MaskTile) + uint(MaskTile-C.GPK_MASK_TILE)
	_ = uint(C.GPK_TRUE_COORDINATES-TrueCoordinates) + uint(TrueCoordinates-C.GPK_TRUE_COORDINATES)
	_ = uint(C.GPK_TRUE_ELEMENTS-TrueElements) + uint(TrueElements-C.GPK_TRUE_ELEMENTS)
	_ = uint(C.GPK_TRUE_DISTINCT-TrueDistinct) + uint(TrueDistinct-C.GPK_TRUE_DISTINCT)
)

// searchEntries are the library's functions of src/gpk_search.h.
type searchEntries struct {
	search, count, countTrues, placeTrues, putAlong C.uintptr_t
}

// Search enqueues dst = the indices of values in a sorted list.
func (l *Library) Search(device int, stream uint64, s *Search) error {
	args := C.gpk_search_args{
		size: C.uint64_t(unsafe.Sizeof(C.gpk_search_args{})), stream: C.uint64_t(stream), device: C.int32_t(device), _type: C.int32_t(s.Type),
		list: C.uint64_t(s.List), values: C.uint64_t(s.Values), dst: C.uint64_t(s.Dst), n: C.int64_t(s.N), count: C.int64_t(s.Count), right: flag(s.Right),
	}
	return l.check("gpk_search", C.gpk_call_search(l.entries.search, &args))
}

// Count enqueues dst = the number of elements of x that equal each integer below N.
func (l *Library) Count(device int, stream uint64, c *Count) error {
	args := C.gpk_count_args{
		size: C.uint64_t(unsafe.Sizeof(C.gpk_count_args{})), stream: C.uint64_t(stream), device: C.int32_t(device),
		x: C.uint64_t(c.X), dst: C.uint64_t(c.Dst), n: C.int64_t(c.N), count: C.int64_t(c.Count),
	}
	return l.check("gpk_count", C.gpk_call_count(l.entries.count, &args))
}

func (t *Trues) args(device int, stream uint64) (C.gpk_trues_args, error) {
	args := C.gpk_trues_args{
		size: C.uint64_t(unsafe.Sizeof(C.gpk_trues_args{})), stream: C.uint64_t(stream), device: C.int32_t(device),
		mask: C.uint64_t(t.Mask), offsets: C.uint64_t(t.Offsets), total: C.uint64_t(t.Total), n: C.int64_t(t.N), lead: flag(t.Lead),
		op: C.int32_t(t.Op), _type: C.int32_t(t.Type), x: C.uint64_t(t.X), all: C.uint64_t(t.All), firsts: C.uint64_t(t.Firsts), count: C.int64_t(t.Count),
		ndim: C.int32_t(len(t.Shape)),
	}
	if err := checkDims("gpk_place_trues", make([]int, max(len(t.Dst), len(t.Shape)))); err != nil {
		return args, err
	}
	for d, address := range t.Dst {
		args.dst[d] = C.uint64_t(address)
	}
	for d, n := range t.Shape {
		args.shape[d] = C.int64_t(n)
	}
	return args, nil
}

// CountTrues enqueues the count of the true elements of a mask, of all and before each tile.
func (l *Library) CountTrues(device int, stream uint64, t *Trues) error {
	args, err := t.args(device, stream)
	if err != nil {
		return err
	}
	return l.check("gpk_count_trues", C.gpk_call_count_trues(l.entries.countTrues, &args))
}

// PlaceTrues enqueues the results of the true elements of a mask.
func (l *Library) PlaceTrues(device int, stream uint64, t *Trues) error {
	args, err := t.args(device, stream)
	if err != nil {
		return err
	}
	return l.check("gpk_place_trues", C.gpk_call_place_trues(l.entries.placeTrues, &args))
}

// PutAlong enqueues dst = x with values at indices along an axis.
func (l *Library) PutAlong(device int, stream uint64, p *PutAlong) error {
	args := C.gpk_put_along_args{
		size: C.uint64_t(unsafe.Sizeof(C.gpk_put_along_args{})), stream: C.uint64_t(stream), device: C.int32_t(device),
		x: C.uint64_t(p.X), indices: C.uint64_t(p.Indices), values: C.uint64_t(p.Values), dst: C.uint64_t(p.Dst),
		workspace: C.uint64_t(p.Workspace), workspace_bytes: C.int64_t(p.WorkspaceBytes), flags: C.uint64_t(p.Flags),
		outer: C.int64_t(p.Outer), n: C.int64_t(p.N), count: C.int64_t(p.Count), inner: C.int64_t(p.Inner),
		bytes: C.int32_t(p.Bytes), index_type: C.int32_t(p.IndexType), splat: flag(p.Splat),
	}
	return l.check("gpk_put_along", C.gpk_call_put_along(l.entries.putAlong, &args))
}

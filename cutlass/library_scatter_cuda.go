//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cutlass

/*
#cgo noescape gpk_call_scatter_add_workspace
#cgo nocallback gpk_call_scatter_add_workspace
#cgo noescape gpk_call_scatter_add
#cgo nocallback gpk_call_scatter_add

#include "entry.h"
#include "src/gpk_scatter.h"

static int64_t gpk_call_scatter_add_workspace(uintptr_t f, const gpk_scatter_add_args* args) { return GPK_AS(gpk_scatter_add_workspace)(args); }
static int gpk_call_scatter_add(uintptr_t f, const gpk_scatter_add_args* args) { return GPK_AS(gpk_scatter_add)(args); }
*/
import "C"

import "unsafe"

// scatterEntries are the library's functions that add rows at indices.
type scatterEntries struct {
	scatterAddSpace, scatterAdd C.uintptr_t
}

func (s *ScatterAdd) args(device int, stream uint64) C.gpk_scatter_add_args {
	return C.gpk_scatter_add_args{
		size: C.uint64_t(unsafe.Sizeof(C.gpk_scatter_add_args{})), stream: C.uint64_t(stream), device: C.int32_t(device), _type: C.int32_t(s.Type),
		x: C.uint64_t(s.X), places: C.uint64_t(s.Places), values: C.uint64_t(s.Values), dst: C.uint64_t(s.Dst),
		workspace: C.uint64_t(s.Workspace), workspace_bytes: C.int64_t(s.WorkspaceBytes),
		n: C.int64_t(s.N), count: C.int64_t(s.Count), width: C.int64_t(s.Width),
		flags: C.uint64_t(s.Flags), index_type: C.int32_t(s.IndexType), splat: flag(s.Splat),
	}
}

// ScatterAddWorkspace returns the bytes of workspace that ScatterAdd needs.
func (l *Library) ScatterAddWorkspace(device int, s *ScatterAdd) (int64, error) {
	args := s.args(device, 0)
	return l.bytes("gpk_scatter_add_workspace", C.gpk_call_scatter_add_workspace(l.entries.scatterAddSpace, &args))
}

// ScatterAdd enqueues dst = x with rows of values added at indices.
func (l *Library) ScatterAdd(device int, stream uint64, s *ScatterAdd) error {
	args := s.args(device, stream)
	return l.check("gpk_scatter_add", C.gpk_call_scatter_add(l.entries.scatterAdd, &args))
}

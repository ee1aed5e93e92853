//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cutlass

/*
#cgo noescape gpk_call_cum_sum_workspace
#cgo nocallback gpk_call_cum_sum_workspace
#cgo noescape gpk_call_cum_sum
#cgo nocallback gpk_call_cum_sum

#include "entry.h"
#include "src/gpk_scan.h"

static int64_t gpk_call_cum_sum_workspace(uintptr_t f, const gpk_cum_sum_args* args) { return GPK_AS(gpk_cum_sum_workspace)(args); }
static int gpk_call_cum_sum(uintptr_t f, const gpk_cum_sum_args* args) { return GPK_AS(gpk_cum_sum)(args); }
*/
import "C"

import "unsafe"

// scanEntries are the library's functions for cumulative sums, products and extremes.
type scanEntries struct {
	cumSumSpace, cumSum C.uintptr_t
}

// args returns C's struct. CumSumWorkspace passes no strides.
func (c *CumSum) args(device int, stream uint64) C.gpk_cum_sum_args {
	args := C.gpk_cum_sum_args{
		size: C.uint64_t(unsafe.Sizeof(C.gpk_cum_sum_args{})), stream: C.uint64_t(stream), device: C.int32_t(device), _type: C.int32_t(c.Type), op: C.int32_t(c.Op),
		x: C.uint64_t(c.X), dst: C.uint64_t(c.Dst), workspace: C.uint64_t(c.Workspace), workspace_bytes: C.int64_t(c.WorkspaceBytes), ndim: C.int32_t(len(c.Shape)),
	}
	for d, n := range c.Shape {
		args.shape[d] = C.int64_t(n)
	}
	for d, n := range c.XStrides {
		args.x_strides[d] = C.int64_t(n)
	}
	for d, n := range c.DstStrides {
		args.dst_strides[d] = C.int64_t(n)
	}
	return args
}

// CumSumWorkspace returns the size in bytes of the workspace that CumSum needs. It returns 0 if a block computes a line, as
// in Line.
func (l *Library) CumSumWorkspace(device int, c *CumSum) (int64, error) {
	if err := checkDims("gpk_cum_sum_workspace", c.Shape); err != nil {
		return 0, err
	}
	args := c.args(device, 0)
	return l.bytes("gpk_cum_sum_workspace", C.gpk_call_cum_sum_workspace(l.entries.cumSumSpace, &args))
}

// CumSum enqueues dst = the cumulative results of x along the last dimension.
func (l *Library) CumSum(device int, stream uint64, c *CumSum) error {
	if err := checkDims("gpk_cum_sum", c.Shape, c.XStrides, c.DstStrides); err != nil {
		return err
	}
	args := c.args(device, stream)
	return l.check("gpk_cum_sum", C.gpk_call_cum_sum(l.entries.cumSum, &args))
}

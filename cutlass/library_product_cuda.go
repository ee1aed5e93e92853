//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cutlass

/*
#cgo noescape gpk_call_gemm_workspace
#cgo nocallback gpk_call_gemm_workspace
#cgo noescape gpk_call_prepare_workspace
#cgo nocallback gpk_call_prepare_workspace
#cgo noescape gpk_call_prepare
#cgo nocallback gpk_call_prepare

#include "entry.h"
#include "src/gpk.h"

static int64_t gpk_call_gemm_workspace(uintptr_t f, int device, int kernel, int64_t m, int64_t n, int64_t k, int64_t batch) {
	return GPK_AS(gpk_gemm_workspace)(device, kernel, m, n, k, batch);
}

static int64_t gpk_call_prepare_workspace(uintptr_t f, int device, int type, int form, int64_t m, int64_t n, int64_t k, int64_t batch) {
	return GPK_AS(gpk_prepare_workspace)(device, type, form, m, n, k, batch);
}

static int gpk_call_prepare(uintptr_t f, int device, uint64_t stream, int type, int form, int64_t m, int64_t n, int64_t k, int64_t batch,
                            uint64_t a, int64_t a_line, int64_t a_step, int64_t stride_a, int conj_a, uint64_t a_high,
                            uint64_t a_low, int64_t a_pitch, int64_t a_member, uint64_t scale_a, uint64_t guard_a,
                            uint64_t b, int64_t b_line, int64_t b_step, int64_t stride_b, int conj_b, uint64_t b_high,
                            uint64_t b_low, int64_t b_pitch, int64_t b_member, uint64_t scale_b, uint64_t guard_b,
                            uint64_t workspace, int64_t workspace_bytes) {
	return GPK_AS(gpk_prepare)(device, stream, type, form, m, n, k, batch, a, a_line, a_step, stride_a, conj_a, a_high, a_low,
	                           a_pitch, a_member, scale_a, guard_a, b, b_line, b_step, stride_b, conj_b, b_high, b_low,
	                           b_pitch, b_member, scale_b, guard_b, workspace, workspace_bytes);
}
*/
import "C"

import "github.com/gpk-go/gpk/dtype"

// productEntries are the addresses of the library's functions that compute products and prepare their operands.
type productEntries struct {
	gemmCount, gemmName, gemmWorkspace, prepareWorkspace, prepare C.uintptr_t
}

// GemmWorkspace returns the bytes of workspace that Gemm needs for this problem.
func (l *Library) GemmWorkspace(device, kernel int, m, n, k, batch int64) (int64, error) {
	return l.bytes("gpk_gemm_workspace", C.gpk_call_gemm_workspace(l.entries.gemmWorkspace,
		C.int(device), C.int(kernel), C.int64_t(m), C.int64_t(n), C.int64_t(k), C.int64_t(batch)))
}

// PrepareWorkspace returns the bytes of workspace that Prepare needs; m and n
// are the lines of A and of B.
func (l *Library) PrepareWorkspace(device int, t dtype.DType, form Form, m, n, k, batch int) (int64, error) {
	return l.bytes("gpk_prepare_workspace", C.gpk_call_prepare_workspace(l.entries.prepareWorkspace,
		C.int(device), C.int(t), C.int(form), C.int64_t(m), C.int64_t(n), C.int64_t(k), C.int64_t(batch)))
}

// Prepare enqueues the conversion of one or two operands of type t for scaled and split
// kernels.
func (l *Library) Prepare(device int, stream uint64, t dtype.DType, form Form, k, batch int, a, b Prepared, workspace uint64, workspaceBytes int64) error {
	return l.check("gpk_prepare", C.gpk_call_prepare(l.entries.prepare, C.int(device), C.uint64_t(stream), C.int(t), C.int(form),
		C.int64_t(a.Lines), C.int64_t(b.Lines), C.int64_t(k), C.int64_t(batch),
		C.uint64_t(a.Source), C.int64_t(a.Line), C.int64_t(a.Step), C.int64_t(a.Stride), flag(a.Conj), C.uint64_t(a.High),
		C.uint64_t(a.Low), C.int64_t(a.Pitch), C.int64_t(a.Member), C.uint64_t(a.Scales), C.uint64_t(a.Guards),
		C.uint64_t(b.Source), C.int64_t(b.Line), C.int64_t(b.Step), C.int64_t(b.Stride), flag(b.Conj), C.uint64_t(b.High),
		C.uint64_t(b.Low), C.int64_t(b.Pitch), C.int64_t(b.Member), C.uint64_t(b.Scales), C.uint64_t(b.Guards),
		C.uint64_t(workspace), C.int64_t(workspaceBytes)))
}

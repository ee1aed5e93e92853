//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cutlass

/*
#cgo noescape gpk_call_attention_workspace
#cgo nocallback gpk_call_attention_workspace
#cgo noescape gpk_call_attention_kernel
#cgo nocallback gpk_call_attention_kernel

#include "entry.h"
#include "src/gpk_attention.h"

static int64_t gpk_call_attention_workspace(uintptr_t f, const gpk_attention_args* args) {
	return GPK_AS(gpk_attention_workspace)(args);
}

static const char* gpk_call_attention_kernel(uintptr_t f, const gpk_attention_args* args) {
	return GPK_AS(gpk_attention_kernel)(args);
}
*/
import "C"

import (
	"math"
	"unsafe"
)

// attentionEntries are the library's functions for attention.
type attentionEntries struct {
	attentionSpace, attentionKernel C.uintptr_t
}

// arguments returns the problem as the structure for the C entry points.
func (a *Attention) arguments(device int, stream uint64) C.gpk_attention_args {
	rows := func(r AttentionRows) C.gpk_attention_rows {
		return C.gpk_attention_rows{data: C.uint64_t(r.Data), batch: C.int64_t(r.Batch), head: C.int64_t(r.Head), row: C.int64_t(r.Row)}
	}
	longest := C.int64_t(math.MaxInt64)
	if a.Longest > 0 {
		longest = C.int64_t(a.Longest)
	}
	return C.gpk_attention_args{
		size: C.uint64_t(unsafe.Sizeof(C.gpk_attention_args{})), stream: C.uint64_t(stream),
		q: rows(a.Q), k: rows(a.K), v: rows(a.V), out: rows(a.Out),
		mask: C.uint64_t(a.Mask), mask_batch: C.int64_t(a.MaskStrides[0]), mask_head: C.int64_t(a.MaskStrides[1]),
		mask_row: C.int64_t(a.MaskStrides[2]), mask_step: C.int64_t(a.MaskStrides[3]),
		offsets: C.uint64_t(a.Offsets), flags: C.uint64_t(a.Flags), longest: longest,
		batch: C.int64_t(a.Batch), heads: C.int64_t(a.Heads), kv_heads: C.int64_t(a.KVHeads), queries: C.int64_t(a.Queries),
		keys: C.int64_t(a.Keys), dim: C.int64_t(a.Dim), value_dim: C.int64_t(a.ValueDim), scale: C.double(a.Scale),
		workspace: C.uint64_t(a.Workspace), workspace_bytes: C.int64_t(a.WorkspaceBytes), device: C.int32_t(device),
		_type: C.int32_t(a.Type), mask_type: C.int32_t(a.MaskType), causal: flag(a.Causal), full: flag(a.Full),
	}
}

// Attention enqueues an attention.
func (c *calls) Attention(device int, stream uint64, a *Attention) error {
	args := a.arguments(device, stream)
	k := kind{entry: entryAttention, from: int32(a.Type), to: int32(a.MaskType), dims: int32(a.Dim), numbers: int32(a.ValueDim)}
	return c.call(k, wordsOf(&args))
}

// AttentionWorkspace returns the bytes of workspace that Attention needs. It ignores
// addresses and strides. The error is ErrUnsupported if no kernel supports the problem.
func (l *Library) AttentionWorkspace(device int, a *Attention) (int64, error) {
	args := a.arguments(device, 0)
	return l.bytes("gpk_attention_workspace", C.gpk_call_attention_workspace(l.entries.attentionSpace, &args))
}

// AttentionKernel returns the name of the kernel that computes the problem, or "". TMA
// reads only rows aligned to 16 bytes; for others the name is that of a kernel without TMA.
func (l *Library) AttentionKernel(device int, a *Attention) string {
	args := a.arguments(device, 0)
	return C.GoString(C.gpk_call_attention_kernel(l.entries.attentionKernel, &args))
}

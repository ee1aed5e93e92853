//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cutlass

/*
#cgo noescape gpk_call_pad
#cgo nocallback gpk_call_pad

#include "entry.h"
#include "src/gpk.h"

static int gpk_call_pad(uintptr_t f, int device, uint64_t stream, int type, uint64_t a, int64_t a_batch, int64_t a_lines,
                        int64_t a_length, int64_t a_pitch, int64_t a_member, uint64_t a_copy, int64_t a_copy_lines,
                        int64_t a_copy_length, int64_t a_copy_pitch, int64_t a_copy_member, uint64_t b, int64_t b_batch,
                        int64_t b_lines, int64_t b_length, int64_t b_pitch, int64_t b_member, uint64_t b_copy,
                        int64_t b_copy_lines, int64_t b_copy_length, int64_t b_copy_pitch, int64_t b_copy_member) {
	return GPK_AS(gpk_pad)(device, stream, type, a, a_batch, a_lines, a_length, a_pitch, a_member, a_copy, a_copy_lines, a_copy_length,
	                       a_copy_pitch, a_copy_member, b, b_batch, b_lines, b_length, b_pitch, b_member, b_copy, b_copy_lines,
	                       b_copy_length, b_copy_pitch, b_copy_member);
}
*/
import "C"

import "github.com/gpk-go/gpk/dtype"

// padEntries are the library's functions that copy operands.
type padEntries struct {
	pad C.uintptr_t
}

// Pad enqueues aligned copies of one operand of type t or of both.
func (l *Library) Pad(device int, stream uint64, t dtype.DType, a, b Padded) error {
	return l.check("gpk_pad", C.gpk_call_pad(l.entries.pad, C.int(device), C.uint64_t(stream), C.int(t),
		C.uint64_t(a.Source), C.int64_t(a.Batch), C.int64_t(a.Lines), C.int64_t(a.Length), C.int64_t(a.Pitch), C.int64_t(a.Member),
		C.uint64_t(a.Copy), C.int64_t(a.CopyLines), C.int64_t(a.CopyLength), C.int64_t(a.CopyPitch), C.int64_t(a.CopyMember),
		C.uint64_t(b.Source), C.int64_t(b.Batch), C.int64_t(b.Lines), C.int64_t(b.Length), C.int64_t(b.Pitch), C.int64_t(b.Member),
		C.uint64_t(b.Copy), C.int64_t(b.CopyLines), C.int64_t(b.CopyLength), C.int64_t(b.CopyPitch), C.int64_t(b.CopyMember)))
}

//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cutlass

/*
#cgo noescape gpk_call_quantum_angles
#cgo nocallback gpk_call_quantum_angles
#cgo noescape gpk_call_quantum_slots
#cgo nocallback gpk_call_quantum_slots
#cgo noescape gpk_call_quantum_pass
#cgo nocallback gpk_call_quantum_pass
#cgo noescape gpk_call_quantum_norms
#cgo nocallback gpk_call_quantum_norms
#cgo noescape gpk_call_quantum_closed
#cgo nocallback gpk_call_quantum_closed
#cgo noescape gpk_call_quantum_finish_workspace
#cgo nocallback gpk_call_quantum_finish_workspace
#cgo noescape gpk_call_quantum_finish
#cgo nocallback gpk_call_quantum_finish
#cgo noescape gpk_call_quantum_closed_whole
#cgo nocallback gpk_call_quantum_closed_whole
#cgo noescape gpk_call_quantum_closed_gram
#cgo nocallback gpk_call_quantum_closed_gram
#cgo noescape gpk_call_quantum_gram_workspace
#cgo nocallback gpk_call_quantum_gram_workspace
#cgo noescape gpk_call_quantum_gram
#cgo nocallback gpk_call_quantum_gram

#include "entry.h"
#include "src/gpk.h"

static int gpk_call_quantum_angles(uintptr_t f, int device, uint64_t stream, int x_type, int64_t first, int64_t n, int64_t features, uint64_t x, int64_t row,
                                   int64_t col, int angles, uint64_t code, uint64_t coefs, uint64_t out, uint64_t status) {
	return GPK_AS(gpk_quantum_angles)(device, stream, x_type, first, n, features, x, row, col, angles, code, coefs, out, status);
}

static int gpk_call_quantum_slots(uintptr_t f, int device, uint64_t stream, int type, int64_t n, int slots, uint64_t code, uint64_t fixed,
                                  uint64_t angles, int n_angles, uint64_t out, int64_t sample_stride, int64_t value_stride) {
	return GPK_AS(gpk_quantum_slots)(device, stream, type, n, slots, code, fixed, angles, n_angles, out, sample_stride, value_stride);
}

static int gpk_call_quantum_pass(uintptr_t f, int device, uint64_t stream, int type, int64_t n, int qubits, int local, int samples,
                                 uint64_t state, uint64_t code, uint64_t slots, int64_t slot_stride, uint64_t angles,
                                 int n_angles, uint64_t tables, const int32_t* at) {
	return GPK_AS(gpk_quantum_pass)(device, stream, type, n, qubits, local, samples, state, code, slots, slot_stride, angles, n_angles, tables, at);
}

static int gpk_call_quantum_norms(uintptr_t f, int device, uint64_t stream, int type, int64_t n, int64_t width, uint64_t state, uint64_t out, int first) {
	return GPK_AS(gpk_quantum_norms)(device, stream, type, n, width, state, out, first);
}

static int gpk_call_quantum_closed(uintptr_t f, int device, uint64_t stream, int type, int64_t rows, int64_t cols, uint64_t x, int64_t ld_x,
                                   uint64_t y, int64_t ld_y, int planar, int full, int dot, int upper, int times, uint64_t k, int64_t ld) {
	return GPK_AS(gpk_quantum_closed)(device, stream, type, rows, cols, x, ld_x, y, ld_y, planar, full, dot, upper, times, k, ld);
}

static int64_t gpk_call_quantum_finish_workspace(uintptr_t f, int64_t rows, int64_t cols) {
	return GPK_AS(gpk_quantum_finish_workspace)(rows, cols);
}

static int gpk_call_quantum_finish(uintptr_t f, int device, uint64_t stream, int type, int64_t rows, int64_t cols, uint64_t k, int64_t ld,
                                   uint64_t mirror, int64_t ld_mirror, int triangle, int square, double one, uint64_t norm_x,
                                   uint64_t norm_y, double jitter, uint64_t total, uint64_t workspace, int64_t workspace_bytes) {
	return GPK_AS(gpk_quantum_finish)(device, stream, type, rows, cols, k, ld, mirror, ld_mirror, triangle, square, one, norm_x, norm_y,
	                                  jitter, total, workspace, workspace_bytes);
}

static int gpk_call_quantum_closed_whole(uintptr_t f, int device, uint64_t stream, int x_type, int64_t n, int64_t features, uint64_t x, int64_t row,
	int64_t col, int planar, int full, void const* code, int64_t code_bytes, int64_t coefs, int64_t fixed, int64_t angles, int64_t slots, uint64_t k,
	int64_t ld, double one, uint64_t notes, int found, int words, uint64_t workspace, int64_t workspace_bytes) {
	return GPK_AS(gpk_quantum_closed_whole)(device, stream, x_type, n, features, x, row, col, planar, full, code, code_bytes, coefs, fixed, angles, slots,
		k, ld, one, notes, found, words, workspace, workspace_bytes);
}
static int gpk_call_quantum_closed_gram(uintptr_t f, int device, uint64_t stream, int64_t rows, int64_t cols, uint64_t x, int64_t ld_x, uint64_t y,
                                        int64_t ld_y, int planar, int full, int dot, uint64_t k, int64_t ld, uint64_t mirror, int64_t ld_mirror,
                                        int triangle, double one, uint64_t total, uint64_t workspace, int64_t workspace_bytes) {
	return GPK_AS(gpk_quantum_closed_gram)(device, stream, rows, cols, x, ld_x, y, ld_y, planar, full, dot, k, ld, mirror, ld_mirror, triangle,
	                                       one, total, workspace, workspace_bytes);
}

static int64_t gpk_call_quantum_gram_workspace(uintptr_t f, int device, int real, int split, int factor, int64_t rows, int64_t cols, int64_t width, int triangle) {
	return GPK_AS(gpk_quantum_gram_workspace)(device, real, split, factor, rows, cols, width, triangle);
}

static int gpk_call_quantum_gram(uintptr_t f, int device, uint64_t stream, int real, int split, int factor, int64_t rows, int64_t cols, int64_t width, int triangle,
                                 uint64_t x, uint64_t y, uint64_t k, int64_t ld, uint64_t mirror, int64_t ld_mirror, double one,
                                 uint64_t norm_x, uint64_t norm_y, double jitter, uint64_t total, uint64_t workspace,
                                 int64_t workspace_bytes) {
	return GPK_AS(gpk_quantum_gram)(device, stream, real, split, factor, rows, cols, width, triangle, x, y, k, ld, mirror, ld_mirror, one,
	                                norm_x, norm_y, jitter, total, workspace, workspace_bytes);
}
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// quantumEntries are the library's functions for quantum circuits.
type quantumEntries struct {
	quantumAngles, quantumSlots                                                  C.uintptr_t
	quantumPass, quantumNorms                                                    C.uintptr_t
	quantumClosed, quantumFinish, quantumFinishWorkspaceSize                     C.uintptr_t
	quantumClosedGram, quantumClosedWhole, quantumGram, quantumGramWorkspaceSize C.uintptr_t
}

// QuantumAngles enqueues the angles of samples.
func (l *Library) QuantumAngles(device int, stream uint64, q QuantumAngles) error {
	return l.check("gpk_quantum_angles", C.gpk_call_quantum_angles(l.entries.quantumAngles, C.int(device), C.uint64_t(stream), C.int(q.Type),
		C.int64_t(q.First), C.int64_t(q.N), C.int64_t(q.Features), C.uint64_t(q.X), C.int64_t(q.Row), C.int64_t(q.Col), C.int(q.Angles),
		C.uint64_t(q.Code), C.uint64_t(q.Coefs), C.uint64_t(q.Out), C.uint64_t(q.Status)))
}

// QuantumSlots enqueues the vectors, matrices and phases of samples.
func (l *Library) QuantumSlots(device int, stream uint64, q QuantumSlots) error {
	return l.check("gpk_quantum_slots", C.gpk_call_quantum_slots(l.entries.quantumSlots, C.int(device), C.uint64_t(stream), C.int(q.Type),
		C.int64_t(q.N), C.int(q.Slots), C.uint64_t(q.Code), C.uint64_t(q.Fixed), C.uint64_t(q.Angles), C.int(q.NAngles),
		C.uint64_t(q.Out), C.int64_t(q.SampleStride), C.int64_t(q.ValueStride)))
}

// QuantumPass enqueues one pass of a program over states.
func (l *Library) QuantumPass(device int, stream uint64, q QuantumPass) error {
	if len(q.At) != q.Qubits {
		return &Error{Code: CodeArgument, Entry: "gpk_quantum_pass", Message: fmt.Sprintf("%d positions for %d qubits", len(q.At), q.Qubits)}
	}
	return l.check("gpk_quantum_pass", C.gpk_call_quantum_pass(l.entries.quantumPass, C.int(device), C.uint64_t(stream), C.int(q.Type),
		C.int64_t(q.N), C.int(q.Qubits), C.int(q.Local), C.int(q.Samples), C.uint64_t(q.State), C.uint64_t(q.Code),
		C.uint64_t(q.Slots), C.int64_t(q.SlotStride), C.uint64_t(q.Angles), C.int(q.NAngles), C.uint64_t(q.Tables),
		(*C.int32_t)(unsafe.Pointer(unsafe.SliceData(q.At)))))
}

// QuantumNorms enqueues the squares of the states' squared norms.
func (l *Library) QuantumNorms(device int, stream uint64, q QuantumNorms) error {
	return l.check("gpk_quantum_norms", C.gpk_call_quantum_norms(l.entries.quantumNorms, C.int(device), C.uint64_t(stream), C.int(q.Type),
		C.int64_t(q.N), C.int64_t(q.Width), C.uint64_t(q.State), C.uint64_t(q.Out), flag(q.First)))
}

// QuantumClosed enqueues the closed form for wires without entanglement.
func (l *Library) QuantumClosed(device int, stream uint64, q QuantumClosed) error {
	return l.check("gpk_quantum_closed", C.gpk_call_quantum_closed(l.entries.quantumClosed, C.int(device), C.uint64_t(stream), C.int(q.Type),
		C.int64_t(q.Rows), C.int64_t(q.Cols), C.uint64_t(q.X), C.int64_t(q.LDX), C.uint64_t(q.Y), C.int64_t(q.LDY),
		C.int(q.Planar), C.int(q.Full), flag(q.Dot), flag(q.Upper), flag(q.Times), C.uint64_t(q.K), C.int64_t(q.LD)))
}

// QuantumFinishWorkspace returns the bytes of workspace that QuantumFinish needs.
func (l *Library) QuantumFinishWorkspace(rows, cols int) (int64, error) {
	return l.bytes("gpk_quantum_finish_workspace", C.gpk_call_quantum_finish_workspace(l.entries.quantumFinishWorkspaceSize, C.int64_t(rows), C.int64_t(cols)))
}

// QuantumFinish enqueues the epilogue of a Gram product.
func (l *Library) QuantumFinish(device int, stream uint64, q QuantumFinish) error {
	return l.check("gpk_quantum_finish", C.gpk_call_quantum_finish(l.entries.quantumFinish, C.int(device), C.uint64_t(stream), C.int(q.Type),
		C.int64_t(q.Rows), C.int64_t(q.Cols), C.uint64_t(q.K), C.int64_t(q.LD), C.uint64_t(q.Mirror), C.int64_t(q.LDMirror),
		flag(q.Triangle), flag(q.Square), C.double(q.One), C.uint64_t(q.NormX), C.uint64_t(q.NormY), C.double(q.Jitter),
		C.uint64_t(q.Total), C.uint64_t(q.Workspace), C.int64_t(q.WorkspaceBytes)))
}

// QuantumClosedWhole enqueues the computation of a whole symmetric K of few wires from the
// samples. It returns false, with nothing started, if the library has no such kernels or
// they do not support the arguments.
func (l *Library) QuantumClosedWhole(device int, stream uint64, q QuantumClosedWhole) (bool, error) {
	code := C.gpk_call_quantum_closed_whole(l.entries.quantumClosedWhole, C.int(device), C.uint64_t(stream), C.int(q.XType), C.int64_t(q.N),
		C.int64_t(q.Features), C.uint64_t(q.X), C.int64_t(q.Row), C.int64_t(q.Col), C.int(q.Planar), C.int(q.Full),
		unsafe.Pointer(unsafe.SliceData(q.Code)), C.int64_t(len(q.Code)), C.int64_t(q.Coefs), C.int64_t(q.Fixed), C.int64_t(q.Angles), C.int64_t(q.Slots),
		C.uint64_t(q.K), C.int64_t(q.LD), C.double(q.One), C.uint64_t(q.Notes), C.int(q.Found), C.int(q.Words), C.uint64_t(q.Workspace),
		C.int64_t(q.WorkspaceBytes))
	if code == CodeUnsupported {
		return false, nil
	}
	return true, l.check("gpk_quantum_closed_whole", code)
}

// QuantumClosedGram enqueues the closed form for wires without entanglement, with its whole
// epilogue.
func (l *Library) QuantumClosedGram(device int, stream uint64, q QuantumClosedGram) error {
	return l.check("gpk_quantum_closed_gram", C.gpk_call_quantum_closed_gram(l.entries.quantumClosedGram, C.int(device), C.uint64_t(stream),
		C.int64_t(q.Rows), C.int64_t(q.Cols), C.uint64_t(q.X), C.int64_t(q.LDX), C.uint64_t(q.Y), C.int64_t(q.LDY),
		C.int(q.Planar), C.int(q.Full), flag(q.Dot), C.uint64_t(q.K), C.int64_t(q.LD), C.uint64_t(q.Mirror), C.int64_t(q.LDMirror),
		flag(q.Triangle), C.double(q.One), C.uint64_t(q.Total), C.uint64_t(q.Workspace), C.int64_t(q.WorkspaceBytes)))
}

// QuantumGramWorkspace returns the bytes of workspace that QuantumGram needs, or 0 if the
// device or the build has no kernel for it.
func (l *Library) QuantumGramWorkspace(device int, q QuantumGram) (int64, error) {
	return l.bytes("gpk_quantum_gram_workspace", C.gpk_call_quantum_gram_workspace(l.entries.quantumGramWorkspaceSize, C.int(device),
		flag(q.Real), flag(q.Split), flag(q.Factor), C.int64_t(q.Rows), C.int64_t(q.Cols), C.int64_t(q.Width), flag(q.Triangle)))
}

// HasQuantumGram reports whether the device and the build have the kernels of QuantumGram,
// QuantumClosedGram and QuantumClosedWhole. The answer is cached per device.
func (l *Library) HasQuantumGram(device int) (bool, error) {
	kept := 0 <= device && device < len(l.grams)
	if kept {
		if known := l.grams[device].Load(); known != 0 {
			return known == 2, nil
		}
	}
	need, err := l.QuantumGramWorkspace(device, QuantumGram{Rows: 1, Cols: 1, Width: 1})
	if err != nil {
		return false, err
	}
	if kept {
		known := uint32(1)
		if need > 0 {
			known = 2
		}
		l.grams[device].Store(known)
	}
	return need > 0, nil
}

// QuantumGram enqueues the squared moduli of the products of states, with the whole
// epilogue.
func (l *Library) QuantumGram(device int, stream uint64, q QuantumGram) error {
	return l.check("gpk_quantum_gram", C.gpk_call_quantum_gram(l.entries.quantumGram, C.int(device), C.uint64_t(stream),
		flag(q.Real), flag(q.Split), flag(q.Factor), C.int64_t(q.Rows), C.int64_t(q.Cols), C.int64_t(q.Width), flag(q.Triangle),
		C.uint64_t(q.X), C.uint64_t(q.Y), C.uint64_t(q.K), C.int64_t(q.LD), C.uint64_t(q.Mirror), C.int64_t(q.LDMirror),
		C.double(q.One), C.uint64_t(q.NormX), C.uint64_t(q.NormY), C.double(q.Jitter), C.uint64_t(q.Total), C.uint64_t(q.Workspace),
		C.int64_t(q.WorkspaceBytes)))
}

//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cutlass

/*
#cgo linux LDFLAGS: -ldl
#cgo noescape gpk_call_gemm
#cgo nocallback gpk_call_gemm
#cgo noescape gpk_call_gemm_workspace
#cgo nocallback gpk_call_gemm_workspace
#cgo noescape gpk_call_prepare
#cgo nocallback gpk_call_prepare
#cgo noescape gpk_call_prepare_workspace
#cgo nocallback gpk_call_prepare_workspace
#cgo noescape gpk_call_unary
#cgo nocallback gpk_call_unary
#cgo noescape gpk_call_binary
#cgo nocallback gpk_call_binary
#cgo noescape gpk_call_ternary
#cgo nocallback gpk_call_ternary
#cgo noescape gpk_call_line
#cgo nocallback gpk_call_line
#cgo noescape gpk_call_cast
#cgo nocallback gpk_call_cast
#cgo noescape gpk_call_fill
#cgo nocallback gpk_call_fill
#cgo noescape gpk_call_arange
#cgo nocallback gpk_call_arange
#cgo noescape gpk_call_reduce
#cgo nocallback gpk_call_reduce
#cgo noescape gpk_call_reduce_workspace
#cgo nocallback gpk_call_reduce_workspace
#cgo noescape gpk_call_spin
#cgo nocallback gpk_call_spin

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include "entry.h"
#include "src/gpk.h"

// dlerror is per thread, so each function reads it in the same call.
static void* gpk_dlopen(const char* path, char* why, size_t n) {
	void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL) {
		const char* s = dlerror();
		snprintf(why, n, "%s", s != NULL ? s : "dlopen failed");
	}
	return handle;
}

static uintptr_t gpk_dlsym(void* handle, const char* name) { return (uintptr_t)dlsym(handle, name); }

// One trampoline per entry point. The types come from the header's declarations, so that a
// changed signature does not compile. Addresses are passed as integers, which avoids cgo's
// pointer checks.

static int gpk_call_int(uintptr_t f) { return GPK_AS(gpk_abi_version)(); }
static const char* gpk_call_text(uintptr_t f) { return GPK_AS(gpk_kernel_set)(); }
static const char* gpk_call_text_of(uintptr_t f, int i) { return GPK_AS(gpk_error_string)(i); }

static int64_t gpk_call_gemm_workspace(uintptr_t f, int device, int kernel, int64_t m, int64_t n, int64_t k, int64_t batch) {
	return GPK_AS(gpk_gemm_workspace)(device, kernel, m, n, k, batch);
}

static int gpk_call_gemm(uintptr_t f, int device, uint64_t stream, int kernel, int64_t m, int64_t n, int64_t k, int64_t batch,
                         uint64_t a, int64_t lda, int64_t stride_a, uint64_t b, int64_t ldb, int64_t stride_b,
                         uint64_t d, int64_t ldd, int64_t stride_d, uint64_t bias, int act,
                         double alpha_re, double alpha_im, uint64_t scale_a, uint64_t scale_b, uint64_t low_a,
                         uint64_t low_b, int guard, uint64_t guard_a, uint64_t guard_b, int64_t guard_limit,
                         uint64_t workspace, int64_t workspace_bytes) {
	return GPK_AS(gpk_gemm)(device, stream, kernel, m, n, k, batch, a, lda, stride_a, b, ldb, stride_b, d, ldd, stride_d,
	                        bias, act, alpha_re, alpha_im, scale_a, scale_b, low_a, low_b, guard, guard_a, guard_b,
	                        guard_limit, workspace, workspace_bytes);
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

static int gpk_call_unary(uintptr_t f, int device, uint64_t stream, int op, int x_type, int dst_type, int ndim, const int64_t* shape,
                          uint64_t x, const int64_t* x_strides, uint64_t dst, const int64_t* dst_strides) {
	return GPK_AS(gpk_unary)(device, stream, op, x_type, dst_type, ndim, shape, x, x_strides, dst, dst_strides);
}

static int gpk_call_binary(uintptr_t f, int device, uint64_t stream, int op, int type, int dst_type, int ndim, const int64_t* shape,
                           uint64_t x, const int64_t* x_strides, uint64_t y, const int64_t* y_strides,
                           uint64_t lo, uint64_t hi, uint64_t dst, const int64_t* dst_strides) {
	return GPK_AS(gpk_binary)(device, stream, op, type, dst_type, ndim, shape, x, x_strides, y, y_strides, lo, hi, dst, dst_strides);
}

static int gpk_call_ternary(uintptr_t f, int device, uint64_t stream, int op, int type, int ndim, const int64_t* shape,
                            uint64_t x, const int64_t* x_strides, uint64_t y, const int64_t* y_strides, uint64_t z, const int64_t* z_strides,
                            uint64_t y_lo, uint64_t y_hi, uint64_t z_lo, uint64_t z_hi, uint64_t dst, const int64_t* dst_strides) {
	return GPK_AS(gpk_ternary)(device, stream, op, type, ndim, shape, x, x_strides, y, y_strides, z, z_strides, y_lo, y_hi, z_lo, z_hi, dst, dst_strides);
}

static int gpk_call_line(uintptr_t f, int device, uint64_t stream, int op, int x_type, int dst_type, int ndim, const int64_t* shape,
                         uint64_t x, const int64_t* x_strides, uint64_t dst, const int64_t* dst_strides, uint64_t gamma, uint64_t beta, double eps) {
	return GPK_AS(gpk_line)(device, stream, op, x_type, dst_type, ndim, shape, x, x_strides, dst, dst_strides, gamma, beta, eps);
}

static int gpk_call_cast(uintptr_t f, int device, uint64_t stream, int x_type, int dst_type, int ndim, const int64_t* shape,
                         uint64_t x, const int64_t* x_strides, uint64_t dst, const int64_t* dst_strides) {
	return GPK_AS(gpk_cast)(device, stream, x_type, dst_type, ndim, shape, x, x_strides, dst, dst_strides);
}

static int gpk_call_fill(uintptr_t f, int device, uint64_t stream, int type, int ndim, const int64_t* shape,
                         uint64_t lo, uint64_t hi, uint64_t dst, const int64_t* dst_strides) {
	return GPK_AS(gpk_fill)(device, stream, type, ndim, shape, lo, hi, dst, dst_strides);
}

static int gpk_call_arange(uintptr_t f, int device, uint64_t stream, int type, int64_t n, uint64_t start, uint64_t step, uint64_t dst) {
	return GPK_AS(gpk_arange)(device, stream, type, n, start, step, dst);
}

static int64_t gpk_call_reduce_workspace(uintptr_t f, int device, int op, int x_type, int dst_type, int ndim, const int64_t* shape, uint32_t axes) {
	return GPK_AS(gpk_reduce_workspace)(device, op, x_type, dst_type, ndim, shape, axes);
}

static int gpk_call_reduce(uintptr_t f, int device, uint64_t stream, int op, int x_type, int dst_type, int ndim, const int64_t* shape,
                           uint32_t axes, uint64_t x, const int64_t* x_strides, uint64_t dst, uint64_t workspace, int64_t workspace_bytes) {
	return GPK_AS(gpk_reduce)(device, stream, op, x_type, dst_type, ndim, shape, axes, x, x_strides, dst, workspace, workspace_bytes);
}

static int gpk_call_spin(uintptr_t f, int device, uint64_t stream, int64_t microseconds) {
	return GPK_AS(gpk_spin)(device, stream, microseconds);
}
*/
import "C"

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// Checks that the header's version and limits equal those of this file: a difference
// overflows a constant here.
const (
	_ = uint(C.GPK_ABI-ABI) + uint(ABI-C.GPK_ABI)
	_ = uint(C.GPK_MAX_DIMS-maxDims) + uint(maxDims-C.GPK_MAX_DIMS)
)

// maxDims is GPK_MAX_DIMS: the maximum number of dimensions.
const maxDims = 8

// Built returns the reason why this program cannot load kernels; nil in this build.
func Built() error { return nil }

// entries are the addresses of the library's functions.
type entries struct {
	abiVersion, kernelSet, cudaVersion, errorString        C.uintptr_t
	gemmCount, gemmName, gemmWorkspace, gemm               C.uintptr_t
	prepareWorkspace, prepare                              C.uintptr_t
	unary, binary, cast, fill, arange, reduceSpace, reduce C.uintptr_t
	ternary, line, spin                                    C.uintptr_t
	partEntries
	padEntries
	indexEntries
	randomEntries
	attentionEntries
	stackEntries
	layerEntries
	factorEntries
	scatterEntries
	scanEntries
}

// load loads a library that has been checked and resolves every entry point.
func load(path string) (*Library, error) {
	cpath := C.CString(path)
	defer C.free(unsafe.Pointer(cpath))
	var why [512]C.char
	handle := C.gpk_dlopen(cpath, &why[0], C.size_t(len(why)))
	if handle == nil {
		return nil, &LibraryError{path, C.GoString(&why[0]), ErrLoad}
	}
	lib := &Library{kernels: map[string]int{}}
	e := &lib.entries
	for _, entry := range []struct {
		name string
		at   *C.uintptr_t
	}{
		{"gpk_abi_version", &e.abiVersion}, // first: the others depend on it
		{"gpk_kernel_set", &e.kernelSet},
		{"gpk_cuda_version", &e.cudaVersion},
		{"gpk_error_string", &e.errorString},
		{"gpk_gemm_count", &e.gemmCount},
		{"gpk_gemm_name", &e.gemmName},
		{"gpk_gemm_workspace", &e.gemmWorkspace},
		{"gpk_gemm", &e.gemm},
		{"gpk_gemm_parts", &e.gemmParts},
		{"gpk_pad", &e.pad},
		{"gpk_prepare_workspace", &e.prepareWorkspace},
		{"gpk_prepare", &e.prepare},
		{"gpk_unary", &e.unary},
		{"gpk_binary", &e.binary},
		{"gpk_ternary", &e.ternary},
		{"gpk_cast", &e.cast},
		{"gpk_fill", &e.fill},
		{"gpk_arange", &e.arange},
		{"gpk_reduce_workspace", &e.reduceSpace},
		{"gpk_reduce", &e.reduce},
		{"gpk_line", &e.line},
		{"gpk_spin", &e.spin},
		{"gpk_take", &e.take},
		{"gpk_sort_workspace", &e.sortSpace},
		{"gpk_sort", &e.sort},
		{"gpk_topk", &e.topk},
		{"gpk_uniform", &e.uniform},
		{"gpk_normal", &e.normal},
		{"gpk_attention_workspace", &e.attentionSpace},
		{"gpk_attention_kernel", &e.attentionKernel},
		{"gpk_attention", &e.attention},
		{"gpk_stack", &e.stack},
		{"gpk_embed_norm", &e.embedNorm},
		{"gpk_pool", &e.pool},
		{"gpk_norm_residual", &e.normResidual},
		{"gpk_rope", &e.rope},
		{"gpk_factor", &e.factor},
		{"gpk_scatter_add_workspace", &e.scatterAddSpace},
		{"gpk_scatter_add", &e.scatterAdd},
		{"gpk_cum_sum_workspace", &e.cumSumSpace},
		{"gpk_cum_sum", &e.cumSum},
	} {
		name := C.CString(entry.name)
		*entry.at = C.gpk_dlsym(handle, name)
		C.free(unsafe.Pointer(name))
		if *entry.at == 0 {
			return nil, &LibraryError{path, fmt.Sprintf("it lacks the entry %s: no kernel library of gpk, or a partial build; run `gpk setup`", entry.name), ErrLoad}
		}
		if entry.at == &e.abiVersion {
			if v := int(C.gpk_call_int(e.abiVersion)); v != ABI {
				return nil, &LibraryError{path, fmt.Sprintf("built for version %d of the kernel ABI, this program needs %d; run `gpk setup` of this version", v, ABI), ErrABI}
			}
		}
	}
	lib.kernelSet = C.GoString(C.gpk_call_text(e.kernelSet))
	lib.cuda = int(C.gpk_call_int(e.cudaVersion))
	for i := range int(C.gpk_call_int(e.gemmCount)) {
		lib.kernels[C.GoString(C.gpk_call_text_of(e.gemmName, C.int(i)))] = i
	}
	return lib, nil
}

// failure converts a nonzero code to an error.
func (l *Library) failure(entry string, code int) error {
	return &Error{Code: code, Entry: entry, Message: C.GoString(C.gpk_call_text_of(l.entries.errorString, C.int(code)))}
}

func (l *Library) check(entry string, code C.int) error {
	if code == 0 {
		return nil
	}
	return l.failure(entry, int(code))
}

// bytes converts the result of a workspace query to bytes or an error; a negative result is
// a negated code.
func (l *Library) bytes(entry string, n C.int64_t) (int64, error) {
	if n < 0 {
		return 0, l.failure(entry, int(-n))
	}
	return int64(n), nil
}

// checkDims checks that the strides have the shape's length, because C reads that many.
func checkDims(entry string, shape []int, strides ...[]int) error {
	for _, s := range strides {
		if len(s) != len(shape) {
			return &Error{Code: CodeArgument, Entry: entry, Message: fmt.Sprintf("%d strides for %d dimensions", len(s), len(shape))}
		}
	}
	if len(shape) > maxDims {
		return &Error{Code: CodeArgument, Entry: entry, Message: fmt.Sprintf("%d dimensions, at most %d", len(shape), maxDims)}
	}
	return nil
}

// numbers passes a slice to C. On the machines of this file, int is int64.
func numbers(s []int) *C.int64_t { return (*C.int64_t)(unsafe.Pointer(unsafe.SliceData(s))) }

// GemmWorkspace returns the bytes of workspace that Gemm needs for this problem.
func (l *Library) GemmWorkspace(device, kernel int, m, n, k, batch int64) (int64, error) {
	return l.bytes("gpk_gemm_workspace", C.gpk_call_gemm_workspace(l.entries.gemmWorkspace,
		C.int(device), C.int(kernel), C.int64_t(m), C.int64_t(n), C.int64_t(k), C.int64_t(batch)))
}

// Gemm enqueues a product by the kernel with that index (KernelIndex).
func (l *Library) Gemm(device int, stream uint64, kernel int, g Gemm) error {
	return l.check("gpk_gemm", C.gpk_call_gemm(l.entries.gemm, C.int(device), C.uint64_t(stream), C.int(kernel),
		C.int64_t(g.M), C.int64_t(g.N), C.int64_t(g.K), C.int64_t(g.Batch),
		C.uint64_t(g.A), C.int64_t(g.LDA), C.int64_t(g.StrideA), C.uint64_t(g.B), C.int64_t(g.LDB), C.int64_t(g.StrideB),
		C.uint64_t(g.D), C.int64_t(g.LDD), C.int64_t(g.StrideD), C.uint64_t(g.Bias), C.int(g.Act),
		C.double(g.AlphaRe), C.double(g.AlphaIm), C.uint64_t(g.ScaleA), C.uint64_t(g.ScaleB), C.uint64_t(g.LowA), C.uint64_t(g.LowB),
		C.int(g.Guard), C.uint64_t(g.GuardA), C.uint64_t(g.GuardB), C.int64_t(g.GuardLimit),
		C.uint64_t(g.Workspace), C.int64_t(g.WorkspaceBytes)))
}

// flag returns 1 for true, else 0.
func flag(b bool) C.int32_t {
	if b {
		return 1
	}
	return 0
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

// Unary enqueues dst = op(x).
func (l *Library) Unary(device int, stream uint64, op expr.Op, xType, dstType dtype.DType, shape []int,
	x uint64, xStrides []int, dst uint64, dstStrides []int,
) error {
	if err := checkDims("gpk_unary", shape, xStrides, dstStrides); err != nil {
		return err
	}
	return l.check("gpk_unary", C.gpk_call_unary(l.entries.unary, C.int(device), C.uint64_t(stream), C.int(op),
		C.int(xType), C.int(dstType), C.int(len(shape)), numbers(shape),
		C.uint64_t(x), numbers(xStrides), C.uint64_t(dst), numbers(dstStrides)))
}

// Binary enqueues dst = op(x, y). An operand at address 0 is the scalar with the 16 bytes
// lo and hi; at most one operand is a scalar.
func (l *Library) Binary(device int, stream uint64, op expr.Op, typ, dstType dtype.DType, shape []int,
	x uint64, xStrides []int, y uint64, yStrides []int, lo, hi uint64, dst uint64, dstStrides []int,
) error {
	if err := checkDims("gpk_binary", shape, xStrides, yStrides, dstStrides); err != nil {
		return err
	}
	return l.check("gpk_binary", C.gpk_call_binary(l.entries.binary, C.int(device), C.uint64_t(stream), C.int(op),
		C.int(typ), C.int(dstType), C.int(len(shape)), numbers(shape),
		C.uint64_t(x), numbers(xStrides), C.uint64_t(y), numbers(yStrides),
		C.uint64_t(lo), C.uint64_t(hi), C.uint64_t(dst), numbers(dstStrides)))
}

// Ternary enqueues dst = op(x, y, z). y or z at address 0 is the scalar with the 16 bytes
// yLo and yHi, or zLo and zHi.
func (l *Library) Ternary(device int, stream uint64, op expr.Op, typ dtype.DType, shape []int,
	x uint64, xStrides []int, y uint64, yStrides []int, z uint64, zStrides []int, yLo, yHi, zLo, zHi uint64, dst uint64, dstStrides []int,
) error {
	if err := checkDims("gpk_ternary", shape, xStrides, yStrides, zStrides, dstStrides); err != nil {
		return err
	}
	return l.check("gpk_ternary", C.gpk_call_ternary(l.entries.ternary, C.int(device), C.uint64_t(stream), C.int(op),
		C.int(typ), C.int(len(shape)), numbers(shape),
		C.uint64_t(x), numbers(xStrides), C.uint64_t(y), numbers(yStrides), C.uint64_t(z), numbers(zStrides),
		C.uint64_t(yLo), C.uint64_t(yHi), C.uint64_t(zLo), C.uint64_t(zHi), C.uint64_t(dst), numbers(dstStrides)))
}

// Line enqueues dst = op(x) along the last dimension; gamma and beta may be 0.
func (l *Library) Line(device int, stream uint64, op expr.Op, xType, dstType dtype.DType, shape []int,
	x uint64, xStrides []int, dst uint64, dstStrides []int, gamma, beta uint64, eps float64,
) error {
	if err := checkDims("gpk_line", shape, xStrides, dstStrides); err != nil {
		return err
	}
	return l.check("gpk_line", C.gpk_call_line(l.entries.line, C.int(device), C.uint64_t(stream), C.int(op),
		C.int(xType), C.int(dstType), C.int(len(shape)), numbers(shape),
		C.uint64_t(x), numbers(xStrides), C.uint64_t(dst), numbers(dstStrides), C.uint64_t(gamma), C.uint64_t(beta), C.double(eps)))
}

// Cast enqueues dst = x converted to dstType; equal types copy.
func (l *Library) Cast(device int, stream uint64, xType, dstType dtype.DType, shape []int,
	x uint64, xStrides []int, dst uint64, dstStrides []int,
) error {
	if err := checkDims("gpk_cast", shape, xStrides, dstStrides); err != nil {
		return err
	}
	return l.check("gpk_cast", C.gpk_call_cast(l.entries.cast, C.int(device), C.uint64_t(stream),
		C.int(xType), C.int(dstType), C.int(len(shape)), numbers(shape),
		C.uint64_t(x), numbers(xStrides), C.uint64_t(dst), numbers(dstStrides)))
}

// Fill enqueues dst = the element with the 16 bytes lo and hi.
func (l *Library) Fill(device int, stream uint64, typ dtype.DType, shape []int, lo, hi uint64, dst uint64, dstStrides []int) error {
	if err := checkDims("gpk_fill", shape, dstStrides); err != nil {
		return err
	}
	return l.check("gpk_fill", C.gpk_call_fill(l.entries.fill, C.int(device), C.uint64_t(stream), C.int(typ),
		C.int(len(shape)), numbers(shape), C.uint64_t(lo), C.uint64_t(hi), C.uint64_t(dst), numbers(dstStrides)))
}

// Arange enqueues dst[i] = start + i·step, i < n; dst is dense. Integer types use the
// integer parts of start and step.
func (l *Library) Arange(device int, stream uint64, typ dtype.DType, n int, start, step float64, dst uint64) error {
	lo, hi := math.Float64bits(start), math.Float64bits(step)
	if typ.IsInteger() {
		lo, hi = uint64(int64(start)), uint64(int64(step))
	}
	return l.check("gpk_arange", C.gpk_call_arange(l.entries.arange, C.int(device), C.uint64_t(stream), C.int(typ),
		C.int64_t(n), C.uint64_t(lo), C.uint64_t(hi), C.uint64_t(dst)))
}

// ReduceWorkspace returns the bytes of workspace that Reduce needs.
func (l *Library) ReduceWorkspace(device int, op expr.Op, xType, dstType dtype.DType, shape []int, axes uint32) (int64, error) {
	if err := checkDims("gpk_reduce_workspace", shape); err != nil {
		return 0, err
	}
	return l.bytes("gpk_reduce_workspace", C.gpk_call_reduce_workspace(l.entries.reduceSpace, C.int(device), C.int(op),
		C.int(xType), C.int(dstType), C.int(len(shape)), numbers(shape), C.uint32_t(axes)))
}

// Reduce enqueues the reduction of x over the dimensions whose bit is set in
// axes; dst is dense over the remaining ones, in order.
func (l *Library) Reduce(device int, stream uint64, op expr.Op, xType, dstType dtype.DType, shape []int, axes uint32,
	x uint64, xStrides []int, dst, workspace uint64, workspaceBytes int64,
) error {
	if err := checkDims("gpk_reduce", shape, xStrides); err != nil {
		return err
	}
	return l.check("gpk_reduce", C.gpk_call_reduce(l.entries.reduce, C.int(device), C.uint64_t(stream), C.int(op),
		C.int(xType), C.int(dstType), C.int(len(shape)), numbers(shape), C.uint32_t(axes),
		C.uint64_t(x), numbers(xStrides), C.uint64_t(dst), C.uint64_t(workspace), C.int64_t(workspaceBytes)))
}

// Spin keeps the stream busy for about the given time: for tests of ordering.
func (l *Library) Spin(device int, stream uint64, microseconds int64) error {
	return l.check("gpk_spin", C.gpk_call_spin(l.entries.spin, C.int(device), C.uint64_t(stream), C.int64_t(microseconds)))
}

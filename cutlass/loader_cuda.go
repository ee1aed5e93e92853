//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cutlass

/*
#cgo linux LDFLAGS: -ldl
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

static int gpk_call_spin(uintptr_t f, int device, uint64_t stream, int64_t microseconds) {
	return GPK_AS(gpk_spin)(device, stream, microseconds);
}
*/
import "C"

import (
	"fmt"
	"unsafe"
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
	abiVersion, kernelSet, cudaVersion, errorString, spin C.uintptr_t
	queued                                                [queuedEntries]C.uintptr_t
	productEntries
	opsEntries
	partEntries
	indexEntries
	randomEntries
	attentionEntries
	stackEntries
	layerEntries
	factorEntries
	scatterEntries
	scanEntries
	searchEntries
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
	lib.lib = lib
	e := &lib.entries
	type entry struct {
		name string
		at   *C.uintptr_t
	}
	all := []entry{
		{"gpk_abi_version", &e.abiVersion}, // first: the others depend on it
		{"gpk_kernel_set", &e.kernelSet},
		{"gpk_cuda_version", &e.cudaVersion},
		{"gpk_error_string", &e.errorString},
		{"gpk_gemm_count", &e.gemmCount},
		{"gpk_gemm_name", &e.gemmName},
		{"gpk_gemm_workspace", &e.gemmWorkspace},
		{"gpk_gemm_parts", &e.gemmParts},
		{"gpk_prepare_workspace", &e.prepareWorkspace},
		{"gpk_prepare", &e.prepare},
		{"gpk_arange", &e.arange},
		{"gpk_reduce_workspace", &e.reduceSpace},
		{"gpk_spin", &e.spin},
		{"gpk_take", &e.take},
		{"gpk_sort_workspace", &e.sortSpace},
		{"gpk_sort", &e.sort},
		{"gpk_topk", &e.topk},
		{"gpk_uniform", &e.uniform},
		{"gpk_normal", &e.normal},
		{"gpk_attention_workspace", &e.attentionSpace},
		{"gpk_attention_kernel", &e.attentionKernel},
		{"gpk_stack", &e.stack},
		{"gpk_triangle", &e.triangle},
		{"gpk_rope", &e.rope},
		{"gpk_factor", &e.factor},
		{"gpk_scatter_add_workspace", &e.scatterAddSpace},
		{"gpk_scatter_add", &e.scatterAdd},
		{"gpk_cum_sum_workspace", &e.cumSumSpace},
		{"gpk_cum_sum", &e.cumSum},
		{"gpk_search", &e.search},
		{"gpk_count", &e.count},
		{"gpk_count_trues", &e.countTrues},
		{"gpk_place_trues", &e.placeTrues},
		{"gpk_put_along", &e.putAlong},
	}
	for i := entryGemm; i < queuedEntries; i++ {
		all = append(all, entry{queued[i].name, &e.queued[i]})
	}
	for _, entry := range all {
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

// flag returns 1 for true, else 0.
func flag(b bool) C.int32_t {
	if b {
		return 1
	}
	return 0
}

// Spin keeps the stream busy for about the given time: for tests of ordering.
func (l *Library) Spin(device int, stream uint64, microseconds int64) error {
	return l.check("gpk_spin", C.gpk_call_spin(l.entries.spin, C.int(device), C.uint64_t(stream), C.int64_t(microseconds)))
}

//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cutlass

/*
#cgo noescape gpk_call_entry
#cgo nocallback gpk_call_entry

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// dlerror is per thread, so it is read in the same call.
static uintptr_t gpk_open_kernels(const char* path, char* why, size_t n) {
	void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL) {
		const char* s = dlerror();
		snprintf(why, n, "%s", s != NULL ? s : "dlopen failed");
	}
	return (uintptr_t)handle;
}

static uintptr_t gpk_find_entry(uintptr_t handle, const char* name) { return (uintptr_t)dlsym((void*)handle, name); }

static int gpk_call_version(uintptr_t f) { return ((int (*)(void))f)(); }
static const char* gpk_call_message(uintptr_t f, int code) { return ((const char* (*)(int))f)(code); }

static int gpk_call_entry(uintptr_t f, int device, uint64_t stream, void* args, int64_t bytes) {
	return ((int (*)(int, uint64_t, void*, int64_t))f)(device, stream, args, bytes);
}
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// loadKernelLibrary loads a library that has been checked.
func loadKernelLibrary(path string) (*KernelLibrary, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var why [512]C.char
	handle := C.gpk_open_kernels(name, &why[0], C.size_t(len(why)))
	if handle == 0 {
		return nil, &LibraryError{path, C.GoString(&why[0]), ErrLoad}
	}
	k := &KernelLibrary{path: path, handle: uintptr(handle)}
	version, err := k.Entry("gpk_kernels_abi")
	if err != nil {
		return nil, err
	}
	if v := int(C.gpk_call_version(C.uintptr_t(version.at))); v != KernelsABI {
		return nil, &LibraryError{path, fmt.Sprintf("built for version %d of the interface of kernel libraries, this program needs %d; build the library again", v, KernelsABI), ErrABI}
	}
	if e, err := k.Entry("gpk_kernels_error_string"); err == nil {
		k.message = e.at
	}
	return k, nil
}

// Entry finds the entry point with a C name.
func (k *KernelLibrary) Entry(name string) (KernelEntry, error) {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	at := C.gpk_find_entry(C.uintptr_t(k.handle), c)
	if at == 0 {
		return KernelEntry{}, &LibraryError{k.path, fmt.Sprintf("it lacks the entry %s: an older or partial build; build the library again", name), ErrLoad}
	}
	return KernelEntry{of: k, name: name, at: uintptr(at)}, nil
}

// Call calls the entry point with the arguments at args, which contain no Go pointers. Its
// error is an *Error.
func (e KernelEntry) Call(device int, stream uint64, args unsafe.Pointer, bytes uintptr) error {
	code := C.gpk_call_entry(C.uintptr_t(e.at), C.int(device), C.uint64_t(stream), args, C.int64_t(bytes))
	if code == 0 {
		return nil
	}
	message := "the library has no gpk_kernels_error_string that would say more"
	if e.of.message != 0 {
		message = C.GoString(C.gpk_call_message(C.uintptr_t(e.of.message), code))
	}
	return &Error{Code: int(code), Entry: e.name, Message: message}
}

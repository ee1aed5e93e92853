//go:build cgo && linux && (amd64 || arm64) && !nocuda

package dynlib

/*
#cgo linux LDFLAGS: -ldl

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uintptr_t gpk_dynlib_open(const char* path, char* why, size_t n) {
	void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL) {
		const char* s = dlerror();
		snprintf(why, n, "%s", s != NULL ? s : "dlopen failed");
	}
	return (uintptr_t)handle;
}

// gpk_dynlib_loaded returns the handle of a library that the process has loaded, by its name.
static uintptr_t gpk_dynlib_loaded(const char* name) {
	return (uintptr_t)dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
}

// gpk_dynlib_retain retains the primary context of a GPU. It returns the driver's result, and -1 if the driver lacks
// a function.
static int gpk_dynlib_retain(uintptr_t driver, int ordinal, uintptr_t* context) {
	int (*get)(int* device, int ordinal);
	int (*retain)(void** context, int device);
	*(void**)&get = dlsym((void*)driver, "cuDeviceGet");
	*(void**)&retain = dlsym((void*)driver, "cuDevicePrimaryCtxRetain");
	if (get == NULL || retain == NULL) return -1;
	int device = 0;
	void* c = NULL;
	int e = get(&device, ordinal);
	if (e == 0) e = retain(&c, device);
	*context = (uintptr_t)c;
	return e;
}
*/
import "C"

import (
	"errors"
	"fmt"
	"path/filepath"
	"unsafe"
)

// Open opens the library at an absolute path and returns its handle, for dlsym. It stays open.
func Open(path string) (handle uintptr, err error) {
	if !filepath.IsAbs(path) {
		return 0, fmt.Errorf("%s is not an absolute path", path)
	}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var why [512]C.char
	h := C.gpk_dynlib_open(name, &why[0], C.size_t(len(why)))
	if h == 0 {
		return 0, errors.New(C.GoString(&why[0]))
	}
	return uintptr(h), nil
}

// Loaded returns the handle of a library that the process has already loaded, or 0. It loads nothing.
func Loaded(name string) (handle uintptr) {
	s := C.CString(name)
	defer C.free(unsafe.Pointer(s))
	return uintptr(C.gpk_dynlib_loaded(s))
}

func retain(driver uintptr, ordinal int) (context uintptr, err error) {
	var c C.uintptr_t
	switch e := C.gpk_dynlib_retain(C.uintptr_t(driver), C.int(ordinal), &c); {
	case e < 0:
		return 0, errors.New("the driver lacks cuDeviceGet or cuDevicePrimaryCtxRetain")
	case e > 0:
		return 0, fmt.Errorf("cuDeviceGet or cuDevicePrimaryCtxRetain: CUDA error %d", int(e))
	}
	return uintptr(c), nil
}

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

// Loaded returns the handle of a library that the process has loaded already, 0 where it has not.
// It loads nothing.
func Loaded(name string) (handle uintptr) {
	s := C.CString(name)
	defer C.free(unsafe.Pointer(s))
	return uintptr(C.gpk_dynlib_loaded(s))
}

//go:build cgo && linux && (amd64 || arm64) && !nocuda

package device

/*
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// NVRTC's functions that are used here, as its header declares them: programs
// are pointers, results int.
#define GPK_NVRTC_FUNCTIONS(F) \
	F(nvrtcGetErrorString, const char*, (int result)) \
	F(nvrtcVersion, int, (int* major, int* minor)) \
	F(nvrtcGetNumSupportedArchs, int, (int* n)) \
	F(nvrtcGetSupportedArchs, int, (int* archs)) \
	F(nvrtcCreateProgram, int, (void** program, const char* source, const char* name, int headers, const char* const* texts, const char* const* names)) \
	F(nvrtcDestroyProgram, int, (void** program)) \
	F(nvrtcAddNameExpression, int, (void* program, const char* expression)) \
	F(nvrtcCompileProgram, int, (void* program, int n, const char* const* options)) \
	F(nvrtcGetProgramLogSize, int, (void* program, size_t* n)) \
	F(nvrtcGetProgramLog, int, (void* program, char* log)) \
	F(nvrtcGetLoweredName, int, (void* program, const char* expression, const char** name)) \
	F(nvrtcGetCUBINSize, int, (void* program, size_t* n)) \
	F(nvrtcGetCUBIN, int, (void* program, char* image))

typedef struct {
#define GPK_NVRTC_MEMBER(name, result, parameters) result (*name) parameters;
	GPK_NVRTC_FUNCTIONS(GPK_NVRTC_MEMBER)
} gpk_nvrtc;

// gpk_nvrtc_preload loads a part that NVRTC opens by its name alone.
static void gpk_nvrtc_preload(const char* path) { dlopen(path, RTLD_NOW | RTLD_LOCAL); }

// gpk_nvrtc_load binds every function of the library at a path. If one is missing, it
// writes the reason to why.
static gpk_nvrtc* gpk_nvrtc_load(const char* path, char* why, size_t n) {
	void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL) {
		const char* s = dlerror();
		snprintf(why, n, "%s", s != NULL ? s : "dlopen failed");
		return NULL;
	}
	gpk_nvrtc* r = calloc(1, sizeof *r);
	const char* missing = r == NULL ? "memory" : NULL;
#define GPK_NVRTC_BIND(name, result, parameters) \
	if (missing == NULL) { \
		*(void**)&r->name = dlsym(handle, #name); \
		if (r->name == NULL) missing = #name; \
	}
	GPK_NVRTC_FUNCTIONS(GPK_NVRTC_BIND)
	if (missing != NULL) {
		snprintf(why, n, "lacks %s: NVRTC of CUDA 11.2 or newer is needed", missing);
		free(r);
		dlclose(handle);
		return NULL;
	}
	return r;
}

static int gpk_nvrtc_version(gpk_nvrtc* r) {
	int major = 0, minor = 0;
	return r->nvrtcVersion(&major, &minor) == 0 ? 1000 * major + 10 * minor : 0;
}

static int gpk_nvrtc_archs(gpk_nvrtc* r, int* archs, int room) {
	int n = 0;
	if (r->nvrtcGetNumSupportedArchs(&n) != 0 || n > room || r->nvrtcGetSupportedArchs(archs) != 0) return 0;
	return n;
}

static const char* gpk_nvrtc_text(gpk_nvrtc* r, int result) {
	const char* s = r->nvrtcGetErrorString(result);
	return s != NULL ? s : "unknown error";
}

// The result of gpk_nvrtc_compile. The caller frees it.
typedef struct {
	char *image, *log, *name;
	size_t size;
} gpk_nvrtc_result;

static void gpk_nvrtc_release(gpk_nvrtc_result* out) {
	free(out->image);
	free(out->log);
	free(out->name);
}

static int gpk_nvrtc_compile(gpk_nvrtc* r, const char* source, const char* file, const char* expression,
                             const char* const* options, int n, gpk_nvrtc_result* out) {
	void* program = NULL;
	size_t length = 0;
	const char* name = NULL;
	int e = r->nvrtcCreateProgram(&program, source, file, 0, NULL, NULL);
	if (e != 0) return e;
	e = r->nvrtcAddNameExpression(program, expression);
	if (e == 0) e = r->nvrtcCompileProgram(program, n, options);
	if (r->nvrtcGetProgramLogSize(program, &length) == 0 && (out->log = calloc(1, length + 1)) != NULL) {
		r->nvrtcGetProgramLog(program, out->log);
	}
	if (e == 0) e = r->nvrtcGetLoweredName(program, expression, &name);
	if (e == 0 && (out->name = strdup(name)) == NULL) e = 1; // NVRTC_ERROR_OUT_OF_MEMORY
	if (e == 0) e = r->nvrtcGetCUBINSize(program, &out->size);
	if (e == 0 && (out->image = malloc(out->size + 1)) == NULL) e = 1;
	if (e == 0) e = r->nvrtcGetCUBIN(program, out->image);
	r->nvrtcDestroyProgram(&program);
	return e;
}
*/
import "C"

import (
	"errors"
	"fmt"
	"path/filepath"
	"unsafe"

	"github.com/gpk-go/gpk/internal/dynlib"
)

// nvrtcLibrary is NVIDIA's run-time compiler. It stays loaded.
type nvrtcLibrary struct {
	at     *C.gpk_nvrtc
	number int
	known  []int
	folder string // folder of CUDA's headers
}

// loadCompiler loads the library at a path.
func loadCompiler(path string) (compiler, error) {
	// NVRTC searches for its builtins among the system's libraries. Loading the ones beside
	// it first makes it use these.
	parts, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "libnvrtc-builtins.so.*"))
	for _, part := range parts {
		if dynlib.Check(part) == nil {
			name := C.CString(part)
			C.gpk_nvrtc_preload(name)
			C.free(unsafe.Pointer(name))
		}
	}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var why [512]C.char
	at := C.gpk_nvrtc_load(name, &why[0], C.size_t(len(why)))
	if at == nil {
		return nil, errors.New(C.GoString(&why[0]))
	}
	n := &nvrtcLibrary{at: at, number: int(C.gpk_nvrtc_version(at))}
	if dir := filepath.Join(filepath.Dir(filepath.Dir(path)), "include"); dynlib.IsFile(filepath.Join(dir, "cuda_fp16.h")) {
		n.folder = dir
	}
	var archs [128]C.int
	for _, a := range archs[:C.gpk_nvrtc_archs(at, &archs[0], C.int(len(archs)))] {
		n.known = append(n.known, int(a))
	}
	if n.number == 0 || len(n.known) == 0 {
		return nil, errors.New("does not say which version it is")
	}
	return n, nil
}

func (n *nvrtcLibrary) version() int { return n.number }

func (n *nvrtcLibrary) archs() []int { return n.known }

func (n *nvrtcLibrary) headers() string { return n.folder }

// The results of NVRTC for errors in the source.
const (
	nvrtcCompilation = 6  // NVRTC_ERROR_COMPILATION
	nvrtcExpression  = 10 // NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID
)

func (n *nvrtcLibrary) compile(c *Code, options []string) (binaryImage, string, error) {
	var texts []*C.char
	text := func(s string) *C.char {
		p := C.CString(s)
		texts = append(texts, p)
		return p
	}
	defer func() {
		for _, p := range texts {
			C.free(unsafe.Pointer(p))
		}
	}()
	// The array of options is allocated by C because it holds pointers.
	list := C.calloc(C.size_t(len(options)+1), C.size_t(unsafe.Sizeof((*C.char)(nil))))
	defer C.free(list)
	for i, o := range options {
		unsafe.Slice((**C.char)(list), len(options))[i] = text(o)
	}
	var out C.gpk_nvrtc_result
	defer C.gpk_nvrtc_release(&out)
	code := C.gpk_nvrtc_compile(n.at, text(c.Source), text(c.file()), text(c.Kernel), (**C.char)(list), C.int(len(options)), &out)
	log := ""
	if out.log != nil {
		log = C.GoString(out.log)
	}
	switch code {
	case 0:
		return binaryImage{name: C.GoString(out.name), image: C.GoBytes(unsafe.Pointer(out.image), C.int(out.size))}, log, nil
	case nvrtcCompilation, nvrtcExpression:
		if log == "" {
			log = C.GoString(C.gpk_nvrtc_text(n.at, code))
		}
		return binaryImage{}, log, errSource
	}
	return binaryImage{}, log, fmt.Errorf("NVRTC: %s (%d) %s", C.GoString(C.gpk_nvrtc_text(n.at, code)), int(code), log)
}

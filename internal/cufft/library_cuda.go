//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cufft

/*
#cgo linux LDFLAGS: -ldl

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

// cuFFT's functions that are used here, as its headers declare them: plans, results and
// enumerations are int.
#define GPK_CUFFT_FUNCTIONS(F) \
	F(cufftGetVersion, (int* version)) \
	F(cufftCreate, (int* plan)) \
	F(cufftDestroy, (int plan)) \
	F(cufftSetAutoAllocation, (int plan, int automatic)) \
	F(cufftXtMakePlanMany, (int plan, int rank, long long* n, long long* inembed, long long istride, long long idist, int in, \
		long long* onembed, long long ostride, long long odist, int out, long long batch, size_t* work, int type)) \
	F(cufftSetStream, (int plan, void* stream)) \
	F(cufftSetWorkArea, (int plan, void* area)) \
	F(cufftXtExec, (int plan, void* in, void* out, int direction))

// The driver's functions that are used here. Package device has loaded the driver.
#define GPK_CUFFT_DRIVER(F) \
	F(cuCtxSetCurrent, (void* context)) \
	F(cuMemcpyDtoDAsync_v2, (unsigned long long dst, unsigned long long src, size_t n, void* stream)) \
	F(cuMemsetD2D32Async, (unsigned long long dst, size_t pitch, unsigned value, size_t width, size_t height, void* stream))

#define GPK_CUFFT_POINTER(name, parameters) static int (*name) parameters;
GPK_CUFFT_FUNCTIONS(GPK_CUFFT_POINTER)
GPK_CUFFT_DRIVER(GPK_CUFFT_POINTER)

// Both return the name of a function that is missing, or NULL.
#define GPK_CUFFT_BIND(name, parameters) \
	*(void**)&name = dlsym((void*)handle, #name); \
	if (name == NULL) return #name;

static const char* gpk_cufft_bind(uintptr_t handle) {
	GPK_CUFFT_FUNCTIONS(GPK_CUFFT_BIND)
	return NULL;
}

static const char* gpk_cufft_bind_driver(uintptr_t handle) {
	GPK_CUFFT_DRIVER(GPK_CUFFT_BIND)
	return NULL;
}

static int gpk_cufft_version(void) {
	int v = 0;
	return cufftGetVersion(&v) == 0 ? v : 0;
}

// In the following, results of the driver are negative, and those of cuFFT positive.
#define GPK_CUFFT_DO(call) { int e_ = (call); if (e_ != 0) return -e_; }

// The current context belongs to the thread, and Go moves goroutines between threads. So
// each of the following functions first sets the context.
static int gpk_cufft_make(uintptr_t context, int* plan, int rank, long long* n, long long* inembed, long long istride, long long idist, int in,
                          long long* onembed, long long ostride, long long odist, int out, long long batch, int type, size_t* work) {
	GPK_CUFFT_DO(cuCtxSetCurrent((void*)context));
	int e = cufftCreate(plan);
	if (e != 0) return e;
	e = cufftSetAutoAllocation(*plan, 0);
	if (e == 0) e = cufftXtMakePlanMany(*plan, rank, n, inembed, istride, idist, in, onembed, ostride, odist, out, batch, work, type);
	if (e != 0) cufftDestroy(*plan);
	return e;
}

static void gpk_cufft_destroy(uintptr_t context, int plan) {
	if (cuCtxSetCurrent((void*)context) == 0) cufftDestroy(plan);
}

typedef struct {
	uint64_t stream, src, dst, work;
	uint64_t scratch;    // the memory to which src is copied first, or 0
	uint64_t bytes;      // of src
	uint64_t pitch;      // bytes of a line of scratch
	uint64_t lines;      // their number
	uint64_t last;       // the byte of a line with the last imaginary part that is set to 0; 0: none
	int words;           // 32-bit words of an imaginary part; 0: none is set to 0
	int plan, direction;
} gpk_cufft_run;

static int gpk_cufft_exec(uintptr_t context, const gpk_cufft_run* r) {
	void* stream = (void*)(uintptr_t)r->stream;
	uint64_t from = r->src;
	GPK_CUFFT_DO(cuCtxSetCurrent((void*)context));
	if (r->scratch != 0) {
		GPK_CUFFT_DO(cuMemcpyDtoDAsync_v2(r->scratch, from, r->bytes, stream));
		from = r->scratch;
	}
	if (r->words != 0) {
		GPK_CUFFT_DO(cuMemsetD2D32Async(from + 4 * r->words, r->pitch, 0, r->words, r->lines, stream));
		if (r->last != 0) GPK_CUFFT_DO(cuMemsetD2D32Async(from + r->last, r->pitch, 0, r->words, r->lines, stream));
	}
	int e = cufftSetStream(r->plan, stream);
	if (e == 0 && r->work != 0) e = cufftSetWorkArea(r->plan, (void*)(uintptr_t)r->work);
	if (e == 0) e = cufftXtExec(r->plan, (void*)(uintptr_t)from, (void*)(uintptr_t)r->dst, r->direction);
	return e;
}
*/
import "C"

func bind(handle uintptr) (version int, missing string) {
	if missing := C.gpk_cufft_bind(C.uintptr_t(handle)); missing != nil {
		return 0, C.GoString(missing)
	}
	return int(C.gpk_cufft_version()), ""
}

func bindDriver(driver uintptr) (missing string) {
	return C.GoString(C.gpk_cufft_bind_driver(C.uintptr_t(driver)))
}

// cudaDataType of real and complex numbers: CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F.
func (p *Problem) types() (in, out, exec C.int) {
	r, c := C.int(0), C.int(4)
	if p.Double {
		r, c = 1, 5
	}
	switch p.Kind {
	case RealToComplex:
		return r, c, c
	case ComplexToReal:
		return c, r, c
	}
	return c, c, c
}

// make makes the plan, and returns it and the bytes that it works in.
func (p *Problem) make(ctx uintptr) (plan int, work int64, err error) {
	var n, inembed, onembed [MaxRank]C.longlong
	_, to := p.sides()
	odist := 1
	for i := range p.Rank {
		n[i], inembed[i], onembed[i] = C.longlong(p.N[i]), C.longlong(p.Embed[i]), C.longlong(to[i])
		odist *= to[i]
	}
	from, onto := &inembed[0], &onembed[0]
	if p.dense() {
		from, onto = nil, nil // the same layout in cuFFT's simple form
	}
	in, out, exec := p.types()
	var (
		id   C.int
		size C.size_t
	)
	code := C.gpk_cufft_make(C.uintptr_t(ctx), &id, C.int(p.Rank), &n[0], from, C.longlong(p.Stride), C.longlong(p.Dist), in,
		onto, 1, C.longlong(odist), out, C.longlong(p.Batch), exec, &size)
	return int(id), int64(size), library.Failure("cufftXtMakePlanMany", int(code), "")
}

func destroy(ctx uintptr, plan int) { C.gpk_cufft_destroy(C.uintptr_t(ctx), C.int(plan)) }

// exec enqueues the transforms.
func (r *run) exec(ctx uintptr) error {
	c := C.gpk_cufft_run{
		stream: C.uint64_t(r.stream), src: C.uint64_t(r.src), dst: C.uint64_t(r.dst), work: C.uint64_t(r.work),
		scratch: C.uint64_t(r.scratch), bytes: C.uint64_t(r.bytes), pitch: C.uint64_t(r.pitch), lines: C.uint64_t(r.lines),
		last: C.uint64_t(r.last), words: C.int(r.words), plan: C.int(r.plan), direction: -1,
	}
	if r.inverse {
		c.direction = 1
	}
	return library.Failure("cufftXtExec", int(C.gpk_cufft_exec(C.uintptr_t(ctx), &c)), "")
}

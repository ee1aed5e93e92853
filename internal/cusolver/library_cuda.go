//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cusolver

/*
#cgo linux LDFLAGS: -ldl

#include "run.h"
*/
import "C"

import "unsafe"

func bind(handle uintptr) (version int, missing string) {
	if missing := C.gpk_cusolver_bind(C.uintptr_t(handle)); missing != nil {
		return 0, C.GoString(missing)
	}
	return int(C.gpk_cusolver_version()), ""
}

func bindDriver(driver uintptr) (missing string) {
	return C.GoString(C.gpk_cusolver_bind_driver(C.uintptr_t(driver)))
}

// Supported reports whether the library has a function. Only SyevBatched, of CUDA 12.6, may be missing.
func Supported(k Kind) bool { return k != SyevBatched || C.gpk_cusolver_has_syev_batched() != 0 }

// session is cuSOLVER's own state of a handle.
type session struct{ c *C.gpk_cusolver_session }

func newSession(ctx uintptr) (*session, error) {
	s := &session{}
	return s, Failure("cusolverDnCreate", int(C.gpk_cusolver_new(C.uintptr_t(ctx), &s.c)))
}

// end ends the session, whose work is done.
func (s *session) end(ctx uintptr) { C.gpk_cusolver_end(C.uintptr_t(ctx), s.c) }

// size returns the bytes of device memory and of the host's memory that a call works in.
func (s *session) size(ctx uintptr, c *Call) (work, host int64, err error) {
	p := c.packed()
	code := C.gpk_cusolver_size(C.uintptr_t(ctx), s.c, &p)
	return int64(p.bytes), int64(p.host), Failure(c.Kind.String()+"_bufferSize", int(code))
}

// run starts the call.
func (s *session) run(ctx uintptr, c *Call, r *request) error {
	p := c.packed()
	p.stream, p.work, p.pointers = C.uint64_t(r.stream), C.uint64_t(r.work), C.uint64_t(r.pointers)
	p.bytes, p.host = C.size_t(r.bytes), C.size_t(r.host)
	return Failure(c.Kind.String(), int(C.gpk_cusolver_run(C.uintptr_t(ctx), s.c, &p, (*C.double)(unsafe.SliceData(c.Sigma)))))
}

// packed returns the call as C has it.
func (c *Call) packed() C.gpk_cusolver_call {
	flag := func(b bool) C.int {
		if b {
			return 1
		}
		return 0
	}
	operand := func(o Operand) C.gpk_cusolver_operand {
		return C.gpk_cusolver_operand{C.uint64_t(o.Addr), C.int64_t(max(1, o.Ld)), C.int64_t(o.Step)}
	}
	return C.gpk_cusolver_call{
		kind: C.int(c.Kind), _type: C.int(types[c.Type]), upper: flag(c.Upper), adjoint: flag(c.Adjoint), vectors: flag(c.Vectors), full: flag(c.Full),
		m: C.int64_t(c.M), n: C.int64_t(c.N), k: C.int64_t(c.K), batch: C.int64_t(c.Batch),
		a: operand(c.A), b: operand(c.B), c: operand(c.C), d: operand(c.D), info: C.uint64_t(c.Info.Addr()),
	}
}

//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cusolver

/*
#cgo linux LDFLAGS: -ldl

#include "run.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/gpk-go/gpk/internal/dynlib"
)

// load binds cuSOLVER's functions, and returns its version: 12004 is 12.0.4.
func load(path string) (version int, err error) {
	handle, err := dynlib.Open(path)
	if err != nil {
		return 0, err
	}
	if missing := C.gpk_cusolver_bind(C.uintptr_t(handle)); missing != nil {
		return 0, errors.New("lacks " + C.GoString(missing))
	}
	if version = int(C.gpk_cusolver_version()); version == 0 {
		return 0, errors.New("does not say which version it is")
	}
	return version, nil
}

// Supported reports whether the library has a function. Only SyevBatched, of CUDA 12.6, may be missing.
func Supported(k Kind) bool { return k != SyevBatched || C.gpk_cusolver_has_syev_batched() != 0 }

// context is the primary context of a device; 0 for the CPU.
type context = C.uintptr_t

// bindDriver binds the driver's functions, where the process has loaded the driver.
func bindDriver() error {
	handle, err := dynlib.Driver()
	if err != nil {
		return err
	}
	if missing := C.gpk_cusolver_bind_driver(C.uintptr_t(handle)); missing != nil {
		return errors.New("the driver lacks " + C.GoString(missing))
	}
	return nil
}

func retain(ordinal int) (context, error) {
	var c C.uintptr_t
	return c, failure("cuDevicePrimaryCtxRetain", C.gpk_cusolver_retain(C.int(ordinal), &c))
}

// failure turns a result into an error; nil for success.
func failure(call string, code C.int) error {
	switch {
	case code == 0:
		return nil
	case code < 0:
		return fmt.Errorf("%s: CUDA error %d", call, -int(code))
	}
	return &Error{Call: call, Code: int(code)}
}

// session is cuSOLVER's own state of a handle.
type session struct{ c *C.gpk_cusolver_session }

func newSession(ctx context) (*session, error) {
	s := &session{}
	return s, failure("cusolverDnCreate", C.gpk_cusolver_new(ctx, &s.c))
}

// size returns the bytes of device memory and of the host's memory that a call works in.
func (s *session) size(ctx context, c *Call) (work, host int64, err error) {
	p := c.packed()
	code := C.gpk_cusolver_size(ctx, s.c, &p)
	return int64(p.bytes), int64(p.host), failure(c.Kind.String()+"_bufferSize", code)
}

// run starts the call.
func (s *session) run(ctx context, c *Call, r *request) error {
	p := c.packed()
	p.stream, p.work, p.pointers = C.uint64_t(r.stream), C.uint64_t(r.work), C.uint64_t(r.pointers)
	p.bytes, p.host = C.size_t(r.bytes), C.size_t(r.host)
	return failure(c.Kind.String(), C.gpk_cusolver_run(ctx, s.c, &p, (*C.double)(unsafe.SliceData(c.Sigma))))
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

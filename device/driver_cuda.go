//go:build cgo && linux && (amd64 || arm64) && !nocuda

package device

/*
#cgo linux LDFLAGS: -ldl
#cgo noescape gpk_cu_copy_in
#cgo nocallback gpk_cu_copy_in
#cgo noescape gpk_cu_sync_copy_out
#cgo nocallback gpk_cu_sync_copy_out
#cgo noescape gpk_cu_copy_out
#cgo nocallback gpk_cu_copy_out
#cgo noescape gpk_cu_alloc
#cgo nocallback gpk_cu_alloc
#cgo noescape gpk_cu_new_event
#cgo nocallback gpk_cu_new_event
#cgo nocallback gpk_cu_record
#cgo nocallback gpk_cu_wait
#cgo nocallback gpk_cu_event_done
#cgo nocallback gpk_cu_launch
#cgo nocallback gpk_cu_copy_within

#include <stdlib.h>
#include "driver_cuda.h"
*/
import "C"

import (
	"fmt"
	"os"
	"strings"
	"time"
	"unsafe"

	"github.com/gpk-go/gpk/internal/submit"
)

// driverLibrary is the NVIDIA driver's user-space library.
const driverLibrary = "libcuda.so.1"

// cudaDriver is the CUDA driver of this process.
type cudaDriver struct {
	version int // 13000 is CUDA 13.0
	count   int
}

func loadDriver() (driver, error) { return loadDriverFrom(driverLibrary) }

// loadDriverFrom binds the driver's functions. It is called once per process: a driver is never
// unloaded.
func loadDriverFrom(library string) (driver, error) {
	name := C.CString(library)
	defer C.free(unsafe.Pointer(name))
	var why [512]C.char
	switch C.gpk_cu_load(name, &why[0], C.size_t(len(why))) {
	case -1:
		return nil, fmt.Errorf("the NVIDIA driver's %s was not found: %s (no driver is installed, or this is a container that was started without GPUs)", library, C.GoString(&why[0]))
	case -2:
		return nil, fmt.Errorf("the NVIDIA driver is too old, version 525 or newer is needed: %s", C.GoString(&why[0]))
	}
	var version, count C.int
	if code := C.gpk_cu_init(&version, &count); code != 0 {
		return nil, fmt.Errorf("%s was found, but does not start: %w", library, cudaError("cuInit", code))
	}
	return &cudaDriver{version: int(version), count: int(count)}, nil
}

// cudaError converts a result code to an error; nil for success.
func cudaError(call string, code C.int) error {
	if code == 0 {
		return nil
	}
	return &driverError{code: int(code), call: call, name: C.GoString(C.gpk_cu_error_name(code)), text: C.GoString(C.gpk_cu_error_text(code))}
}

func (c *cudaDriver) devices() ([]Info, error) {
	var list []Info
	for i := range c.count {
		var (
			name   [256]C.char
			total  C.size_t
			values [7]C.int // in the order of gpk_cu_describe
		)
		if code := C.gpk_cu_describe(C.int(i), &name[0], C.int(len(name)), &total, &values[0]); code != 0 {
			return nil, fmt.Errorf("describing cuda:%d: %w", i, cudaError("cuDeviceGetAttribute", code))
		}
		list = append(list, Info{
			Name: C.GoString(&name[0]), Kind: CUDA, Index: i, SM: int(values[2]*10 + values[3]), MultiProcessors: int(values[0]),
			TotalMemory: int64(total), L2Bytes: int64(values[1]), SharedMemoryPerBlock: int64(values[4]),
			Driver: c.describe(), CUDA: c.version, ClusterLaunch: values[5] != 0, TensorMaps: values[6] != 0,
		})
	}
	return list, nil
}

// describe returns the driver's version, if the kernel module reports it, and the newest
// CUDA version that it supports.
func (c *cudaDriver) describe() string {
	s := fmt.Sprintf("CUDA %d.%d", c.version/1000, c.version%1000/10)
	if text, err := os.ReadFile("/sys/module/nvidia/version"); err == nil {
		return strings.TrimSpace(string(text)) + " (" + s + ")"
	}
	// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul …"
	text, _ := os.ReadFile("/proc/driver/nvidia/version")
	line, _, _ := strings.Cut(string(text), "\n")
	for _, f := range strings.Fields(line) {
		if f[0] >= '0' && f[0] <= '9' && strings.Contains(f, ".") {
			return f + " (" + s + ")"
		}
	}
	return s
}

func (c *cudaDriver) open(ordinal int) (backend, error) {
	var context C.uintptr_t
	if code := C.gpk_cu_open(C.int(ordinal), &context); code != 0 {
		return nil, cudaError("cuDevicePrimaryCtxRetain", code)
	}
	return &cudaBackend{ordinal, context, submit.New(submit.ModeOf())}, nil
}

// cudaBackend is one GPU through its primary context, which the CUDA runtime in the kernel
// library uses too.
type cudaBackend struct {
	ordinal int
	context C.uintptr_t
	calls   *submit.Queue // queued launches; drained before any other call that is ordered on a stream
}

func (b *cudaBackend) close() {
	b.calls.Close()
	b.calls = nil
	C.gpk_cu_close(C.int(b.ordinal))
}

func (b *cudaBackend) memory() (free, total int64, err error) {
	var f, t C.size_t
	code := C.gpk_cu_mem_info(b.context, &f, &t)
	return int64(f), int64(t), cudaError("cuMemGetInfo", code)
}

func (b *cudaBackend) alloc(n int64) (memory, error) {
	var a C.uint64_t
	code := C.gpk_cu_alloc(b.context, &a, C.size_t(n))
	return memory{addr: uint64(a)}, cudaError("cuMemAlloc", code)
}

func (b *cudaBackend) free(m memory) error {
	b.calls.Drain()
	return cudaError("cuMemFree", C.gpk_cu_free(b.context, C.uint64_t(m.addr)))
}

func (b *cudaBackend) allocHost(n int) (unsafe.Pointer, error) {
	var p unsafe.Pointer
	code := C.gpk_cu_alloc_host(b.context, &p, C.size_t(n))
	return p, cudaError("cuMemHostAlloc", code)
}

func (b *cudaBackend) freeHost(p unsafe.Pointer) error {
	b.calls.Drain()
	return cudaError("cuMemFreeHost", C.gpk_cu_free_host(b.context, p))
}

func (b *cudaBackend) newStream() (uint64, error) {
	var s C.uint64_t
	code := C.gpk_cu_new_stream(b.context, &s)
	return uint64(s), cudaError("cuStreamCreate", code)
}

func (b *cudaBackend) closeStream(stream uint64) error {
	b.calls.Drain()
	return cudaError("cuStreamDestroy", C.gpk_cu_close_stream(b.context, C.uint64_t(stream)))
}

func (b *cudaBackend) syncStream(stream uint64) error {
	b.calls.Drain()
	return cudaError("cuStreamSynchronize", C.gpk_cu_sync_stream(b.context, C.uint64_t(stream)))
}

// eventFlags are CU_EVENT_DISABLE_TIMING, 2, and CU_EVENT_BLOCKING_SYNC, 1.
var eventFlags = [...]C.uint{eventOrder: 2, eventTiming: 0, eventBlocking: 3}

func (b *cudaBackend) newEvent(kind eventKind) (uint64, error) {
	var e C.uint64_t
	code := C.gpk_cu_new_event(b.context, &e, eventFlags[kind])
	return uint64(e), cudaError("cuEventCreate", code)
}

func (b *cudaBackend) closeEvent(event uint64) error {
	return cudaError("cuEventDestroy", C.gpk_cu_close_event(b.context, C.uint64_t(event)))
}

func (b *cudaBackend) record(event, stream uint64) error {
	b.calls.Drain()
	return cudaError("cuEventRecord", C.gpk_cu_record(b.context, C.uint64_t(event), C.uint64_t(stream)))
}

func (b *cudaBackend) wait(stream, event uint64) error {
	b.calls.Drain()
	return cudaError("cuStreamWaitEvent", C.gpk_cu_wait(b.context, C.uint64_t(stream), C.uint64_t(event)))
}

func (b *cudaBackend) eventDone(event uint64) (bool, error) {
	const notReady = 600 // CUDA_ERROR_NOT_READY
	code := C.gpk_cu_event_done(b.context, C.uint64_t(event))
	if code == notReady {
		return false, nil
	}
	return code == 0, cudaError("cuEventQuery", code)
}

func (b *cudaBackend) syncEvent(event uint64) error {
	return cudaError("cuEventSynchronize", C.gpk_cu_sync_event(b.context, C.uint64_t(event)))
}

func (b *cudaBackend) elapsed(start, end uint64) (time.Duration, error) {
	var ms C.float
	code := C.gpk_cu_elapsed(b.context, C.uint64_t(start), C.uint64_t(end), &ms)
	return time.Duration(float64(ms) * float64(time.Millisecond)), cudaError("cuEventElapsedTime", code)
}

func (b *cudaBackend) copyIn(m memory, off int64, src unsafe.Pointer, n int64, stream, event uint64) error {
	b.calls.Drain()
	return cudaError("cuMemcpyHtoDAsync", C.gpk_cu_copy_in(b.context, C.uint64_t(m.addr)+C.uint64_t(off), src, C.size_t(n), C.uint64_t(stream), C.uint64_t(event)))
}

func (b *cudaBackend) copyOut(dst unsafe.Pointer, m memory, off, n int64, stream, event uint64) error {
	b.calls.Drain()
	return cudaError("cuMemcpyDtoHAsync", C.gpk_cu_copy_out(b.context, dst, C.uint64_t(m.addr)+C.uint64_t(off), C.size_t(n), C.uint64_t(stream), C.uint64_t(event)))
}

func (b *cudaBackend) syncCopyOut(dst unsafe.Pointer, m memory, off, n int64, stream uint64) error {
	b.calls.Drain()
	return cudaError("cuMemcpyDtoHAsync", C.gpk_cu_sync_copy_out(b.context, dst, C.uint64_t(m.addr)+C.uint64_t(off), C.size_t(n), C.uint64_t(stream)))
}

func (b *cudaBackend) copyWithin(dst memory, dstOff int64, src memory, srcOff, n int64, stream uint64) error {
	b.calls.Drain()
	return cudaError("cuMemcpyDtoDAsync", C.gpk_cu_copy_within(b.context, C.uint64_t(dst.addr)+C.uint64_t(dstOff), C.uint64_t(src.addr)+C.uint64_t(srcOff), C.size_t(n), C.uint64_t(stream)))
}

func (b *cudaBackend) copyPeer(dst memory, dstOff int64, from backend, src memory, srcOff, n int64, stream uint64) error {
	b.calls.Drain()
	peer, ok := from.(*cudaBackend)
	if !ok {
		return errorf("a copy between GPUs of different drivers")
	}
	return cudaError("cuMemcpyPeerAsync", C.gpk_cu_copy_peer(b.context, C.uint64_t(dst.addr)+C.uint64_t(dstOff), peer.context, C.uint64_t(src.addr)+C.uint64_t(srcOff), C.size_t(n), C.uint64_t(stream)))
}

func (b *cudaBackend) beginCapture(stream uint64) error {
	b.calls.Drain()
	return cudaError("cuStreamBeginCapture", C.gpk_cu_begin_capture(b.context, C.uint64_t(stream)))
}

func (b *cudaBackend) endCapture(stream uint64) (uint64, error) {
	b.calls.Drain()
	var g C.uint64_t
	code := C.gpk_cu_end_capture(b.context, C.uint64_t(stream), &g)
	return uint64(g), cudaError("cuStreamEndCapture", code)
}

func (b *cudaBackend) newExec(graph uint64) (uint64, error) {
	var x C.uint64_t
	code := C.gpk_cu_instantiate(b.context, C.uint64_t(graph), &x)
	return uint64(x), cudaError("cuGraphInstantiate", code)
}

func (b *cudaBackend) updateExec(exec, graph uint64) error {
	return cudaError("cuGraphExecUpdate", C.gpk_cu_update(b.context, C.uint64_t(exec), C.uint64_t(graph)))
}

func (b *cudaBackend) launchExec(exec, stream uint64) error {
	b.calls.Drain()
	return cudaError("cuGraphLaunch", C.gpk_cu_launch(b.context, C.uint64_t(exec), C.uint64_t(stream)))
}

func (b *cudaBackend) closeExec(exec uint64) error {
	return cudaError("cuGraphExecDestroy", C.gpk_cu_close_exec(b.context, C.uint64_t(exec)))
}

func (b *cudaBackend) closeGraph(graph uint64) error {
	return cudaError("cuGraphDestroy", C.gpk_cu_close_graph(b.context, C.uint64_t(graph)))
}

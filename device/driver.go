package device

import (
	"time"
	"unsafe"
)

// driver finds the devices of one kind.
type driver interface {
	// devices describes the devices that exist.
	devices() ([]Info, error)
	// open prepares a device for use.
	open(ordinal int) (backend, error)
}

// memory is an address on a device. host is the same address as a pointer if the processor
// can use it; the pointer also keeps memory of Go alive.
type memory struct {
	addr   uint64
	host   unsafe.Pointer
	mapped int64 // bytes mapped by the CPU's backend; 0: memory of Go
}

// eventKind is the purpose of an event.
type eventKind uint8

const (
	eventOrder    eventKind = iota // ordering only
	eventTiming                    // timing
	eventBlocking                  // ordering; a waiting thread sleeps and does not spin
)

// backend is one device of a driver. Streams, events and graphs are the driver's handles.
// Every method can be called from any thread: it sets the device, does its work and returns
// the error of that work. Only methods whose names begin with sync wait.
type backend interface {
	// close reverts open, if nothing else has been created.
	close()
	memory() (free, total int64, err error)
	alloc(n int64) (memory, error)
	free(m memory) error
	// allocHost returns host memory that the device accesses without a copy.
	allocHost(n int) (unsafe.Pointer, error)
	freeHost(p unsafe.Pointer) error

	newStream() (uint64, error)
	closeStream(stream uint64) error
	syncStream(stream uint64) error

	newEvent(kind eventKind) (uint64, error)
	closeEvent(event uint64) error
	record(event, stream uint64) error
	wait(stream, event uint64) error
	eventDone(event uint64) (bool, error)
	syncEvent(event uint64) error
	elapsed(start, end uint64) (time.Duration, error)

	// copyIn and copyOut copy n bytes between the host and the device, at offset off of m,
	// and then record event unless it is 0. The host's memory comes from allocHost, or the
	// caller waits before using it.
	copyIn(m memory, off int64, src unsafe.Pointer, n int64, stream, event uint64) error
	copyOut(dst unsafe.Pointer, m memory, off, n int64, stream, event uint64) error
	// syncCopyOut copies to any host memory and waits for the copy.
	syncCopyOut(dst unsafe.Pointer, m memory, off, n int64, stream uint64) error
	copyWithin(dst memory, dstOff int64, src memory, srcOff, n int64, stream uint64) error
	// copyPeer copies from another device of the same driver.
	copyPeer(dst memory, dstOff int64, from backend, src memory, srcOff, n int64, stream uint64) error

	beginCapture(stream uint64) error
	endCapture(stream uint64) (graph uint64, err error)
	newExec(graph uint64) (exec uint64, err error)
	updateExec(exec, graph uint64) error
	launchExec(exec, stream uint64) error
	closeExec(exec uint64) error
	closeGraph(graph uint64) error
}

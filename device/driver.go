package device

import (
	"time"
	"unsafe"
)

// driver finds the devices of one kind.
type driver interface {
	// devices describes what is there.
	devices() ([]Info, error)
	// open prepares a device for use.
	open(ordinal int) (backend, error)
}

// memory is a place on a device. host is the same place as a pointer, where
// the processor can use it: it also keeps memory of Go alive.
type memory struct {
	addr   uint64
	host   unsafe.Pointer
	mapped int64 // bytes that the CPU's backend maps; 0: memory of Go
}

// eventKind says what an event is for.
type eventKind uint8

const (
	eventOrder    eventKind = iota // ordering alone
	eventTiming                    // reads the time too
	eventBlocking                  // ordering; who waits for it sleeps and does not spin
)

// backend is one device as its driver has it. Streams, events and graphs are
// the driver's handles. Every method is complete in itself, from whatever
// thread it is called: it sets the device, does its work and answers with the
// error of that work. Only the methods whose names begin with sync wait.
type backend interface {
	// close gives back what opening took, where nothing else was made.
	close()
	memory() (free, total int64, err error)
	alloc(n int64) (memory, error)
	free(m memory) error
	// allocHost gives memory of the host that the device reads without a copy.
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

	// copyIn and copyOut move n bytes between the host and the device at m's
	// offset off, and record event behind it unless it is 0. The host's memory
	// is allocHost's, or the caller waits before he touches it.
	copyIn(m memory, off int64, src unsafe.Pointer, n int64, stream, event uint64) error
	copyOut(dst unsafe.Pointer, m memory, off, n int64, stream, event uint64) error
	// syncCopyOut copies to any memory of the host and waits for it.
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

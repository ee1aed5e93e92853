package device

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpk-go/gpk/dtype"
)

// Observer is told what happens on the devices while Observe has it. Many goroutines call
// its methods at once, some with the lock of a device: a method must not call functions of
// this package, except Device.String and Stream's ID and Device.
type Observer interface {
	// BeginOperation and EndOperation surround an operation, in its goroutine.
	BeginOperation(op *Operation)
	EndOperation(op *Operation)
	// BeginWork and EndWork surround the call that starts a piece of work, in its
	// goroutine. Work that a stream records for a graph has no EndWork.
	BeginWork(m *Measurement)
	EndWork(m *Measurement)
	// Allocated and Freed tell of buffers of the pool.
	Allocated(b BufferUse)
	Freed(b BufferUse)
	// Captured tells that a sequence was recorded as a graph.
	Captured(d *Device)
	// KernelFound tells that a chain found its kernel compiled, KernelCompiled that the
	// compiler ran for so long.
	KernelFound(d *Device)
	KernelCompiled(d *Device, took time.Duration)
}

// BufferUse is a buffer that was allocated or freed, and the pool's state behind that.
type BufferUse struct {
	Device *Device
	ID     uint64 // no other buffer of the device ever has it
	Bytes  int64  // of its block
	InUse  int64  // PoolStats.InUse
	Held   int64  // PoolStats.InUse and Cached
}

// Operation is a call of the program that computes, as an Observer sees it. It starts any
// number of pieces of work.
type Operation struct {
	Name       string
	Site       fmt.Stringer // the line of the program; nil or a comparable type
	Stream     *Stream
	Begin, End time.Time
	Data       any // the observer's

	// These are known at the end.
	Shape  []int
	DType  string
	Bytes  int64         // read and written
	Flops  int64         // of products
	Kernel func() string // what computed it, as Explain prints it; for EndOperation alone
	Whole  bool          // its time is all of the call: it computes in goroutines of the host
	Err    error

	by *Observation
}

// Observation is an Observer that is told what happens, until Stop.
type Observation struct {
	observer Observer

	mu      sync.Mutex
	stopped bool
	timings map[*Device]*timing
}

// observation is the one under way; nil for none.
var observation atomic.Pointer[Observation]

// Observe has o told what happens on all devices from now on. A second Observe before Stop
// is an error.
func Observe(o Observer) (*Observation, error) {
	if o == nil {
		return nil, errorf("a nil Observer")
	}
	x := &Observation{observer: o, timings: map[*Device]*timing{}}
	if !observation.CompareAndSwap(nil, x) {
		return nil, errorf("the devices have an Observer already")
	}
	return x, nil
}

// Observed reports whether there is an Observer. It costs one load.
func Observed() bool { return observation.Load() != nil }

// Stop ends the observation: it waits for the measured work, fills in the measurements,
// and gives the events back. Calls under way may still reach the observer. A second Stop
// does nothing.
func (x *Observation) Stop() {
	if x == nil || !observation.CompareAndSwap(x, nil) {
		return
	}
	x.mu.Lock()
	x.stopped = true
	list := x.timings
	x.mu.Unlock()
	for _, t := range list {
		t.stop()
	}
}

// timing returns the clock of a GPU; nil once the observation has ended.
func (x *Observation) timing(d *Device) *timing {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.stopped {
		return nil
	}
	t := x.timings[d]
	if t == nil {
		t = newTiming(d)
		x.timings[d] = t
	}
	return t
}

// BeginOperation tells the observer that an operation begins on a stream; nil, which
// nobody has to end, where there is none. Work that the goroutine starts until Done belongs
// to it.
func BeginOperation[S fmt.Stringer](s *Stream, name string, site S) *Operation {
	x := observation.Load()
	if x == nil || s == nil {
		return nil
	}
	return x.begin(s, name, site)
}

func (x *Observation) begin(s *Stream, name string, site fmt.Stringer) *Operation {
	op := &Operation{Name: name, Site: site, Stream: s, Begin: time.Now(), by: x}
	x.observer.BeginOperation(op)
	return op
}

// Writes sets the type and shape of the operation's result, and counts its bytes. A nil
// Operation stays nil.
func (op *Operation) Writes(dt dtype.DType, shape []int) {
	if op == nil {
		return
	}
	n := int64(dt.Size())
	for _, length := range shape {
		n *= int64(length)
	}
	op.DType, op.Shape = dt.String(), shape
	op.Bytes += n
}

// Then adds the name of an operation of a chain, and what it reads.
func (op *Operation) Then(name string, operands ...View) {
	if op == nil {
		return
	}
	if op.Name != "" {
		op.Name += "."
	}
	op.Name += name
	op.Reads(operands...)
}

// Reads counts the bytes of operands; elements that are broadcast count once.
func (op *Operation) Reads(operands ...View) {
	if op == nil {
		return
	}
	for i := range operands {
		v := &operands[i]
		if v.Buffer == nil {
			continue
		}
		n := int64(v.DType.Size())
		for k, stride := range v.Layout.Strides {
			if stride != 0 {
				n *= int64(v.Layout.Shape[k])
			}
		}
		op.Bytes += n
	}
}

// Done tells the observer that the operation has ended, with an error or nil.
func (op *Operation) Done(err error) {
	if op == nil || op.by == nil {
		return
	}
	op.Err, op.End = err, time.Now()
	op.by.observer.EndOperation(op)
}

// FoundKernel tells the observer that a chain found its kernel compiled.
func FoundKernel(d *Device) {
	if x := observation.Load(); x != nil {
		x.observer.KernelFound(d)
	}
}

// compiled tells the observer that the compiler has run since a time.
func (d *Device) compiled(since time.Time) {
	if x := observation.Load(); x != nil {
		x.observer.KernelCompiled(d, time.Since(since))
	}
}

// captured tells the observer of a new graph.
func (d *Device) captured() {
	if x := observation.Load(); x != nil {
		x.observer.Captured(d)
	}
}

// allocated tells the observer of a new buffer of so many bytes; mu is held.
func (d *Device) allocated(a *allocation, bytes int64) {
	if x := observation.Load(); x != nil {
		x.observer.Allocated(d.bufferUse(a, bytes))
	}
}

// freed tells the observer that a buffer was freed; mu is held.
func (d *Device) freed(a *allocation, bytes int64) {
	if x := observation.Load(); x != nil {
		x.observer.Freed(d.bufferUse(a, bytes))
	}
}

func (d *Device) bufferUse(a *allocation, bytes int64) BufferUse {
	s := &d.pool.stats
	return BufferUse{d, a.id, bytes, s.InUse, s.InUse + s.Cached}
}

// Package observe reports operations, and the work of the devices for them, to one
// Observer, such as package profile. Without an Observer an operation costs one additional
// load.
package observe

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/hook"
)

// Observer is notified of events while it is registered. Many goroutines call its methods
// at the same time; see device.Observer.
type Observer interface {
	device.Observer
	// BeginOperation and EndOperation surround an operation, in its goroutine.
	BeginOperation(op *Operation)
	EndOperation(op *Operation)
	// KernelFound reports that a chain found its kernel compiled.
	KernelFound(d *device.Device)
}

// current is the registered Observer; nil for none.
var current atomic.Pointer[Observer]

var observe = hook.Observe.(func(device.Observer) (stop func(), err error))

// Start registers o until stop is called. A second Start before that is an error. stop
// waits for the measured work and fills in the measurements; calls in progress may still
// reach o. A second stop does nothing.
func Start(o Observer) (stop func(), err error) {
	end, err := observe(o)
	if err != nil {
		return nil, err
	}
	x := &o
	current.Store(x)
	return func() {
		current.CompareAndSwap(x, nil)
		end()
	}, nil
}

// Operation is a call of the program that computes, as an Observer sees it. It starts any
// number of pieces of work.
type Operation struct {
	Name       string
	Site       fmt.Stringer // the line of the program; nil or a comparable type
	Stream     *device.Stream
	Begin, End time.Time
	Data       any // the observer's

	// These are known at the end.
	Shape  []int
	DType  string
	Bytes  int64         // read and written
	Flops  int64         // floating-point operations of products
	Kernel func() string // returns the kernel, as in Explain; only for EndOperation
	Whole  bool          // its time is all of the call: it computes in goroutines of the host
	Err    error

	by Observer
}

// Begin reports that an operation begins on a stream. Work that the goroutine starts until
// Done belongs to it. Without an observer it returns nil, and Done need not be called.
func Begin[S fmt.Stringer](s *device.Stream, name string, site S) *Operation {
	x := current.Load()
	if x == nil || s == nil {
		return nil
	}
	return begin(*x, s, name, site)
}

func begin(o Observer, s *device.Stream, name string, site fmt.Stringer) *Operation {
	op := &Operation{Name: name, Site: site, Stream: s, Begin: time.Now(), by: o}
	o.BeginOperation(op)
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

// Then adds the name of an operation of a chain, and the operands that it reads.
func (op *Operation) Then(name string, operands ...device.View) {
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
func (op *Operation) Reads(operands ...device.View) {
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

// Done reports that the operation has ended, with an error or nil.
func (op *Operation) Done(err error) {
	if op == nil || op.by == nil {
		return
	}
	op.Err, op.End = err, time.Now()
	op.by.EndOperation(op)
}

// KernelFound reports that a chain found its kernel compiled.
func KernelFound(d *device.Device) {
	if x := current.Load(); x != nil {
		(*x).KernelFound(d)
	}
}

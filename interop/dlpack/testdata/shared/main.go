// Command shared is a library of C functions over package dlpack, which peers.py calls.
// It is built with -buildmode=c-shared.
package main

// #include <stdint.h>
// #include <stdlib.h>
import "C"

import (
	"context"
	"unsafe"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/interop/dlpack"
)

func main() {}

// last is the text of the last error.
var last string

func kept(err error) bool {
	if err != nil {
		last = err.Error()
	}
	return err != nil
}

func from(p unsafe.Pointer, versioned C.int) *gpk.Array {
	if versioned != 0 {
		return dlpack.FromVersioned(p)
	}
	return dlpack.FromManaged(p)
}

func to(a *gpk.Array, versioned C.int) unsafe.Pointer {
	f := dlpack.ToManaged
	if versioned != 0 {
		f = dlpack.ToVersioned
	}
	p, err := f(a)
	if kept(err) {
		return nil
	}
	return p
}

// gpk_error returns the last error, which the caller frees.
//
//export gpk_error
func gpk_error() *C.char { return C.CString(last) }

// gpk_make lends the transpose of 0, 1, ... as a tensor [rows, columns], and frees the array at
// once. It returns nil if that fails.
//
//export gpk_make
func gpk_make(dev *C.char, dt, rows, columns, versioned C.int) unsafe.Pointer {
	d, err := device.Open(C.GoString(dev))
	if kept(err) {
		return nil
	}
	a := gpk.Arange(gpk.DType(dt), int(rows*columns)).To(d).Reshape(int(rows), int(columns))
	defer a.Free()
	return to(a.T(), versioned)
}

// gpk_triple takes a tensor over and lends 3 x + 1 of its elements.
//
//export gpk_triple
func gpk_triple(p unsafe.Pointer, versioned C.int) unsafe.Pointer {
	a := from(p, versioned)
	b := a.Mul(3).Add(1)
	q := to(b, versioned)
	a.Free()
	b.Free()
	return q
}

// gpk_increment takes a tensor over, adds 1 to its elements where they are, and gives it
// back. It returns whether that failed.
//
//export gpk_increment
func gpk_increment(p unsafe.Pointer, versioned C.int) bool {
	a := from(p, versioned)
	if kept(a.AddInPlace(1)) || kept(gpk.Synchronize(context.Background())) {
		return true
	}
	a.Free()
	return false
}

// gpk_memory returns the bytes in use on a device, or those that are kept for good.
//
//export gpk_memory
func gpk_memory(dev *C.char, exposed bool) int64 {
	d, err := device.Open(C.GoString(dev))
	if kept(err) {
		return -1
	}
	if exposed {
		return d.Pool().Exposed
	}
	return d.Pool().InUse
}

// Package kernels loads libraries of kernels outside libgpk.so, a program's own or companions
// of the kernel set, and launches their entry points on device buffers. A library is a shared object that was compiled by nvcc.
// gpk_kernels.h (Header) is the C side of the interface; docs/kernels.md explains both. To
// compile a kernel at run time use gpk.Kernel.
package kernels

import (
	_ "embed"
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"unsafe"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
)

// Header is the text of gpk_kernels.h, for programs that build a library.
//
//go:embed gpk_kernels.h
var Header string

// Describe writes PATH.json beside the library at path, with its size, its SHA-256 and the
// version of the interface. Load refuses a library that does not match. A build calls
// Describe last.
func Describe(path string) error { return cutlass.DescribeKernelLibrary(path) }

// Library is a library of kernels on one GPU.
type Library struct {
	dev *device.Device
	lib *cutlass.KernelLibrary
}

// Load opens the library at path for kernels on d. The library is never unloaded.
//
// Errors: ErrNoGPU if d is a CPU, ErrDevice for a nil d, d's error if d cannot be used. If
// the library is missing, not described, damaged, or for another machine or interface
// version, the error is a *cutlass.LibraryError and it is not loaded.
func Load(d *device.Device, path string) (*Library, error) {
	if err := needGPU(d, path); err != nil {
		return nil, err
	}
	lib, err := cutlass.OpenKernelLibrary(path) //nolint:staticcheck // in a build without CUDA it always fails
	if err != nil {                             //nolint:staticcheck // as above
		return nil, err
	}
	return &Library{d, lib}, nil
}

// LoadCompanion loads a library that `gpk setup` built along with d's libgpk.so, from the
// same place: its folder, the folder that GPK_LIB names, or the kernels in the program. name
// is "quantum" for libgpk_quantum.so; cutlass.Companions lists all. The library is never
// unloaded.
//
// Errors: those of Load, and ErrNoGPU for a GPU without a kernel library. If the companion is missing, damaged, or of another build than d's
// libgpk.so, the error is a *cutlass.LibraryError that names the file and the remedy.
func LoadCompanion(d *device.Device, name string) (*Library, error) {
	if err := needGPU(d, cutlass.CompanionLibrary(name)); err != nil {
		return nil, err
	}
	if d.Library() == nil {
		return nil, fmt.Errorf("%w: %v has no kernel library beside which %s could be", device.ErrNoGPU, d, cutlass.CompanionLibrary(name))
	}
	lib, err := d.Library().OpenCompanion(name)
	if err != nil {
		return nil, err
	}
	return &Library{d, lib}, nil
}

// needGPU returns an error unless d is a GPU that can be used.
func needGPU(d *device.Device, library string) error {
	if err := d.Err(); err != nil {
		return err
	}
	if d.Kind() != device.CUDA {
		return fmt.Errorf("%w: the kernels of %s need a CUDA device, this is %v", device.ErrNoGPU, library, d)
	}
	return nil
}

// Path returns the file from which the library was loaded, with links resolved. It is empty
// for a nil or zero Library.
func (l *Library) Path() string {
	if l.none() {
		return ""
	}
	return l.lib.Path()
}

// none reports whether l was not made by Load.
func (l *Library) none() bool { return l == nil || l.lib == nil }

// Entry is an entry point of a library that takes its arguments in a struct A.
type Entry[A any] struct {
	dev   *device.Device
	entry cutlass.KernelEntry
	calls *sync.Pool // holds *call[A]
}

// call is the work of one launch. Launch reuses it, so that a launch allocates nothing. The
// arguments are an object of their own, because cgo passes no pointer to an object that
// contains Go pointers.
type call[A any] struct {
	entry *Entry[A]
	args  *A
}

// Start implements device.Work.
func (c *call[A]) Start(ordinal int, stream uint64) error {
	return c.entry.call(ordinal, stream, c.args)
}

// Bind finds the entry point with a C name. A is a struct of numbers of fixed size with the
// layout of the entry point's C struct; an address is a uint64 (device.Buffer.Addr).
//
// Errors: ErrDevice for a nil or zero l; ErrUnsupported if A is not such a struct;
// *cutlass.LibraryError if the library lacks the entry point.
func Bind[A any](l *Library, name string) (*Entry[A], error) {
	if l.none() {
		return nil, fmt.Errorf("%w: a nil or zero kernel library; Load makes one", device.ErrDevice)
	}
	t := reflect.TypeFor[A]()
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%w: entry %s takes its arguments in a struct, not in %v", expr.ErrUnsupported, name, t)
	}
	if err := fixed(t, t.String()); err != nil {
		return nil, fmt.Errorf("entry %s: %w", name, err)
	}
	e, err := l.lib.Entry(name)
	if err != nil {
		return nil, err
	}
	entry := &Entry[A]{dev: l.dev, entry: e}
	entry.calls = &sync.Pool{New: func() any { return &call[A]{entry, new(A)} }}
	return entry, nil
}

// fixed checks that t has the same layout in C as in Go: no pointers, and no sizes that
// depend on the machine.
func fixed(t reflect.Type, at string) error {
	switch t.Kind() {
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return nil
	case reflect.Array:
		return fixed(t.Elem(), at+"[…]")
	case reflect.Struct:
		for i := range t.NumField() {
			if err := fixed(t.Field(i).Type, at+"."+t.Field(i).Name); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("%w: %s is a %v; arguments are numbers of fixed size, addresses are uint64", expr.ErrUnsupported, at, t)
}

// Launch starts the entry point on s (nil: the device's default stream) and does not wait.
// reads and writes are the buffers whose addresses args contains. Launch orders them with
// other work as device.LaunchWork does, and keeps them alive. args is read before Launch
// returns.
//
// Errors: ErrDevice for a nil or zero e, those of device.LaunchWork, and a *cutlass.Error
// with the code that the entry point returned.
func (e *Entry[A]) Launch(s *device.Stream, reads, writes []*device.Buffer, args A) error {
	if err := e.check(); err != nil {
		return err
	}
	c := e.calls.Get().(*call[A])
	*c.args = args
	err := e.dev.LaunchWork(s, reads, writes, c)
	e.calls.Put(c)
	return err
}

// Query calls an entry point that only computes on the host, such as the size of a
// workspace. It may write its result to args. The call is not ordered with other work, and
// its stream is 0.
func (e *Entry[A]) Query(args *A) error {
	if err := e.check(); err != nil {
		return err
	}
	if args == nil {
		return fmt.Errorf("%w: entry %s without arguments", expr.ErrUnsupported, e.entry.Name())
	}
	return e.call(e.dev.Info().Index, 0, args)
}

// check returns an error if e was not made by Bind.
func (e *Entry[A]) check() error {
	if e == nil || e.dev == nil {
		return fmt.Errorf("%w: a nil or zero entry of a kernel library; Bind makes one", device.ErrDevice)
	}
	return nil
}

func (e *Entry[A]) call(ordinal int, stream uint64, args *A) error {
	err := e.entry.Call(ordinal, stream, unsafe.Pointer(args), unsafe.Sizeof(*args))
	runtime.KeepAlive(args)
	return err
}

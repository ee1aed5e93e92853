// Package userkernel has kernels that a program supplies as CUDA C++: compiling them, their arguments, and
// launching them on arrays. Users import package gpk, which re-exports everything here.
//
// What belongs here: the rules of a launch. What does not: compiling and loading code (package device), and
// the effect of a write in place on an array's readers (package array).
package userkernel

import (
	"fmt"
	"slices"
	"sync"

	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
)

// UserKernel is a kernel of the program's own, compiled from CUDA C++. It is safe for use
// by many goroutines. It stays loaded as long as the program runs, and compiling the same
// source again returns the same code.
type UserKernel struct {
	code    device.Code
	devices sync.Map // *device.Device -> *device.Function
}

// LaunchOptions are the options of a launch. The zero value selects the block size with the highest
// occupancy, and one thread for each element of the largest array.
type LaunchOptions struct {
	Grid, Block [3]int         // all 0: as above; otherwise 0 means 1
	SharedBytes int            // bytes of dynamic shared memory
	Stream      *device.Stream // nil: the stream of the first array
	Written     []int          // the arguments that the kernel writes, counted from 0; nil: every array
}

// Kernel compiles CUDA C++ for the default device (or, if that is the CPU, for the first GPU that works)
// and returns its __global__ function with the given name: an extern "C" name, or a C++ name such as
// "scale<float>". The source can include CUDA's own headers if the compiler's folder has them, but no
// headers of the host.
//
// Errors: *device.CompileError with the compiler's log and the first line that it names, if the source does
// not compile; ErrNoGPU if there is no GPU; ErrUnsupported if there is no run-time compiler. The last two
// give the reasons.
func Kernel(source, name string) (*UserKernel, error) {
	op := array.NewOperation("Kernel", nil)
	d := device.Default()
	if err := d.Err(); err != nil {
		return nil, op.Wrap(err)
	}
	if d.Kind() == device.CPU {
		var err error
		if d, err = device.Open(device.CUDA.String()); err != nil {
			return nil, op.Wrap(fmt.Errorf("a kernel in CUDA C++ needs a GPU: %w", err))
		}
	}
	k := &UserKernel{code: device.Code{Source: source, Kernel: name, Options: []string{"--std=c++17"}, Headers: true}}
	if _, err := k.on(d); err != nil {
		return nil, op.Wrap(err)
	}
	return k, nil
}

// on returns the kernel as it is loaded on a device.
func (k *UserKernel) on(d *device.Device) (*device.Function, error) {
	if f, ok := k.devices.Load(d); ok {
		return f.(*device.Function), nil
	}
	f, err := d.Compile(k.code)
	if err == nil {
		k.devices.Store(d, f)
	}
	return f, err
}

// Launch starts the kernel on args, in the order of its parameters, and does not wait. An *Array stands for
// the address of its first element. Its elements must be dense in memory (Contiguous makes them so), else
// Launch returns ErrShape. A number must have the exact type of its parameter, which is one of gpk.Elem:
// complex64 is CUDA's float2 and complex128 its double2. An int is ErrDType, because C's int is shorter
// than Go's. Drivers from 550 on report a kernel's parameters; Launch then checks the number and the sizes
// of args.
//
// The kernel may write the arrays that Written lists; nil means all arrays. Arrays that were computed from
// these earlier keep their values, and views of these show the new elements. If Launch returns an error,
// nothing was started. An error of the kernel on the device, such as writing outside an array, is returned
// by the next call that waits, and may leave the device unusable.
func (k *UserKernel) Launch(o LaunchOptions, args ...any) error {
	var arrays []*array.Array
	for _, a := range args {
		if x, ok := a.(*array.Array); ok {
			arrays = append(arrays, x)
		}
	}
	if k == nil || k.code.Kernel == "" {
		return array.NewOperation("Launch", arrays).Wrap(fmt.Errorf("%w: a nil or zero UserKernel", expr.ErrUnsupported))
	}
	op := array.NewOperation("Launch of "+k.code.Kernel, arrays)
	return op.Wrap(k.launch(op, o, args, arrays))
}

// launch runs Launch as an operation. arrays are the arrays among args.
func (k *UserKernel) launch(op *array.Operation, o LaunchOptions, args []any, arrays []*array.Array) error {
	s, err := op.Stream()
	if err != nil {
		return err
	}
	if o.Stream != nil {
		s = o.Stream
	}
	if err := runs(s.Device(), arrays); err != nil {
		return err
	}
	f, err := k.on(s.Device())
	if err != nil {
		return err
	}
	elements := 0
	for _, a := range arrays {
		elements = max(elements, a.Size(), 1)
		if v := array.Shown(a); !v.Dense() {
			return layout.Errorf("elements of %v with strides %v are not contiguous; Contiguous copies them", v.Layout.Shape, v.Layout.Strides)
		}
	}
	l, err := f.Fit(device.Launch{Grid: o.Grid, Block: o.Block, Shared: o.SharedBytes}, elements)
	if err != nil {
		return err
	}
	writes, reads, err := o.roles(args)
	if err != nil {
		return err
	}
	return op.Write(s, writes, reads, func(buffers, written []*device.Buffer) error {
		params, err := arguments(f, args, buffers)
		if err != nil {
			return err
		}
		return s.Device().LaunchWork(s, buffers, written, f.Work(l, params))
	})
}

// roles returns the arrays that a launch writes, and those that it only reads.
func (o *LaunchOptions) roles(args []any) (writes, reads []*array.Array, err error) {
	for _, i := range o.Written {
		if i < 0 || i >= len(args) {
			return nil, nil, layout.Errorf("Written names argument %d of %d", i, len(args))
		}
		if _, ok := args[i].(*array.Array); !ok {
			return nil, nil, fmt.Errorf("%w: Written names argument %d, which is not an *Array", expr.ErrUnsupported, i)
		}
	}
	for i, arg := range args {
		a, ok := arg.(*array.Array)
		switch {
		case !ok:
		case o.Written == nil || slices.Contains(o.Written, i):
			writes = append(writes, a)
		default:
			reads = append(reads, a)
		}
	}
	// An array that is an argument twice, read and written, counts as written.
	reads = slices.DeleteFunc(reads, func(a *array.Array) bool { return slices.Contains(writes, a) })
	return writes, reads, nil
}

// runs returns an error if a kernel cannot run on a device, or not on all arrays.
func runs(d *device.Device, arrays []*array.Array) error {
	for _, a := range arrays {
		if a.Device() != d {
			return fmt.Errorf("%w: an array on %v in a launch on %v; move it with To", device.ErrDevice, a.Device(), d)
		}
	}
	if err := d.Err(); err != nil {
		return err
	}
	if d.Kind() == device.CPU {
		return fmt.Errorf("%w: a kernel in CUDA C++ on the CPU; move the arrays to a GPU with To", expr.ErrUnsupported)
	}
	return nil
}

// arguments returns the parameters of a launch. buffers are the buffers of the arrays among
// args.
func arguments(f *device.Function, args []any, buffers []*device.Buffer) ([]byte, error) {
	list := slices.Clone(args)
	for i, arg := range args {
		if a, ok := arg.(*array.Array); ok {
			at := buffers[0].Addr()
			if buffers = buffers[1:]; at != 0 && a.Size() > 0 {
				at += uint64(a.Offset() * a.DType().Size())
			}
			list[i] = device.Address(at)
		}
	}
	return f.Arguments(list)
}

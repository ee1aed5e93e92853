package fused

import (
	"fmt"
	"unsafe"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/cpu"
	"github.com/gpk-go/gpk/internal/deferred"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/layout"
)

// Pool holds the arguments of the pooling of a ragged batch; see cpu.Pool for the formula.
// X is [total, width] with adjacent elements in a row, Offsets is Int32 [batch+1] and
// dense, and Dst is [batch, width] of PooledType.
type Pool struct {
	Dst, X, Offsets  device.View
	First, Normalize bool
	Fail             func(error) error // adds context to an error of the offsets
}

// PooledType returns the type of the results for rows of a type.
func PooledType(dt dtype.DType) dtype.DType {
	if dt == dtype.Float64 {
		return dt
	}
	return dtype.Float32
}

// Check returns the shape of the result, or the first problem of the operands:
// layout.ErrShape, dtype.ErrDType or expr.ErrUnsupported. It looks only at types and
// layouts, and not at Dst.
func (p *Pool) Check() ([]int, error) {
	x, f := p.X.Layout.Shape, p.Offsets.Layout.Shape
	switch {
	case !p.X.DType.IsFloat():
		return nil, fmt.Errorf("%w: no pooling of %v; Cast(gpk.Float32)", dtype.ErrDType, p.X.DType)
	case p.Offsets.DType != dtype.Int32:
		return nil, fmt.Errorf("%w: the offsets are %v, not int32; Cast(gpk.Int32) them", dtype.ErrDType, p.Offsets.DType)
	case len(x) != 2:
		return nil, layout.Errorf("x is %v, not [total, width]", x)
	case len(f) != 1 || f[0] == 0:
		return nil, layout.Errorf("the offsets are %v, not [batch+1]", f)
	case f[0] > maxPooled:
		return nil, fmt.Errorf("%w: %d sequences, at most %d", expr.ErrUnsupported, f[0]-1, maxPooled-1)
	}
	shape := []int{f[0] - 1, x[1]}
	_, err := layout.Size(shape)
	return shape, err
}

// maxPooled is the maximum number of offsets, because the kernel's flag has 28 bits for
// their index.
const maxPooled = 1 << 28

// PlanPool describes how a batch is pooled on a kind of device.
func PlanPool(kind device.Kind) string {
	if kind == device.CPU {
		return "one pass over the rows, sums in float64"
	}
	return "one kernel, sums in float64"
}

// Run starts the work on s. Offsets that do not partition the rows are an error that wraps
// layout.ErrShape. The CPU returns it immediately, and writes nothing. On a GPU the kernel
// finds it, and the error is attached to Dst's buffer (deferred.Error). In a captured
// sequence the kernel clamps the offsets to the rows instead.
func (p *Pool) Run(s *device.Stream) error {
	return densely(s, p.Dst, func(dst device.View) error {
		to := *p
		to.Dst = dst
		return to.run(s)
	})
}

// run is Run for a dense Dst.
func (p *Pool) run(s *device.Stream) error {
	dev := s.Device()
	reads := []*device.Buffer{p.X.Buffer, p.Offsets.Buffer}
	if dev.Kind() == device.CPU {
		own := *p // a capture keeps the work after this call
		return dev.LaunchWork(s, reads, []*device.Buffer{p.Dst.Buffer}, &own)
	}
	if p.Dst.Layout.Size() == 0 {
		return nil
	}
	if s.Capturing() {
		return dev.LaunchWork(s, reads, []*device.Buffer{p.Dst.Buffer}, &poolKernel{Pool: *p, dev: dev})
	}
	return aside(s, p.Dst, func(dst device.View) error {
		to := *p
		to.Dst = dst
		return to.runChecked(s, reads)
	})
}

// runChecked starts the kernel, with a check of the offsets unless they were checked
// before. Dst's buffer must be fresh.
func (p *Pool) runChecked(s *device.Stream, reads []*device.Buffer) error {
	dev := s.Device()
	rows := p.X.Layout.Shape[0]
	failure, started, err := deviceapi.CheckOnce(p.Offsets.Buffer, offsetsOf(p.Offsets, rows), func() (*deferred.Error, error) { return p.checked(s, reads) })
	if err == nil && !started {
		err = dev.LaunchWork(s, reads, []*device.Buffer{p.Dst.Buffer}, &poolKernel{Pool: *p, dev: dev})
	}
	if err == nil {
		p.Dst.Buffer.State().Attach(failure)
	}
	return err
}

// checked starts the kernel with a check of the offsets, and returns the deferred error of
// this check.
func (p *Pool) checked(s *device.Stream, reads []*device.Buffer) (*deferred.Error, error) {
	dev, rows, fail := s.Device(), p.X.Layout.Shape[0], p.Fail
	k := &poolKernel{Pool: *p, dev: dev}
	failure, flags, err := dev.NewDeferredError(s, func(flags [2]int64) error { return failedBy(fail, pooledOffsets(flags[0], rows)) })
	if err != nil {
		return nil, err
	}
	k.flags = flags
	if err := dev.LaunchWork(s, reads, []*device.Buffer{p.Dst.Buffer, k.flags}, k); err != nil {
		k.flags.Free()
		return nil, err
	}
	return failure, nil
}

// failedBy returns fail(err). It returns err if err or fail is nil.
func failedBy(fail func(error) error, err error) error {
	if err != nil && fail != nil {
		return fail(err)
	}
	return err
}

// pooledOffsets returns the error of checkOffsets from the flag of a kernel that has
// checked the offsets.
func pooledOffsets(flag int64, rows int) error {
	if flag == 0 {
		return nil
	}
	kind, number, at := 4-flag>>60, maxPooled-1-flag>>32&(maxPooled-1), int64(uint32(flag))
	return flaggedOffsets([2]int64{kind, number<<32 | at}, rows)
}

// Start implements device.Work, on the CPU.
func (p *Pool) Start(int, uint64) error {
	offsets := unsafe.Slice((*int32)(p.Offsets.Ptr()), p.Offsets.Layout.Size())
	if err := checkOffsets(offsets, p.X.Layout.Shape[0]); err != nil || p.Dst.Layout.Size() == 0 {
		return failedBy(p.Fail, err)
	}
	work := cpu.Pool{
		Type: p.X.DType, X: p.X.Ptr(), Dst: p.Dst.Ptr(), Pitch: p.X.Layout.Strides[0], N: p.X.Layout.Shape[1],
		Offsets: offsets, First: p.First, Normalize: p.Normalize,
	}
	work.Run()
	return nil
}

// poolKernel is the launch of the library's kernel for a Pool.
type poolKernel struct {
	Pool
	dev   *device.Device
	flags *device.Buffer // nil: offsets are not checked
}

// Start implements device.Work.
func (k *poolKernel) Start(ordinal int, stream uint64) error {
	args := k.arguments()
	if err := clearFlags(k.dev, ordinal, stream, k.flags); err != nil {
		return err
	}
	return k.dev.Library().Pool(ordinal, stream, &args)
}

// Enqueue implements device.Queued.
func (k *poolKernel) Enqueue(ordinal int, stream uint64) (bool, error) {
	if k.flags != nil { // two launches
		return false, nil
	}
	args := k.arguments()
	return true, k.dev.Submitted().Pool(ordinal, stream, &args)
}

func (k *poolKernel) arguments() cutlass.Pool {
	args := cutlass.Pool{
		Type: k.X.DType, X: k.X.Addr(), Offsets: k.Offsets.Addr(), Dst: k.Dst.Addr(), Pitch: k.X.Layout.Strides[0],
		Rows: k.X.Layout.Shape[0], N: k.X.Layout.Shape[1], Batch: k.Offsets.Layout.Size() - 1, First: k.First, Normalize: k.Normalize,
	}
	if k.flags != nil {
		args.Flags = k.flags.Addr()
	}
	return args
}

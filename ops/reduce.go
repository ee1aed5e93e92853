package ops

import (
	"fmt"
	"math"
	"sync"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/cpu"
	"github.com/gpk-go/gpk/layout"
)

// reduction is the launch of one Reduce.
type reduction struct {
	op     expr.Op
	dev    *device.Device
	dst, x device.View
	dims   [2][maxDims]int // shape and strides of x, collapsed
	n      int             // number of dimensions
	axes   uint32          // bit d is set if dimension d is reduced
	work   uint64          // address of the workspace
	need   int64           // bytes of the workspace
	reads  [1]*device.Buffer
	writes [2]*device.Buffer
}

var reductions = sync.Pool{New: func() any { return new(reduction) }}

// Reduce reduces x with op over the axes for which axes is true. dst is dense and has the
// remaining axes. A reduction of no elements gives the operation's neutral element, except
// for the operations of NeedsElements.
func Reduce(s *device.Stream, op expr.Op, dst, x device.View, axes []bool) error {
	if !dst.Layout.IsDense() {
		return fmt.Errorf("%w: %v into a strided destination", expr.ErrUnsupported, op)
	}
	if dst.Layout.Size() == 0 {
		return nil
	}
	if x.Layout.Size() == 0 {
		return Fill(s, dst, neutral(op, dst.DType))
	}
	r := reductions.Get().(*reduction)
	defer r.done()
	r.op, r.dev, r.dst, r.x = op, s.Device(), dst, x
	if !r.collapse(&x.Layout, axes) {
		return reduceMany(s, op, dst, x, axes)
	}
	r.reads[0], r.writes[0] = x.Buffer, dst.Buffer
	writes := r.writes[:1]
	if r.dev.Kind() != device.CPU {
		var err error
		if r.need, err = r.dev.Library().ReduceWorkspace(r.dev.Info().Index, op, x.DType, dst.DType, r.dims[0][:r.n], r.axes); err != nil {
			return nameMissing(err, op, x.DType, r.dev)
		}
		if r.need > 0 {
			work, err := r.dev.Alloc(r.need, s)
			if err != nil {
				return err
			}
			defer work.Free()
			r.work, r.writes[1], writes = work.Addr(), work, r.writes[:2]
		}
	}
	return r.dev.LaunchWork(s, r.reads[:], writes, r)
}

// done clears the reduction and returns it to the pool.
func (r *reduction) done() {
	*r = reduction{}
	reductions.Put(r)
}

// Start implements device.Work.
func (r *reduction) Start(ordinal int, stream uint64) error {
	if r.dev.Kind() == device.CPU {
		shape, strides := r.dims[0][:r.n], r.dims[1][:r.n]
		return cpu.Reduce(r.op, r.x.DType, r.dst.DType, shape, r.axes, r.x.Ptr(), strides, r.dst.Ptr())
	}
	return r.enqueue(r.dev.Library(), ordinal, stream)
}

// Enqueue implements device.Queued.
func (r *reduction) Enqueue(ordinal int, stream uint64) (bool, error) {
	return true, r.enqueue(r.dev.Submitted(), ordinal, stream)
}

func (r *reduction) enqueue(lib entries, ordinal int, stream uint64) error {
	return lib.Reduce(ordinal, stream, r.op, r.x.DType, r.dst.DType, r.dims[0][:r.n], r.axes, r.x.Addr(), r.dims[1][:r.n], r.dst.Addr(), r.work, r.need)
}

// collapse drops dimensions of length 1. It merges neighbouring dimensions with one common
// stride if both or neither are folded. It reports whether at most maxDims remain.
func (r *reduction) collapse(l *layout.Layout, axes []bool) bool {
	k := 0 // dimensions so far
	for d, n := range l.Shape {
		if n == 1 {
			continue
		}
		if k > 0 && k <= maxDims && r.axes>>(k-1)&1 == 1 == axes[d] && r.dims[1][k-1] == l.Strides[d]*n {
			r.dims[0][k-1] *= n
			r.dims[1][k-1] = l.Strides[d]
			continue
		}
		if k < maxDims {
			r.dims[0][k], r.dims[1][k] = n, l.Strides[d]
			if axes[d] {
				r.axes |= 1 << k
			}
		}
		k++
	}
	if k == 0 {
		r.dims[0][0], r.dims[1][0], r.axes, k = 1, 1, 1, 1
	}
	r.n = k
	return k <= maxDims
}

// reduceMany is Reduce for more than maxDims dimensions. It reduces a dense copy. If folded
// and kept dimensions alternate too often, the copy has the kept ones first. The reduction
// tree still depends only on shape and type.
func reduceMany(s *device.Stream, op expr.Op, dst, x device.View, axes []bool) error {
	source, folded := x, axes
	dense := layout.Dense(x.Layout.Shape)
	if !new(reduction).collapse(&dense, axes) {
		order := make([]int, 0, len(axes))
		folded = make([]bool, 0, len(axes))
		for _, fold := range []bool{false, true} {
			for d := range axes {
				if axes[d] == fold {
					order, folded = append(order, d), append(folded, fold)
				}
			}
		}
		var err error
		if source.Layout, err = x.Layout.Transpose(order); err != nil {
			return err
		}
	}
	buf, err := s.Device().Alloc(int64(x.Layout.Size())*int64(x.DType.Size()), s)
	if err != nil {
		return err
	}
	defer buf.Free()
	copied := device.View{Buffer: buf, DType: x.DType, Layout: layout.Dense(source.Layout.Shape)}
	if err := Cast(s, copied, source); err != nil {
		return err
	}
	return Reduce(s, op, dst, copied, folded)
}

// NeedsElements reports whether a reduction of no elements is an error.
func NeedsElements(op expr.Op) bool {
	return op == expr.Max || op == expr.Min || op == expr.ArgMax || op == expr.ArgMin
}

// CheckOptions returns an error for options and axes that a reduction does not have. Var
// and Std with DDof are composed of other operations, so that DDof is an error here.
func CheckOptions(op expr.Op, r layout.Reduction) error {
	switch {
	case r.Given:
		return fmt.Errorf("%w: DDof is an option of Var and Std", expr.ErrUnsupported)
	case (op == expr.ArgMax || op == expr.ArgMin) && len(r.Axes) > 1:
		return layout.Errorf("%v works along one axis or over all, not over %v", op, r.Axes)
	}
	return nil
}

// neutral returns the result of a reduction of no elements, in the result's type.
func neutral(op expr.Op, dt dtype.DType) Scalar {
	switch op {
	case expr.Prod, expr.All:
		return one(dt)
	case expr.Mean, expr.Var:
		return nan(dt)
	}
	return Scalar{}
}

// one returns 1 in a type.
func one(dt dtype.DType) Scalar {
	switch dt {
	case dtype.Float32, dtype.Complex64:
		return Scalar{uint64(math.Float32bits(1))}
	case dtype.Float64, dtype.Complex128:
		return Scalar{math.Float64bits(1)}
	}
	if h, ok := dt.Half(); ok {
		return Scalar{uint64(h.Round(1))}
	}
	return Scalar{1}
}

// nan returns NaN in a floating-point or complex type.
func nan(dt dtype.DType) Scalar {
	const quiet32, quiet64 = 0x7fc00000, 0x7ff8 << 48
	switch dt {
	case dtype.Float32:
		return Scalar{quiet32}
	case dtype.Complex64:
		return Scalar{quiet32 | quiet32<<32}
	}
	if h, ok := dt.Half(); ok {
		return Scalar{uint64(h.NaN())}
	}
	return Scalar{quiet64, quiet64}
}

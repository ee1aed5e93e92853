package gorgonia

import (
	"fmt"
	"slices"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/interop/internal/site"
	"github.com/gpk-go/gpk/matmul"
	"gorgonia.org/tensor"
)

// DefaultMinSize is the number of multiply-adds below which a product stays on the CPU: a
// product of two matrices of 64 x 64. On a CPU gpk overtakes StdEng between 32 and 64
// (BenchmarkMatMul); on a GPU, copying two operands of that size to it and the result back
// takes some tens of microseconds, about as long as one core needs for the product.
const DefaultMinSize = 64 * 64 * 64

// Engine is a tensor engine that multiplies with gpk and does everything else as
// tensor.StdEng does. Pass it to tensors with tensor.WithEngine; tensors that are computed
// from them use it too. It is safe for use by many goroutines.
//
// Products of float32, float64, complex64 and complex128 tensors have the results of StdEng;
// they also accept views. In addition, the Engine multiplies tensors of the 16-bit types,
// with sums in float32, and of int32 and int64, which wrap. Products of other integers and
// bool are gpk.ErrDType. The tensor package itself refuses Dot, Inner and TensorMul for
// 16-bit types. On a GPU, float32 products are TF32 unless WithPrecision or gpk.SetPrecision
// says otherwise.
//
// A product copies its operands to the device and the result back. That is worthwhile for
// MatMul. MatVecMul and Outer use each copied element only once, so on a GPU they are
// limited by the copy.
type Engine struct {
	tensor.StdEng
	dev       *device.Device
	min       int
	precision matmul.Precision
}

// Option is an option of NewEngine.
type Option func(*Engine)

// WithDevice makes the engine use d. By default it uses the device that device.Default
// returns at each call.
func WithDevice(d *device.Device) Option { return func(e *Engine) { e.dev = d } }

// WithMinSize sets the size from which a product runs on the device, in multiply-adds: m*k*n
// for a product of m x k by k x n. Smaller products run on the CPU. The default is
// DefaultMinSize; with 0 all products run on the device.
func WithMinSize(n int) Option { return func(e *Engine) { e.min = n } }

// WithPrecision sets the precision of float32 and complex64 products on a GPU. With the
// default, matmul.Default, gpk.SetPrecision decides. Products of other types have only one
// precision.
func WithPrecision(p matmul.Precision) Option { return func(e *Engine) { e.precision = p } }

// NewEngine returns an engine for tensor.WithEngine.
func NewEngine(opts ...Option) *Engine {
	e := &Engine{min: DefaultMinSize}
	for _, o := range opts {
		if o != nil {
			o(e)
		}
	}
	return e
}

var (
	_ tensor.Engine      = (*Engine)(nil)
	_ tensor.MatMuler    = (*Engine)(nil)
	_ tensor.MatVecMuler = (*Engine)(nil)
	_ tensor.OuterProder = (*Engine)(nil)
)

// MatMul writes the product of a [m, k] and b [k, n] into prealloc [m, n]. All three are
// *tensor.Dense of one element type. If it fails, nothing is written.
func (e *Engine) MatMul(a, b, prealloc tensor.Tensor) error {
	p, err := summands(a, b, prealloc)
	if err != nil {
		return refused("MatMul", err)
	}
	x, y, out := p.a.Shape(), p.b.Shape(), p.out.Shape()
	if len(x) != 2 || len(y) != 2 || x[1] != y[0] || !slices.Equal(out, tensor.Shape{x[0], y[1]}) {
		return refused("MatMul", fmt.Errorf("%w: %v by %v into %v", gpk.ErrShape, x, y, out))
	}
	work := x[0] * x[1] * y[1]
	if e.standard(p, work) {
		return e.StdEng.MatMul(a, b, prealloc)
	}
	return e.run("MatMul", p, work, func(a, b *gpk.Array) *gpk.Array { return a.MatMul(b, e.options(p)...) })
}

// MatVecMul writes the product of a [m, n] and the vector b, of shape [n],
// [n, 1] or [1, n], into prealloc, which has m elements.
func (e *Engine) MatVecMul(a, b, prealloc tensor.Tensor) error {
	p, err := summands(a, b, prealloc)
	if err != nil {
		return refused("MatVecMul", err)
	}
	x, y, out := p.a.Shape(), p.b.Shape(), p.out.Shape()
	if len(x) != 2 || !vector(y, x[1]) || !vector(out, x[0]) {
		return refused("MatVecMul", fmt.Errorf("%w: %v by %v into %v", gpk.ErrShape, x, y, out))
	}
	work := x[0] * x[1]
	if e.standard(p, work) {
		return e.StdEng.MatVecMul(a, b, prealloc)
	}
	return e.run("MatVecMul", p, work, func(a, b *gpk.Array) *gpk.Array {
		return a.MatMul(b.Reshape(-1), e.options(p)...)
	})
}

// Outer writes the outer product of two vectors of m and n elements into prealloc [m, n].
// The vectors have the shapes that MatVecMul accepts. Every element is one product, rounded
// once.
func (e *Engine) Outer(a, b, prealloc tensor.Tensor) error {
	p, err := operands(a, b, prealloc)
	if err != nil {
		return refused("Outer", err)
	}
	x, y, out := p.a.Shape(), p.b.Shape(), p.out.Shape()
	m, n := x.TotalSize(), y.TotalSize()
	if !vector(x, m) || !vector(y, n) || !slices.Equal(out, tensor.Shape{m, n}) {
		return refused("Outer", fmt.Errorf("%w: %v by %v into %v", gpk.ErrShape, x, y, out))
	}
	return e.run("Outer", p, m*n, func(a, b *gpk.Array) *gpk.Array {
		return a.Reshape(-1, 1).Mul(b.Reshape(1, -1))
	})
}

// product holds the operands of a product and the carrier of their elements.
type product struct {
	a, b, out *tensor.Dense
	carrier   carrier
}

func operands(a, b, out tensor.Tensor) (p product, err error) {
	dense := [3]*tensor.Dense{}
	for i, t := range []tensor.Tensor{a, b, out} {
		d, ok := t.(*tensor.Dense)
		if !ok {
			return p, fmt.Errorf("%w: a tensor of type %T", gpk.ErrUnsupported, t)
		}
		c, err := check(d)
		if err != nil {
			return p, err
		}
		if p.carrier != nil && c != p.carrier {
			return p, fmt.Errorf("%w: tensors of %v and %v", gpk.ErrDType, p.carrier.dtype(), c.dtype())
		}
		dense[i], p.carrier = d, c
	}
	p.a, p.b, p.out = dense[0], dense[1], dense[2]
	return p, nil
}

// summands returns the operands of a product whose elements are sums.
func summands(a, b, out tensor.Tensor) (product, error) {
	p, err := operands(a, b, out)
	if err == nil {
		err = p.summable()
	}
	return p, err
}

// vector reports whether s is the shape of n elements in one row or column.
func vector(s tensor.Shape, n int) bool {
	long := 0
	for _, d := range s {
		if d != 1 {
			long++
		}
	}
	return (len(s) == 1 || len(s) == 2) && long <= 1 && s.TotalSize() == n
}

// standard reports whether StdEng computes a product: it is small, and StdEng multiplies its
// types and strides correctly and without a copy.
func (e *Engine) standard(p product, work int) bool {
	if work >= e.min {
		return false
	}
	switch p.carrier.dtype() {
	case gpk.Float32, gpk.Float64, gpk.Complex64, gpk.Complex128:
	default:
		return false
	}
	for _, t := range []*tensor.Dense{p.a, p.b, p.out} {
		if t.DataOrder() != 0 || !stridesOf(t).rowMajor() {
			return false
		}
	}
	return true
}

// options returns the precision option of MatMul, if the product has a choice of precisions.
func (e *Engine) options(p product) []matmul.Option {
	switch p.carrier.dtype() {
	case gpk.Float32, gpk.Complex64:
		return []matmul.Option{e.precision}
	}
	return nil
}

// run computes f(a, b) on the device for products of the given work.
func (e *Engine) run(name string, p product, work int, f func(a, b *gpk.Array) *gpk.Array) error {
	err := func() error {
		dev, err := e.device(work)
		if err != nil {
			return err
		}
		a, err := p.carrier.load(p.a, dev)
		if err != nil {
			return err
		}
		defer a.Free()
		b, err := p.carrier.load(p.b, dev)
		if err != nil {
			return err
		}
		defer b.Free()
		c := f(a, b)
		defer c.Free()
		return p.carrier.store(p.out, c.Reshape(p.out.Shape()...))
	}()
	if err != nil {
		return refused(name, err)
	}
	return nil
}

// refused returns an error of an engine's method. It names the line that called the method
// or, if the tensor package did, the line that called that package.
func refused(name string, err error) error { return site.Fail("gorgonia", name, err) }

// summable returns an error for a product whose element type gpk does not sum.
func (p product) summable() error {
	switch dt := p.carrier.dtype(); dt {
	case gpk.Int8, gpk.Uint8:
		return fmt.Errorf("%w: gpk returns a product of %v as int32, which a tensor of %v cannot hold; convert the operands to int32 first", gpk.ErrDType, dt, dt)
	case gpk.Bool:
		return fmt.Errorf("%w: no product of bool matrices; convert the operands to int32, which counts", gpk.ErrDType)
	default:
		if !dt.HasProducts() {
			return fmt.Errorf("%w: no product of %v matrices; convert the operands to int64 first", gpk.ErrDType, dt)
		}
	}
	return nil
}

// device returns the device for a product of `work` multiply-adds.
func (e *Engine) device(work int) (*device.Device, error) {
	switch {
	case work < e.min:
		return device.Open("cpu")
	case e.dev != nil:
		return e.dev, nil
	}
	return device.Default(), nil
}

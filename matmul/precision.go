package matmul

import (
	"fmt"
	"os"
	"sync/atomic"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/setting"
)

// Precision says how exactly a product of float32 or complex64 is computed. It is a choice
// of the program and never depends on a shape.
type Precision uint8

// The precisions. Default means TF32 for float32, which GPK_NO_TF32=1 turns
// into FullPrecision, and FullPrecision for complex64.
const (
	Default       Precision = iota
	TF32                    // operands rounded to 11 significant bits, float32 accumulation
	FullPrecision           // an error as small as that of an IEEE float32 product
)

// String returns default, tf32 or full.
func (p Precision) String() string {
	switch p {
	case Default:
		return "default"
	case TF32:
		return "tf32"
	case FullPrecision:
		return "full"
	}
	return fmt.Sprintf("Precision(%d)", uint8(p))
}

// Option changes one product. Precision is an Option.
type Option interface{ apply(*Options) }

// Options are the collected options of one product.
type Options struct {
	Precision Precision   // Default if the call has none
	Output    dtype.DType // Invalid if the call has none
	Kernel    string      // the name of a manifest entry, or empty
	AbsSquare bool
	Symmetric bool
}

func (p Precision) apply(o *Options) { o.Precision = p }

type outputOption dtype.DType

func (t outputOption) apply(o *Options) { o.Output = dtype.DType(t) }

// WithOutput asks for a result of type dt: the product's default type or, for operands of a
// 16-bit type, Float32, the type in which their sums are computed.
func WithOutput(dt dtype.DType) Option { return outputOption(dt) }

type resultOption uint8

func (r resultOption) apply(o *Options) {
	switch r {
	case AbsSquare:
		o.AbsSquare = true
	case Symmetric:
		o.Symmetric = true
	}
}

// Options for Gram matrices.
//
// AbsSquare returns the squared modulus of every element of the product. The result is
// real: Float32 for Complex64, Float64 for Complex128. For other types it has the type of
// the product. For half types the float32 sum is squared and then rounded once.
//
// Symmetric is the caller's promise that the product is symmetric, or Hermitian if it is
// complex: A times its own conjugate transpose, for example, or AbsSquare of that. gpk
// computes half of it and writes both halves, so that the result equals its conjugate
// transpose exactly. Which half is computed is not specified. A product that is not square
// is ErrShape.
const (
	AbsSquare resultOption = iota + 1
	Symmetric
)

type kernelOption string

func (k kernelOption) apply(o *Options) { o.Kernel = string(k) }

// WithKernel forces a kernel of the manifest by its name, for measuring and
// testing. A kernel that cannot compute the product is ErrUnsupported.
func WithKernel(name string) Option { return kernelOption(name) }

// Collect gathers options. A later option overrides an earlier one.
func Collect(opts []Option) Options {
	var o Options
	for _, f := range opts {
		if f != nil {
			f.apply(&o)
		}
	}
	return o
}

// globalPrecision is the precision of SetPrecision, for products that name none.
var globalPrecision atomic.Uint32

// SetPrecision sets the precision of products that name none and returns the previous one.
// With Default, GPK_NO_TF32 decides again. After a call with an invalid value, such
// products return dtype.ErrDType.
func SetPrecision(p Precision) (old Precision) {
	return Precision(globalPrecision.Swap(uint32(p)))
}

// Resolve returns the precision in which a product of operands of type d is
// computed: TF32 or FullPrecision for Float32 and Complex64, Default for
// types with one precision only. TF32 on the call for another type is
// dtype.ErrDType; FullPrecision is accepted.
func (o Options) Resolve(d dtype.DType) (Precision, error) {
	p := o.Precision
	if p > FullPrecision {
		return 0, fmt.Errorf("%w: %v is not a precision", dtype.ErrDType, p)
	}
	if d != dtype.Float32 && d != dtype.Complex64 {
		if p == TF32 {
			return 0, fmt.Errorf("%w: TF32 is a precision of float32 and complex64 products, not of %v", dtype.ErrDType, d)
		}
		return Default, nil
	}
	if p == Default {
		if p = Precision(globalPrecision.Load()); p > FullPrecision {
			return 0, fmt.Errorf("%w: SetPrecision was called with %v, which is not a precision", dtype.ErrDType, p)
		}
	}
	if p == Default {
		no, err := setting.Parse(os.Getenv("GPK_NO_TF32"))
		if err != nil {
			return 0, fmt.Errorf("GPK_NO_TF32: %w: %w", device.ErrDevice, err)
		}
		p = FullPrecision
		if d == dtype.Float32 && !no {
			p = TF32
		}
	}
	return p, nil
}

// ResultType returns the type of a product of two operands of type d with these options, or
// dtype.ErrDType if there is no such product.
func (o Options) ResultType(d dtype.DType) (dtype.DType, error) {
	own := d
	switch d {
	case dtype.Int8, dtype.Uint8:
		own = dtype.Int32
	case dtype.Bool:
		return 0, fmt.Errorf("%w: no product of bool matrices; Cast(gpk.Int32) counts", dtype.ErrDType)
	}
	if d.Valid() && !d.HasProducts() {
		return 0, fmt.Errorf("%w: no product of %v matrices; Cast(gpk.Int64) first", dtype.ErrDType, d)
	}
	if o.AbsSquare {
		switch d {
		case dtype.Complex64:
			own = dtype.Float32
		case dtype.Complex128:
			own = dtype.Float64
		}
	}
	switch {
	case o.Output == dtype.Invalid || o.Output == own:
		return own, nil
	case d.IsHalf() && o.Output == dtype.Float32:
		return dtype.Float32, nil
	}
	return 0, fmt.Errorf("%w: a product of %v gives %v, not %v; Cast the result", dtype.ErrDType, d, own, o.Output)
}

package compose

import (
	"fmt"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
)

// folded is a reduction of an operand over axes.
type folded struct {
	layout.Reduction
	set   []bool
	terms int   // elements in each sum
	shape []int // shape of the result
}

// foldOf checks an operation on a and parses its axes and options. It rejects DDof unless
// ddof is set.
func foldOf[A Operand](o Operation[A], a A, axes []int, ddof bool) (folded, error) {
	var f folded
	err := o.Check()
	if err == nil {
		f.Reduction, err = layout.ReductionOf(axes)
	}
	if err == nil {
		f.set, err = layout.AxisSet(f.Axes, a.NDim())
	}
	if err == nil && f.Given && !ddof {
		err = fmt.Errorf("%w: DDof is an option of Var and Std", expr.ErrUnsupported)
	}
	if err == nil {
		f.shape, f.terms = layout.Fold([]int{}, a.Shape(), f.set)
		if f.Keep {
			f.shape = layout.Kept(a.Shape(), f.set)
		}
	}
	return f, err
}

// kept returns the axes, and the option KeepDims.
func (f folded) kept() []int {
	axes := []int{layout.KeepDims}
	for d, in := range f.set {
		if in {
			axes = append(axes, d)
		}
	}
	return axes
}

// none reports whether there are no axes to reduce.
func (f folded) none() bool {
	for _, in := range f.set {
		if in {
			return false
		}
	}
	return true
}

// wide returns a in the type in which the steps of a composition compute: half types as
// Float32.
func wide[A Operand](o Operation[A], a A) A {
	if a.DType().IsHalf() {
		return o.Cast(a, dtype.Float32)
	}
	return a
}

// narrow returns a result of wide operands in the type dt.
func narrow[A Operand](o Operation[A], a A, dt dtype.DType) A {
	if a.DType() != dt {
		return o.Cast(a, dt)
	}
	return a
}

// floating returns an error for a type that is not a floating-point type. Complex types are
// allowed only if complexes is set.
func floating(dt dtype.DType, complexes bool) error {
	switch {
	case dt.IsFloat() || dt.IsComplex() && complexes:
		return nil
	case dt.IsComplex():
		return fmt.Errorf("%w: %v is not a real type; Abs, Real and Imag are", dtype.ErrDType, dt)
	}
	return fmt.Errorf("%w: %v is not a floating-point type; Cast(gpk.Float32) or Cast(gpk.Float64) first", dtype.ErrDType, dt)
}

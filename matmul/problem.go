package matmul

import (
	"cmp"
	"fmt"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
)

// Layout says along which axis an operand's matrix is contiguous.
type Layout uint8

// The layouts. A Strided operand is contiguous along neither axis, and is packed first.
const (
	RowMajor Layout = iota
	ColMajor
	Strided
)

// String returns row, col or strided.
func (l Layout) String() string { return [...]string{"row", "col", "strided"}[min(l, Strided)] }

// Activation is a function that is applied to every element of a product and its bias,
// before the result is rounded. Its numbers are those of the kernel library.
type Activation uint8

// The activations.
const (
	NoActivation Activation = iota
	ReLU
	GELU
	GELUTanh
	SiLU
)

// String returns the activation's name.
func (a Activation) String() string {
	return [...]string{"identity", "ReLU", "GELU", "GELUTanh", "SiLU"}[min(a, SiLU)]
}

// Epilogue describes the operations on a product before it is stored: a bias row is added,
// then the activation is applied. The zero value does nothing.
type Epilogue struct {
	Bias       bool
	Activation Activation
}

// IsZero reports whether the epilogue does nothing.
func (e Epilogue) IsZero() bool { return e == Epilogue{} }

// Problem describes a product D[i] = act(A[i] B[i] + bias), i < Batch, of m x k and k x n
// matrices. AlignA, AlignB and AlignC are in bytes: the largest power of two that divides
// the operand's address, row pitch and batch stride. Zero values mean RowMajor, Default
// precision and no epilogue; Batch 0 means 1, and Align 0 the element size.
type Problem struct {
	M, N, K, Batch         int
	A, B, Out              dtype.DType
	LayoutA, LayoutB       Layout
	AlignA, AlignB, AlignC int
	Precision              Precision
	Epilogue               Epilogue
	ConjA, ConjB           bool // the conjugate of the operand is multiplied
	AbsSquare              bool // D is the squared modulus of the product; Out is its type
	Symmetric              bool // D is Hermitian: half is computed, both halves are written
	Packed                 bool // B is a gpk.Pack that has planes
}

func (p Problem) normal() (Problem, error) {
	if p.M < 0 || p.N < 0 || p.K < 0 || p.Batch < 0 {
		return p, fmt.Errorf("a product of negative size: %d x %d x %d, batch %d", p.M, p.K, p.N, p.Batch)
	}
	if p.Batch == 0 {
		p.Batch = 1
	}
	if p.A != p.B {
		return p, fmt.Errorf("%w: a product of %v and %v", dtype.ErrDType, p.A, p.B)
	}
	o := Options{Precision: p.Precision, Output: p.Out, AbsSquare: p.AbsSquare}
	var err error
	if p.Out, err = o.ResultType(p.A); err != nil {
		return p, err
	}
	if p.Precision, err = o.Resolve(p.A); err != nil {
		return p, err
	}
	if err := p.checkResult(); err != nil {
		return p, err
	}
	if !p.A.IsComplex() {
		p.ConjA, p.ConjB = false, false
	}
	p.AlignA, p.AlignB, p.AlignC = cmp.Or(p.AlignA, p.A.Size()), cmp.Or(p.AlignB, p.B.Size()), cmp.Or(p.AlignC, p.Out.Size())
	return p, nil
}

// checkResult returns an error for combinations that AbsSquare or Symmetric does not
// allow.
func (p Problem) checkResult() error {
	if p.Symmetric && p.M != p.N {
		return layout.Errorf("a product of %d x %d is not symmetric", p.M, p.N)
	}
	if (p.AbsSquare || p.Symmetric) && !p.Epilogue.IsZero() {
		return fmt.Errorf("%w: AbsSquare and Symmetric take no bias and no activation", expr.ErrUnsupported)
	}
	return nil
}

// sumType returns the type of the product before its squared modulus is computed.
func (p Problem) sumType() dtype.DType {
	switch {
	case !p.AbsSquare:
		return p.Out
	case p.A.IsComplex():
		return p.A
	case p.A.IsHalf():
		return dtype.Float32
	}
	return p.Out
}

// storedType returns the type that a kernel stores: that of the squared modulus if the
// kernel computes it, else that of the product.
func (p Problem) storedType(k cutlass.Kernel) dtype.DType {
	if k.AbsSquare {
		return p.Out
	}
	return p.sumType()
}

// math returns the manifest's name for the arithmetic of this problem.
func (p Problem) math() string {
	switch single := p.A == dtype.Float32 || p.A == dtype.Complex64; {
	case single && p.Precision == TF32:
		return "tf32"
	case p.A.IsFloat() || p.A.IsComplex():
		return p.A.Short()
	}
	return "int"
}

// computedAs reports whether a kernel's arithmetic has the problem's precision. Three TF32
// products have the precision of float32.
func (p Problem) computedAs(math string) bool {
	want := p.math()
	return math == want || math == "tf32x3" && want == "fp32"
}

// String describes the problem in a line.
func (p Problem) String() string {
	conj := func(l Layout, c bool) string {
		if c {
			return "conjugated " + l.String()
		}
		return l.String()
	}
	s := fmt.Sprintf("%dx%dx%d %v %v x %v -> %v", p.M, p.K, p.N, p.A, conj(p.LayoutA, p.ConjA), conj(p.LayoutB, p.ConjB), p.Out)
	if p.Batch > 1 {
		s = fmt.Sprintf("%d of %s", p.Batch, s)
	}
	if p.Precision != Default {
		s += ", " + p.Precision.String()
	}
	if p.Packed {
		s += ", B packed"
	}
	if p.AbsSquare {
		s += ", squared modulus"
	}
	if p.Symmetric {
		s += ", symmetric"
	}
	if p.Epilogue.Bias {
		s += ", bias"
	}
	if p.Epilogue.Activation != NoActivation {
		s += ", " + p.Epilogue.Activation.String()
	}
	return s
}

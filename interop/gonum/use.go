package gonum

import (
	"context"
	"fmt"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"gonum.org/v1/gonum/blas"
	blasgonum "gonum.org/v1/gonum/blas/gonum"
)

// BLAS implements gonum's BLAS, so that packages mat and lapack multiply with gpk:
//
//	b := gonum.NewBLAS()
//	blas64.Use(b)
//	cblas128.Use(b)
//
// Level 3 of float64 and complex128 is gpk's: GEMM, and on it SYMM, HEMM, SYRK, HERK, SYR2K,
// HER2K, TRMM and TRSM by halves. Everything else, small problems and invalid arguments are
// gonum's own implementation, which panics as it does without gpk.
//
// A product runs on the CPU where the matrices lie; on a GPU its operands are copied there
// and the result back. An error of the device, such as memory that ends, is a panic with
// that error, because BLAS has no errors. BLAS is safe for use by many goroutines; on the
// CPU every product uses all cores, however many run at a time.
type BLAS struct {
	blasgonum.Implementation
	dev       *device.Device
	min, leaf int
}

// BLASOption is a setting of a BLAS.
type BLASOption func(*BLAS)

// OnDevice makes products use d. By default they use what device.Default answers at each
// call.
func OnDevice(d *device.Device) BLASOption { return func(b *BLAS) { b.dev = d } }

// MinSize sets the number of multiply-adds, m*k*n for a product of m x k by k x n, from
// which a product is gpk's. The default is DefaultMinSize; 0 takes everything.
func MinSize(n int) BLASOption { return func(b *BLAS) { b.min = max(n, 0) } }

// LeafSize sets the number of rows up to which a triangular or symmetric block is gonum's.
// The default is DefaultLeafSize, the least is 1.
func LeafSize(n int) BLASOption { return func(b *BLAS) { b.leaf = max(n, 1) } }

const (
	// DefaultMinSize is a product of matrices of 64 x 64: an estimate of the size from
	// which gonum takes longer than gpk takes to start a product. It was not measured.
	DefaultMinSize = 64 * 64 * 64
	// DefaultLeafSize is 64 rows, of which a block on the diagonal is a small part of the
	// work.
	DefaultLeafSize = 64
)

// NewBLAS returns an implementation for blas64.Use and cblas128.Use.
func NewBLAS(opts ...BLASOption) *BLAS {
	b := &BLAS{min: DefaultMinSize, leaf: DefaultLeafSize}
	for _, o := range opts {
		if o != nil {
			o(b)
		}
	}
	return b
}

var (
	_ blas.Float64    = (*BLAS)(nil)
	_ blas.Complex128 = (*BLAS)(nil)
)

// device returns where products run.
func (b *BLAS) device() *device.Device {
	if b.dev != nil {
		return b.dev
	}
	return device.Default()
}

// fits reports whether rows of columns elements, ld apart, lie in a slice of n elements, and
// are not none.
func fits(rows, columns, ld, n int) bool {
	return rows > 0 && columns > 0 && ld >= columns && n >= columns && (rows == 1 || ld <= (n-columns)/(rows-1))
}

// stored returns the rows and columns of a matrix before it is transposed.
func stored(t blas.Transpose, rows, columns int) (int, int) {
	if t == blas.NoTrans {
		return rows, columns
	}
	return columns, rows
}

// isTransposed reports whether t is one of BLAS's three.
func isTransposed(t blas.Transpose) bool {
	return t == blas.NoTrans || t == blas.Trans || t == blas.ConjTrans
}

// large reports whether a product of m x k by k x n is gpk's.
func (b *BLAS) large(m, n, k int) bool {
	return m > 0 && n > 0 && k > 0 && float64(m)*float64(n)*float64(k) >= float64(b.min)
}

// takes reports whether a product is gpk's: large enough, and of valid arguments.
func (b *BLAS) takes(tA, tB blas.Transpose, m, n, k, lenA, lda, lenB, ldb, lenC, ldc int) bool {
	if !b.large(m, n, k) || !isTransposed(tA) || !isTransposed(tB) {
		return false
	}
	rowsA, columnsA := stored(tA, m, k)
	rowsB, columnsB := stored(tB, k, n)
	return fits(rowsA, columnsA, lda, lenA) && fits(rowsB, columnsB, ldb, lenB) && fits(m, n, ldc, lenC)
}

// product is C = alpha op(A) op(B) + beta C by gpk. The arguments are valid.
func product[T number](b *BLAS, tA, tB blas.Transpose, m, n, k int, alpha T, a []T, lda int, bs []T, ldb int, beta T, c []T, ldc int) {
	rowsA, columnsA := stored(tA, m, k)
	rowsB, columnsB := stored(tB, k, n)
	out := dense[T]{2, m, n, ldc, c}
	err := multiply(b.device(), op(tA, dense[T]{2, rowsA, columnsA, lda, a}), op(tB, dense[T]{2, rowsB, columnsB, ldb, bs}), alpha, beta, out)
	if err != nil {
		panic(fmt.Errorf("gonum: a product of %d x %d by %d x %d: %w", m, k, k, n, err))
	}
}

// operand is a matrix and how it is read.
type operand[T number] struct {
	dense[T]
	t blas.Transpose
}

func op[T number](t blas.Transpose, d dense[T]) operand[T] { return operand[T]{d, t} }

// on returns the operand on a device. free gives its copy back.
func (o operand[T]) on(d *device.Device) (a *gpk.Array, free func(), err error) {
	shared, err := o.share()
	if err != nil {
		return nil, nil, err
	}
	a = shared.To(d)
	free = func() { a.Free(); shared.Free() }
	switch o.t {
	case blas.Trans:
		return a.T(), free, nil
	case blas.ConjTrans:
		return a.T().Conj(), free, nil
	}
	return a, free, nil
}

// multiply is out = alpha x y + beta out on a device.
func multiply[T number](d *device.Device, x, y operand[T], alpha, beta T, out dense[T]) error {
	a, freeA, err := x.on(d)
	if err != nil {
		return err
	}
	defer freeA()
	b, freeB, err := y.on(d)
	if err != nil {
		return err
	}
	defer freeB()
	c, err := out.share()
	if err != nil {
		return err
	}
	defer c.Free()
	p := a.MatMul(b)
	if alpha != 1 {
		p = p.Mul(alpha)
	}
	switch beta {
	case 0: // what is in C does not count, be it NaN
	case 1:
		p = p.Add(c.To(d))
	default:
		p = p.Add(c.To(d).Mul(beta))
	}
	if d.Kind() != device.CPU {
		defer p.Free()
		return out.store(p)
	}
	if err := gpk.Into(c, p); err != nil {
		return err
	}
	if err := c.Stream().Synchronize(context.Background()); err != nil {
		return err
	}
	return c.Err()
}

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
// gpk computes level 3 of float64 and complex128: GEMM, and with it, recursively, SYMM,
// HEMM, SYRK, HERK, SYR2K, HER2K, TRMM and TRSM. Everything else, small problems and invalid
// arguments are left to gonum's own implementation, which panics as it does without gpk.
//
// On the CPU a product reads the matrices in place. For a GPU the operands are copied to it,
// and the result is copied back. An error of the device, such as a lack of memory, causes a
// panic with that error, because BLAS has no error results. BLAS is safe for use by many
// goroutines. On the CPU every product uses all cores, even if several products run at the
// same time.
type BLAS struct {
	blasgonum.Implementation
	dev       *device.Device
	min, leaf int
}

// BLASOption is an option of NewBLAS.
type BLASOption func(*BLAS)

// OnDevice makes products use d. By default they use the device that device.Default returns
// at each call.
func OnDevice(d *device.Device) BLASOption { return func(b *BLAS) { b.dev = d } }

// MinSize sets the size from which gpk computes a product, in multiply-adds: m*k*n for a
// product of m x k by k x n. The default is DefaultMinSize; with 0 gpk computes all
// products.
func MinSize(n int) BLASOption { return func(b *BLAS) { b.min = max(n, 0) } }

// LeafSize sets the number of rows up to which gonum computes a triangular or symmetric
// block. The default is DefaultLeafSize, and the minimum is 1.
func LeafSize(n int) BLASOption { return func(b *BLAS) { b.leaf = max(n, 1) } }

const (
	// DefaultMinSize is the size of a product of 64 x 64 matrices. It is an estimate of the
	// size from which gonum takes longer than gpk needs to start a product; it was not
	// measured.
	DefaultMinSize = 64 * 64 * 64
	// DefaultLeafSize is a number of rows for which the blocks on the diagonal are a small
	// part of the work.
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

// device returns the device on which products run.
func (b *BLAS) device() *device.Device {
	if b.dev != nil {
		return b.dev
	}
	return device.Default()
}

// fits reports whether rows of columns elements, at a distance of ld, fit into a slice of n
// elements. It reports false if there are no elements.
func fits(rows, columns, ld, n int) bool {
	return rows > 0 && columns > 0 && ld >= columns && n >= columns && (rows == 1 || ld <= (n-columns)/(rows-1))
}

// stored returns the numbers of rows and columns of a matrix before its transposition t.
// rows and columns are those after it.
func stored(t blas.Transpose, rows, columns int) (int, int) {
	if t == blas.NoTrans {
		return rows, columns
	}
	return columns, rows
}

// isTransposed reports whether t is one of BLAS's three values.
func isTransposed(t blas.Transpose) bool {
	return t == blas.NoTrans || t == blas.Trans || t == blas.ConjTrans
}

// large reports whether gpk computes a product of m x k by k x n.
func (b *BLAS) large(m, n, k int) bool {
	return m > 0 && n > 0 && k > 0 && float64(m)*float64(n)*float64(k) >= float64(b.min)
}

// takes reports whether gpk computes a product: it is large enough, and its arguments are
// valid.
func (b *BLAS) takes(tA, tB blas.Transpose, m, n, k, lenA, lda, lenB, ldb, lenC, ldc int) bool {
	if !b.large(m, n, k) || !isTransposed(tA) || !isTransposed(tB) {
		return false
	}
	rowsA, columnsA := stored(tA, m, k)
	rowsB, columnsB := stored(tB, k, n)
	return fits(rowsA, columnsA, lda, lenA) && fits(rowsB, columnsB, ldb, lenB) && fits(m, n, ldc, lenC)
}

// product computes C = alpha op(A) op(B) + beta C with gpk. The arguments must be valid.
func product[T number](b *BLAS, tA, tB blas.Transpose, m, n, k int, alpha T, a []T, lda int, bs []T, ldb int, beta T, c []T, ldc int) {
	rowsA, columnsA := stored(tA, m, k)
	rowsB, columnsB := stored(tB, k, n)
	out := dense[T]{2, m, n, ldc, c}
	err := multiply(b.device(), op(tA, dense[T]{2, rowsA, columnsA, lda, a}), op(tB, dense[T]{2, rowsB, columnsB, ldb, bs}), alpha, beta, out)
	if err != nil {
		panic(fmt.Errorf("gonum: a product of %d x %d by %d x %d: %w", m, k, k, n, err))
	}
}

// operand is a matrix with the way in which it is read.
type operand[T number] struct {
	dense[T]
	t blas.Transpose
}

func op[T number](t blas.Transpose, d dense[T]) operand[T] { return operand[T]{d, t} }

// on returns the operand as an array on a device. free frees the copy.
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

// multiply computes out = alpha x y + beta out on a device.
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
	case 0: // the elements of C are ignored, even if they are NaN
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

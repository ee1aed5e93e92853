package linalg

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/cutlass"
)

// deviceBlock is the number of columns of a panel on a GPU.
const deviceBlock = 256

// blocked implements engine on the device of the operands. Most of the work consists of products of
// full precision and in-place updates of views. Blocks of few columns are computed by kernels
// (tile_device.go) or on the CPU. Methods that blocked does not override compute on the CPU.
type blocked struct {
	engine
	tiles
	columns int // maximum number of columns of a block
}

// flat returns a with its leading axes merged into one.
func flat(a *gpk.Array) *gpk.Array {
	s := a.Shape()
	n := len(s)
	return a.Reshape(product1(s[:n-2]), s[n-2], s[n-1])
}

// part returns the rows i0 to i1 and columns j0 to j1 of the matrices.
func part(a *gpk.Array, i0, i1, j0, j1 int) *gpk.Array {
	return a.Slice(-2, i0, i1).Slice(-1, j0, j1)
}

func times(a, b *gpk.Array) *gpk.Array { return a.MatMul(b, gpk.FullPrecision) }

func adjoint(a *gpk.Array) *gpk.Array {
	if a.DType().IsComplex() {
		a = a.Conj()
	}
	return a.T()
}

// small reports whether each matrix of a fits into one block.
func (b blocked) small(a *gpk.Array) bool {
	s := a.Shape()
	return a.Size() == 0 || min(s[len(s)-1], s[len(s)-2]) <= b.columns
}

// onHost reports whether the operation is computed entirely on the CPU: the matrices are empty, or
// fit into one block for which the device has no kernel.
func (b blocked) onHost(op *operation, a *gpk.Array) bool {
	if a.Size() == 0 || !b.small(a) {
		return a.Size() == 0
	}
	if op.name == "Cholesky" || op.name == "SolveTriangular" || op.has(Positive) {
		return !op.hasKernels()
	}
	return !op.hasLU(a)
}

// finished returns a dense copy of a result with the leading axes lead, and records for Explain how
// it was computed.
func (b blocked) finished(op *operation, a *gpk.Array, lead []int) *gpk.Array {
	s := a.Shape()
	if op.copied {
		op.Step(fmt.Sprintf("by products of full precision on %v; fallback: blocks of %d columns on the CPU, because %s, then", op.dev, b.columns, op.because("there is no kernel for them")))
	} else {
		op.Step(fmt.Sprintf("by kernels and products of full precision on %v, then", op.dev))
	}
	return op.Cast(a.Reshape(append(slices.Clone(lead), s[1:]...)...), a.DType())
}

// finite returns ErrNonFinite, with the index of the first NaN or infinity, if the matrices contain
// one.
func (b blocked) finite(a *gpk.Array, which triangle) error {
	x := which.of(a, 0)
	bad, err := gpk.Item[bool](x.Sub(x).Ne(0).Any())
	if err != nil || !bad {
		return err
	}
	return b.nonFinite("a", a)
}

// finiteSide is finite for the right-hand sides of a. If a is not finite either, the error names an element of a.
func (b blocked) finiteSide(a *gpk.Array, which triangle, y *gpk.Array) error {
	err := b.finite(y, allElements)
	if !errors.Is(err, gpk.ErrNonFinite) {
		return err
	}
	if err := b.finite(a, which); err != nil {
		return err
	}
	return b.nonFinite("b", y)
}

// inverseTimes solves t x = b for a triangular block t with the computed inverse X. It refines x = X b
// once by the residual b - t x. The final residual is below a small multiple of eps |t| |x| if the
// condition number of t is below 1/eps (Higham 2002, section 12.2).
func inverseTimes(t, inverse, b *gpk.Array) *gpk.Array {
	x := times(inverse, b)
	return x.Add(times(inverse, b.Sub(times(t, x))))
}

func (b blocked) cholesky(op *operation, a *gpk.Array) (*gpk.Array, error) {
	if b.onHost(op, a) {
		return b.engine.cholesky(op, a)
	}
	if op.hasKernels() {
		l, err := b.choleskyByKernels(op, a)
		if err != nil || !op.has(Upper) || a.Shape()[a.NDim()-1] <= cutlass.FactorSmall {
			return l, err
		}
		return op.Cast(adjoint(l), a.DType()), nil
	}
	if err := b.finite(a, op.triangle()); err != nil {
		return nil, err
	}
	lead := a.Shape()[:a.NDim()-2]
	w, err := b.choleskyOf(op, a, lead)
	if err != nil {
		return nil, err
	}
	if op.has(Upper) {
		w = adjoint(w)
	}
	return b.finished(op, w, lead), nil
}

// choleskyOf returns the factors L of a, [batch, n, n], zero above the diagonal. It handles the block
// columns from left to right: it updates each by all columns before it, factors the diagonal block,
// and solves for the rows below it.
func (b blocked) choleskyOf(op *operation, a *gpk.Array, lead []int) (*gpk.Array, error) {
	if op.hasKernels() {
		l, err := b.choleskyByKernels(op, a)
		if err != nil {
			return nil, err
		}
		return flat(l), nil
	}
	if op.has(Upper) {
		a = adjoint(a)
	}
	w := flat(a).Clone()
	n := w.Shape()[1]
	for k := 0; k < n; k += b.columns {
		to := min(k+b.columns, n)
		if column := part(w, k, n, k, to); k > 0 {
			if err := column.SubInPlace(times(part(w, k, n, 0, k), adjoint(part(w, k, to, 0, k)))); err != nil {
				return nil, err
			}
		}
		diagonal := part(w, k, to, k, to)
		l, inverse, err := b.tileCholesky(op, diagonal, k, lead)
		if err != nil {
			return nil, err
		}
		if err := diagonal.CopyFrom(l); err != nil {
			return nil, err
		}
		if to == n {
			break
		}
		// X L^H = B is L X^H = B^H.
		below := part(w, to, n, k, to)
		if err := below.CopyFrom(adjoint(inverseTimes(l, inverse, adjoint(below)))); err != nil {
			return nil, err
		}
	}
	return w.Tril(), nil
}

// blockRows is one step of a substitution. It solves the rows [from, to). The rows [lo, hi) are still
// unsolved after it.
type blockRows struct{ from, to, lo, hi int }

// substitution yields the steps that solve a triangular system of n rows in blocks of `rows` rows.
func substitution(n, rows int, upper bool) iter.Seq[blockRows] {
	return func(yield func(blockRows) bool) {
		last := (n - 1) / rows * rows
		for i := 0; i < n; i += rows {
			r := blockRows{i, min(i+rows, n), min(i+rows, n), n}
			if upper {
				k := last - i
				r = blockRows{k, min(k+rows, n), 0, k}
			}
			if !yield(r) {
				return
			}
		}
	}
}

// substitute replaces x by t^-1 x for triangular t. t is [batch, n, n] and x is [batch, n, k].
func (b blocked) substitute(op *operation, t, x *gpk.Array, upper, unit bool) error {
	if op.hasKernels() {
		return b.substituteByKernels(op, t, x, upper, unit)
	}
	columns := x.Shape()[2]
	for r := range substitution(t.Shape()[1], b.columns, upper) {
		block := part(t, r.from, r.to, r.from, r.to)
		inverse, err := b.tileInverse(op, block, upper, unit)
		if err != nil {
			return err
		}
		switch { // inverseTimes multiplies by the block, so its other triangle must be zero
		case upper:
			block = block.Triu()
		case unit:
			block = block.Tril(-1).Add(gpk.Eye(t.DType(), r.to-r.from).To(op.dev))
		default:
			block = block.Tril()
		}
		if unit && upper {
			block = block.Triu(1).Add(gpk.Eye(t.DType(), r.to-r.from).To(op.dev))
		}
		rows := part(x, r.from, r.to, 0, columns)
		if err := rows.CopyFrom(inverseTimes(block, inverse, rows)); err != nil {
			return err
		}
		if r.lo < r.hi {
			if err := part(x, r.lo, r.hi, 0, columns).SubInPlace(times(part(t, r.lo, r.hi, r.from, r.to), rows)); err != nil {
				return err
			}
		}
	}
	return nil
}

// over broadcasts the matrices of a to the leading axes of a result and flattens these to one axis.
func over(a *gpk.Array, lead []int) *gpk.Array {
	s := a.Shape()
	return flat(a.BroadcastTo(append(slices.Clone(lead), s[len(s)-2:]...)...))
}

func (b blocked) triangular(op *operation, a, y *gpk.Array, lead []int) (*gpk.Array, error) {
	if b.onHost(op, a) {
		return b.engine.triangular(op, a, y, lead)
	}
	if err := b.finite(a, op.triangle()); err != nil {
		return nil, err
	}
	if err := b.finiteSide(a, op.triangle(), y); err != nil {
		return nil, err
	}
	if !op.has(Unit) {
		if err := b.zeros(flat(a), a.Shape()[:a.NDim()-2]); err != nil {
			return nil, err
		}
	}
	upper := op.has(Upper) != op.has(Adjoint)
	if op.has(Adjoint) {
		a = adjoint(a)
	}
	x := flat(y).Clone()
	if err := b.substitute(op, over(a, lead), x, upper, op.has(Unit)); err != nil {
		return nil, err
	}
	return b.finished(op, x, lead), nil
}

// diagonals returns the diagonals of a, [batch, m, n], as a view [batch, 1, min(m, n)].
func diagonals(a *gpk.Array) *gpk.Array {
	s, d := a.Shape(), a.Strides()
	n := min(s[1], s[2])
	return a.AsStrided([]int{s[0], 1, n}, []int{d[0], 0, d[1] + d[2]})
}

// zeros returns a SingularError for the first matrix with a zero on its diagonal, or nil.
func (b blocked) zeros(a *gpk.Array, lead []int) error {
	zero := diagonals(a).Eq(0)
	found, err := gpk.Item[bool](zero.Any())
	if err != nil || !found {
		return err
	}
	list, err := gpk.ToSlice[bool](zero)
	if err != nil {
		return err
	}
	i := slices.Index(list, true)
	n := zero.Shape()[2]
	return &SingularError{unravel(i/n, lead), i % n}
}

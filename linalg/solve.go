package linalg

import (
	"slices"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/layout"
)

// Solve returns x with A x = b for a stack a [..., n, n] and b [..., n, k], or one vector b [n];
// the leading axes broadcast. The method is LU with partial pivoting (Higham, Accuracy and
// Stability of Numerical Algorithms, 2002, chapter 9). With Positive it is Cholesky's
// factorization, which reads only the lower triangle of a.
//
// Errors: *SingularError, with the pivot and the batch member; with Positive *DefiniteError, with
// the order; gpk.ErrNonFinite, with the index; gpk.ErrShape.
func Solve(a, b *gpk.Array, opts ...Option) *gpk.Array {
	op, err := begin("Solve", opts, Positive, square, a, b)
	return op.solved(err, a, b, func(b *gpk.Array, lead []int) (*gpk.Array, error) {
		return op.engine(a).solve(op, a, b, lead)
	})
}

// SolveTriangular returns x with A x = b for a stack a [..., n, n] of lower triangular matrices
// and b [..., n, k], or one vector b [n]; the leading axes broadcast. The options are Upper, Unit
// and Adjoint. With Adjoint the system is A^H x = b. The other triangle is not read. The method is
// substitution by blocks (Higham 2002, chapter 8).
//
// Errors: *SingularError if the diagonal has a zero, with its index and the batch member;
// gpk.ErrNonFinite, with the index; gpk.ErrShape.
func SolveTriangular(a, b *gpk.Array, opts ...Option) *gpk.Array {
	op, err := begin("SolveTriangular", opts, Upper|Unit|Adjoint, square, a, b)
	return op.solved(err, a, b, func(b *gpk.Array, lead []int) (*gpk.Array, error) {
		return op.engine(a).triangular(op, a, b, lead)
	})
}

// solved checks the right-hand sides of a system, and calls f with b as matrices, broadcast to the
// leading axes of the result.
func (op *operation) solved(err error, a, b *gpk.Array, f func(b *gpk.Array, lead []int) (*gpk.Array, error)) *gpk.Array {
	return op.one(err, func() (*gpk.Array, error) {
		b, lead, vector, err := sides(a, b)
		if err != nil {
			return nil, err
		}
		x, err := f(b, lead)
		if err == nil && vector {
			x = x.Squeeze(-1)
		}
		return x, err
	})
}

// sides returns the right-hand sides as matrices, broadcast to the leading axes that both
// operands have.
func sides(a, b *gpk.Array) (matrices *gpk.Array, lead []int, vector bool, err error) {
	as, given := a.Shape(), b.Shape()
	vector = b.NDim() == 1
	if vector {
		b = b.Unsqueeze(1)
	}
	if err := stack(b); err != nil {
		return nil, nil, false, err
	}
	bs := b.Shape()
	rows := as[len(as)-2]
	if bs[len(bs)-2] != rows {
		what := "rows"
		if vector {
			what = "elements"
		}
		return nil, nil, false, layout.Errorf("a is %v, and b is %v: b must have as many %s as a has rows, %d", as, given, what, rows)
	}
	if lead, err = layout.Broadcast(as[:len(as)-2], bs[:len(bs)-2]); err != nil {
		return nil, nil, false, err
	}
	b = b.BroadcastTo(append(slices.Clone(lead), bs[len(bs)-2:]...)...)
	return b, lead, vector, b.Err()
}

func (host[T]) triangular(op *operation, a, b *gpk.Array, lead []int) (*gpk.Array, error) {
	m, err := read[T]("a", a, op.triangle())
	if err != nil {
		return nil, err
	}
	x, err := read[T]("b", b, allElements)
	if err != nil {
		return nil, err
	}
	defer m.free()
	upper := op.has(Upper) != op.has(Adjoint)
	err = each(m.batch, m.rows, func(i int) error {
		t := m.at(i)
		if k := zeroOf(t); k >= 0 && !op.has(Unit) {
			return &SingularError{unravel(i, m.lead), k}
		}
		if op.has(Adjoint) {
			copy(t.data, t.adjoint().data)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return filled(op, "substitution", x, x.rows, func(i int) error {
		t := m.at(place(i, lead, m.lead))
		if upper {
			solveUpper(t, x.at(i), op.has(Unit))
		} else {
			solveLower(t, x.at(i), op.has(Unit))
		}
		return nil
	})
}

// zeroOf returns the first zero of a diagonal, or -1.
func zeroOf[T number](t matrix[T]) int {
	for k := range t.rows {
		if t.at(k, k) == 0 {
			return k
		}
	}
	return -1
}

// factors is a stack of matrices factored by LU with partial pivoting or by Cholesky's
// factorization.
type factors[T number] struct {
	m        matrices[T]
	pivots   [][]int
	positive bool
	adjoints matrices[T] // Cholesky: the adjoints of the factors, which are upper triangles
}

// factor factors the matrices of m in place.
func factor[T number](m matrices[T], positive bool) (*factors[T], error) {
	f := &factors[T]{positive: positive}
	err := f.of(m)
	if err == nil {
		err = each(m.batch, m.rows, f.factor)
	}
	return f, err
}

// of makes f the factors of m, which are not computed yet.
func (f *factors[T]) of(m matrices[T]) (err error) {
	f.m, f.pivots = m, make([][]int, m.batch)
	if f.positive {
		f.adjoints, err = uninitialized[T](m.lead, m.rows, m.rows)
	}
	return err
}

// factor factors matrix i in place.
func (f *factors[T]) factor(i int) error {
	x := f.m.at(i)
	if f.positive {
		if order := cholesky(x); order > 0 {
			return &DefiniteError{unravel(i, f.m.lead), order}
		}
		t := f.adjoints.at(i)
		x.transposeTo(t)
		conjugate(t.data)
		return nil
	}
	f.pivots[i] = make([]int, x.rows)
	if k := lu(x, f.pivots[i]); k >= 0 {
		return &SingularError{unravel(i, f.m.lead), k}
	}
	return nil
}

// free returns the memory of all matrices for reuse.
func (f *factors[T]) free() {
	f.m.free()
	if f.positive {
		f.adjoints.free()
	}
}

// solve sets b = A^-1 b for matrix i.
func (f *factors[T]) solve(i int, b matrix[T]) {
	x := f.m.at(i)
	if f.positive {
		solveLower(x, b, false)
		solveUpper(f.adjoints.at(i), b, false)
		return
	}
	exchange(b, f.pivots[i])
	solveLower(x, b, true)
	solveUpper(x, b, false)
}

func (host[T]) solve(op *operation, a, b *gpk.Array, lead []int) (*gpk.Array, error) {
	f := &factors[T]{positive: op.has(Positive)}
	inputs := []input{{"a", a, op.factoredElements()}, {"b", b, allElements}}
	results, err := computed(op, f.name(), [][]int{b.Shape()}, inputs, func(to []matrices[T], from []source[T]) error {
		x, s := to[0], from[0]
		m, err := uninitialized[T](s.lead, s.rows, s.cols)
		if err != nil {
			return err
		}
		if err := f.of(m); err != nil {
			return err
		}
		defer f.free()
		factor := func(i int) error {
			if err := s.copyTo(m.at(i), i); err != nil {
				return err
			}
			return f.factor(i)
		}
		once := slices.Equal(s.lead, lead) // each matrix has one right-hand side, and is solved while it is in the cache
		if !once {
			if err := each(s.batch, s.rows, factor); err != nil {
				return err
			}
		}
		return each(x.batch, x.rows, func(i int) error {
			if once {
				if err := factor(i); err != nil {
					return err
				}
			}
			if err := from[1].copyTo(x.at(i), i); err != nil {
				return err
			}
			f.solve(place(i, lead, s.lead), x.at(i))
			return nil
		})
	})
	return only(results, err)
}

func (f *factors[T]) name() string {
	if f.positive {
		return "blocked Cholesky and substitution"
	}
	return "blocked LU and substitution"
}

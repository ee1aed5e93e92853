package linalg

import (
	"errors"
	"fmt"
	"math"
	"math/cmplx"
	"slices"

	"github.com/gpk-go/gpk"
)

// Refinement reports how Refine computed its results.
type Refinement struct {
	// Steps is the number of corrections. For a batch it is the maximum over the matrices.
	Steps int
	// Condition is an estimate of |A| |A^-1| in the 1-norm of every matrix, in the order of the leading axes: a lower
	// bound that is seldom below a third (Higham 2002, section 15.3). It is +Inf if the factorization in float32
	// failed.
	Condition []float64
	// FellBack says that the results come from a factorization in float64. Reason says why.
	FellBack bool
	Reason   string
}

// refineSteps is the maximum number of corrections, as in LAPACK's dsgesv.
const refineSteps = 30

// Refine is Solve for float64 and complex128, by a factorization in float32 or complex64 and iterative refinement:
//
//	r = b - A x    d = A^-1 r    x = x + d
//
// with r computed in float64 and A^-1 applied by the factors (Higham 2002, chapter 12). It ends when |r| <= sqrt(n) eps
// |A| |x| in the maximum norm for every right-hand side, the criterion of LAPACK's dsgesv. The backward error is then
// that of Solve. It converges for condition numbers up to about 1e7. If it does not converge, or if the factorization
// or a solution in float32 fails, the whole stack is factored in float64, and the report says so. With Positive the
// factorization is Cholesky's; both triangles of the matrices must be set, because the residual reads both.
//
// Errors: those of Solve; gpk.ErrDType for other types.
func Refine(a, b *gpk.Array, opts ...Option) (x *gpk.Array, report Refinement) {
	op, err := begin("Refine", opts, Positive, square, a, b)
	if err == nil {
		if dt := a.DType(); dt != gpk.Float64 && dt != gpk.Complex128 {
			err = fmt.Errorf("%w: %v; Refine solves in float64 and complex128, Solve in all types", gpk.ErrDType, dt)
		}
	}
	x = op.solved(err, a, b, func(b *gpk.Array, lead []int) (*gpk.Array, error) {
		return refine(op, a, b, lead, &report)
	})
	return x, report
}

func refine(op *operation, a, b *gpk.Array, lead []int, report *Refinement) (*gpk.Array, error) {
	engine := op.engine(a)
	for name, y := range map[string]*gpk.Array{"a": a, "b": b} {
		bad, err := gpk.Item[bool](y.Sub(y).Ne(0).Any())
		if err == nil && bad {
			err = engine.nonFinite(name, y)
		}
		if err != nil {
			return nil, err
		}
	}
	r := &refiner{op: op, a: over(a, lead), b: flat(b), report: report}
	x, err := r.run(a.DType())
	switch {
	case err == nil: // x is nil if it did not converge
	case errors.Is(err, ErrSingular), errors.Is(err, ErrNotPositiveDefinite), errors.Is(err, gpk.ErrNonFinite):
		report.Reason = "the factorization in float32 failed: " + err.Error()
	case op.refuses(err):
		report.Reason = "a solution in float32 failed: " + err.Error()
	default:
		return nil, err
	}
	if x == nil {
		report.FellBack = true
		return engine.solve(op, a, b, lead)
	}
	return x.Reshape(append(slices.Clone(lead), x.Shape()[1:]...)...), nil
}

// refiner is one call of Refine on stacks of one leading axis.
type refiner struct {
	op     *operation
	a, b   *gpk.Array
	low    gpk.DType
	system system
	report *Refinement
}

// run returns nil if the iteration does not converge.
func (r *refiner) run(dt gpk.DType) (*gpk.Array, error) {
	s := r.a.Shape()
	batch, n := s[0], s[1]
	r.report.Condition = slices.Repeat([]float64{math.Inf(1)}, batch)
	if r.b.Size() == 0 {
		clear(r.report.Condition)
		return r.b.Clone(), nil
	}
	r.low = gpk.Float32
	if dt == gpk.Complex128 {
		r.low = gpk.Complex64
	}
	low := r.a.Cast(r.low)
	var err error
	if r.system, err = r.op.engine(low).systemOf(r.op, low); err != nil {
		return nil, err
	}
	if err := r.condition(); err != nil {
		return nil, err
	}
	limit := r.a.Abs().Sum(-1).Max(-1).Mul(math.Sqrt(float64(n)) * 0x1p-52).Unsqueeze(-1) // [batch, 1]
	x, err := r.correction(r.b, dt)
	if err != nil {
		return nil, err
	}
	before := math.Inf(1)
	for ; ; r.report.Steps++ {
		residual := r.b.Sub(times(r.a, x))
		// [batch, k]: the residuals relative to their limits
		size := residual.Abs().Max(-2)
		ratio, err := gpk.Item[float64](gpk.Where(size.Eq(0), 0, size.Div(x.Abs().Max(-2).Mul(limit))).Max())
		switch {
		case err != nil:
			return nil, err
		case ratio <= 1:
			return x, nil
		case !(ratio <= before/2) || r.report.Steps == refineSteps: // also if ratio is NaN
			r.report.Reason = fmt.Sprintf("after %d corrections a residual is %.3g times what it may be, and was %.3g times before", r.report.Steps, ratio, before)
			return nil, nil
		}
		before = ratio
		d, err := r.correction(residual, dt)
		if err != nil {
			return nil, err
		}
		x = x.Add(d)
	}
}

// correction returns A^-1 y, computed with the factors. y is scaled so that it fits float32.
func (r *refiner) correction(y *gpk.Array, dt gpk.DType) (*gpk.Array, error) {
	scale := y.Abs().Max(-2, gpk.KeepDims)
	scale = gpk.Where(scale.Eq(0), 1, scale).Cast(dt)
	d, err := r.system.solve(r.op, y.Div(scale).Cast(r.low))
	if err != nil {
		return nil, err
	}
	return d.Cast(dt).Mul(scale), nil
}

// conditionSteps is the maximum number of Hager's iterations. More are seldom needed.
const conditionSteps = 4

// condition estimates |A^-1| in the 1-norm as the largest |A^-1 x| over a few x of norm 1 (Hager, Condition estimates,
// SIAM J. Sci. Stat. Comput. 5, 1984; for complex matrices Higham 2002, algorithm 15.1): with y = A^-1 x, the next x is
// the unit vector of the largest element of A^-H y/|y|. It ends when no estimate grows.
func (r *refiner) condition() error {
	s := r.a.Shape()
	batch, n := s[0], s[1]
	norms, err := gpk.ToSlice[float64](r.a.Abs().Sum(-2).Max(-1))
	if err != nil {
		return err
	}
	x := slices.Repeat([]complex128{complex(1/float64(n), 0)}, batch*n)
	best := make([]float64, batch)
	for range conditionSteps {
		grows := false
		y, err := r.vectors(r.system.solve, x)
		if err != nil {
			return err
		}
		for i := range best {
			sum := 0.0
			for j := i * n; j < (i+1)*n; j++ {
				size := cmplx.Abs(y[j])
				sum += size
				if y[j] /= complex(size, 0); size == 0 {
					y[j] = 1
				}
			}
			if sum > best[i] {
				best[i], grows = sum, true
			}
		}
		if !grows {
			break
		}
		z, err := r.vectors(r.system.solveAdjoint, y)
		if err != nil {
			return err
		}
		clear(x)
		for i := range best {
			at := i * n
			for j := at; j < (i+1)*n; j++ {
				if cmplx.Abs(z[j]) > cmplx.Abs(z[at]) {
					at = j
				}
			}
			x[at] = 1
		}
	}
	for i, v := range best {
		r.report.Condition[i] = v * norms[i]
	}
	return nil
}

// vectors calls f with one right-hand side of every matrix.
func (r *refiner) vectors(f func(op *operation, b *gpk.Array) (*gpk.Array, error), x []complex128) ([]complex128, error) {
	s := r.a.Shape()
	y, err := f(r.op, gpk.FromSliceOn(r.op.dev, x, s[0], s[1], 1).Cast(r.low))
	if err != nil {
		return nil, err
	}
	return gpk.ToSlice[complex128](y.Cast(gpk.Complex128))
}

package compose

import (
	"fmt"
	"math"
	"math/bits"
	"unsafe"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/cpu"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// Draws is a sequence of random numbers. random.RNG implements it.
type Draws interface {
	// Blocks reserves n blocks of the sequence. It returns the seed, and the number of the first
	// block.
	Blocks(n uint64) (seed, first uint64, err error)
}

// Uniform returns random numbers of [lo, hi), each equally likely, on the default device. A number
// is lo + u (hi - lo), where u in [0, 1) has 24 random bits (53 for float64). It is rounded to the
// type, and is never hi. For integer types the numbers are lo, lo+1, … hi-1. For complex types both
// parts are such numbers. Bounds that the type cannot hold, and Bool, are ErrDType. Bounds that are
// not finite are ErrNonFinite. An interval that contains no number of the type is ErrUnsupported.
func Uniform[A Operand](o Operation[A], r Draws, dt dtype.DType, lo, hi float64, shape ...int) A {
	p, err := ops.UniformBounds(dt, lo, hi)
	return drawn(o, r, dt, shape, err, func(s *device.Stream, dst device.View, seed, block uint64) error {
		return ops.Uniform(s, dst, seed, block, p)
	})
}

// Normal returns numbers of the normal distribution with a mean and a standard deviation, on the
// default device. They are at most 6.3 standard deviations from the mean, for float64 8.5. Types
// other than real floats, and a mean or deviation that the type cannot hold, are ErrDType. A
// parameter that is not finite is ErrNonFinite, and a negative deviation is ErrUnsupported.
func Normal[A Operand](o Operation[A], r Draws, dt dtype.DType, mean, std float64, shape ...int) A {
	return drawn(o, r, dt, shape, ops.NormalBounds(dt, mean, std), func(s *device.Stream, dst device.View, seed, block uint64) error {
		return ops.Normal(s, dst, seed, block, mean, std)
	})
}

// drawn reserves the blocks of the sequence for an array, and returns the array, which fill
// computes. If err is not nil, it reserves no blocks, and the array carries err.
func drawn[A Operand](o Operation[A], r Draws, dt dtype.DType, shape []int, err error, fill func(s *device.Stream, dst device.View, seed, block uint64) error) A {
	if e := begun(o, r); e != nil {
		err = e
	}
	var seed, first uint64
	if err == nil && dt.Valid() {
		var n int
		if n, err = layout.Size(shape); err == nil {
			seed, first, err = r.Blocks(ops.RandomBlocks(dt, n))
		}
	}
	return o.Source(dt, shape, false, err, func(s *device.Stream, dst device.View) error { return fill(s, dst, seed, first) })
}

// begun checks the operands of a call, and the sequence.
func begun[A any](o Operation[A], r Draws) error {
	err := o.Check()
	if err == nil {
		_, _, err = r.Blocks(0)
	}
	return err
}

// Permutation returns 0, 1, … n-1, Int64, in random order. Each order is equally likely. Take with it shuffles an axis.
// It is the order of n random 64-bit numbers, the same on every device. A negative n is ErrShape.
func Permutation[A Operand](o Operation[A], r Draws, n int) A {
	err := begun(o, r)
	if err == nil {
		_, err = layout.Size([]int{n})
	}
	if err != nil {
		return o.Failed(err)
	}
	if n == 0 {
		return filled(o, dtype.Int64, 0, []int{0})
	}
	return argsorted(o, Uniform(o, r, dtype.Int64, -0x1p62, 0x1p62, n), 0, n, false)
}

// Choice returns k random numbers of 0, 1, … n-1, Int64, in random order. With replace, a number may
// occur several times. Take with the result selects along an axis. weights is at most one array of n
// elements of a real type, the probabilities of the numbers up to a factor; without replace, they
// determine each next number among the remaining ones. The result is the same on every device.
//
// The sum of the weights need not be 1. With replace, weights below 2^-62 n times the largest count as 0. The error is
// ErrUnsupported for a negative or non-finite weight, for no weight above 0, and, without replace, for fewer than k
// weights above 0; like an index of Take outside its axis, it is found on the device. The error is ErrShape for
// negative n or k, for k > n without replace, for k > 0 and n = 0, and for weights of another shape.
//
// With weights and without replace, exponential numbers divided by the weights are compared (Efraimidis and Spirakis,
// Information Processing Letters 97 (2006) 181). The host computes these numbers at once and copies them to the device.
func Choice[A Operand](o Operation[A], r Draws, n, k int, replace bool, weights ...A) A {
	err := begun(o, r)
	if err == nil {
		err = checkChoice(n, k, replace, weights)
	}
	switch {
	case err != nil:
		return o.Failed(err)
	case k == 0:
		return filled(o, dtype.Int64, 0, []int{0})
	case len(weights) == 0 && replace:
		return Uniform(o, r, dtype.Int64, 0, float64(n), k)
	case len(weights) == 0:
		return slice(o, Permutation(o, r, n), 0, 0, k)
	}
	w := narrow(o, weights[0], dtype.Float64)
	if replace {
		return weighted(o, r, w, k)
	}
	return sampled(o, r, w, k)
}

// checkChoice checks the operands of Choice.
func checkChoice[A Operand](n, k int, replace bool, weights []A) error {
	for _, shape := range [...][]int{{n, 1}, {k}} {
		if _, err := layout.Size(shape); err != nil {
			return err
		}
	}
	switch {
	case !replace && k > n || n == 0 && k > 0:
		return layout.Errorf("cannot choose %d of %d numbers", k, n)
	case len(weights) > 1:
		return layout.Errorf("%d arrays of weights; want at most one", len(weights))
	case len(weights) == 1 && (weights[0].NDim() != 1 || weights[0].Size() != n):
		return layout.Errorf("weights of shape %v for %d numbers", weights[0].Shape(), n)
	case len(weights) == 1 && weights[0].DType().IsComplex():
		return fmt.Errorf("%w: the weights are %v, not real numbers", dtype.ErrDType, weights[0].DType())
	}
	return nil
}

// weighted returns k indices, drawn with replacement, for weights of type Float64. All steps are
// exact or rounded as in IEEE 754, so the result is the same on every device: the weights become
// whole numbers whose sums are exact.
func weighted[A Operand](o Operation[A], r Draws, w A, k int) A {
	n := w.Size()
	largest := o.Reduce(expr.Max, w, []int{layout.KeepDims})
	parts := math.Ldexp(1, 62-bits.Len(uint(n-1)))
	whole := o.Cast(o.Elementwise(expr.Mul, o.Elementwise(expr.Div, w, largest), parts), dtype.Int64)
	sums := cumulated(o, whole)
	total := slice(o, sums, 0, n-1, n)
	at := o.Elementwise(expr.Mul, Uniform(o, r, dtype.Float64, 0, 1, k), o.Cast(total, dtype.Float64))
	at = o.Elementwise(expr.Minimum, o.Cast(at, dtype.Int64), o.Elementwise(expr.Sub, total, 1))
	fine := o.Elementwise(expr.And, usable(o, w), o.Elementwise(expr.Gt, largest, 0))
	return guarded(o, searched(o, sums, at, true), o.Reduce(expr.All, fine, nil),
		fmt.Errorf("%w: a weight is negative or not finite, or none is above 0", expr.ErrUnsupported))
}

// cumulated returns the cumulative sums along the last axis.
func cumulated[A Operand](o Operation[A], a A) A {
	return o.Result(a.DType().SumType(), a.Shape(), "sums along an axis", []A{a}, func(s *device.Stream, dst device.View, reads []device.View) error {
		return ops.Along(s, expr.CumSum, dst, reads[0], a.NDim()-1)
	})
}

// sampled returns k indices, drawn without replacement, for weights of type Float64.
func sampled[A Operand](o Operation[A], r Draws, w A, k int) A {
	n := w.Size()
	e, err := hosted(o, r, dtype.Float64, []int{n}, cpu.Exponential)
	if err != nil {
		return o.Failed(err)
	}
	keys := o.Elementwise(expr.Div, e, w)
	order := slice(o, argsorted(o, keys, 0, n, false), 0, 0, k)
	last := take(o, keys, slice(o, order, 0, k-1, k), 0, nil)
	fine := o.Elementwise(expr.And, usable(o, w), o.Elementwise(expr.Lt, last, math.Inf(1)))
	return guarded(o, order, o.Reduce(expr.All, fine, nil),
		fmt.Errorf("%w: a weight is negative or not finite, or fewer than %d are above 0", expr.ErrUnsupported, k))
}

// usable returns whether each weight is finite and not negative.
func usable[A Operand](o Operation[A], w A) A {
	return o.Elementwise(expr.And, o.Elementwise(expr.Ge, w, 0), o.Elementwise(expr.Lt, w, math.Inf(1)))
}

// Bernoulli returns Bools, each true with probability p: a uniform number of 53 bits is below p.
// They are the same on every device. A p outside 0 to 1 is ErrUnsupported.
func Bernoulli[A Operand](o Operation[A], r Draws, p float64, shape ...int) A {
	err := begun(o, r)
	if err == nil && !(p >= 0 && p <= 1) {
		err = fmt.Errorf("%w: a probability of %v", expr.ErrUnsupported, p)
	}
	if err == nil {
		_, err = layout.Size(shape)
	}
	if err != nil {
		return o.Failed(err)
	}
	return o.Elementwise(expr.Lt, Uniform(o, r, dtype.Float64, 0, 1, shape...), p)
}

// Categorical returns, for each line of logits along an axis, a random index on it, Int64. Index i
// has probability e^logits[i] divided by the sum of these over the line. The result lacks the axis.
// Broadcast logits give several indices of a line. logits has a floating-point type; -Inf is the
// probability 0. A line without a finite number, or with NaN or +Inf, is ErrUnsupported; like an
// index of Take outside its axis, it is found on the device. An empty line is ErrShape.
//
// The result is the index of the largest sum of a logit and a Gumbel number, in Float64. The host computes the Gumbel
// numbers at once and copies them to the device, so the result is the same on every device.
func Categorical[A Operand](o Operation[A], r Draws, logits A, axis int) A {
	d, n, err := along(o, logits, axis)
	if err == nil {
		err = begun(o, r)
	}
	if err == nil {
		err = floating(logits.DType(), false)
	}
	if err == nil && n == 0 {
		err = layout.Errorf("an index on axis %d, which has length 0", axis)
	}
	var g A
	if err == nil {
		g, err = hosted(o, r, dtype.Float64, logits.Shape(), cpu.Gumbel)
	}
	if err != nil {
		return o.Failed(err)
	}
	x := narrow(o, logits, dtype.Float64)
	out := o.Reduce(expr.ArgMax, o.Elementwise(expr.Add, x, g), []int{d})
	peak := o.Elementwise(expr.Abs, o.Reduce(expr.Max, x, []int{d}))
	return guarded(o, out, o.Reduce(expr.All, o.Elementwise(expr.Lt, peak, math.Inf(1)), nil),
		fmt.Errorf("%w: logits that are NaN or +Inf, or all -Inf", expr.ErrUnsupported))
}

// Exponential returns numbers of the exponential distribution with mean scale: the negative logarithm of a uniform
// number of 52 bits, times scale, computed in Float64 and rounded to dt, a real floating-point type. Before rounding
// they are positive. The host computes them at once and copies them to the device, so they are the same on every
// device. A scale that is negative or not finite is ErrUnsupported.
func Exponential[A Operand](o Operation[A], r Draws, dt dtype.DType, scale float64, shape ...int) A {
	return scaled(o, r, dt, scale, shape, cpu.Exponential)
}

// Gamma returns numbers of the gamma distribution with a positive shape parameter and a scale. Their
// mean is the product of the two. They are computed in Float64 (Marsaglia and Tsang, ACM
// Transactions on Mathematical Software 26 (2000) 363) and rounded to dt, a real floating-point
// type. The host computes them at once and copies them to the device, so they are the same on every
// device. Other parameters, and a scale that is negative or not finite, are ErrUnsupported.
func Gamma[A Operand](o Operation[A], r Draws, dt dtype.DType, parameter, scale float64, shape ...int) A {
	if !(parameter > 0 && parameter < math.Inf(1)) {
		return o.Failed(fmt.Errorf("%w: a gamma distribution of shape %v", expr.ErrUnsupported, parameter))
	}
	return scaled(o, r, dt, scale, shape, func(dst []float64, seed, block uint64) { cpu.Gamma(dst, parameter, seed, block) })
}

// Poisson returns numbers, Int64, of the Poisson distribution with a mean from 0 to 2^32. For a mean
// below 10 it uses Knuth's product of uniform numbers, otherwise transformed rejection (Hörmann,
// Insurance: Mathematics and Economics 12 (1993) 39). The host computes the numbers at once and
// copies them to the device, so they are the same on every device. Another mean is ErrUnsupported.
func Poisson[A Operand](o Operation[A], r Draws, mean float64, shape ...int) A {
	var err error
	if !(mean >= 0 && mean <= 1<<32) {
		err = fmt.Errorf("%w: a Poisson distribution of mean %v", expr.ErrUnsupported, mean)
	}
	return tallies(o, r, err, shape, func(dst []int64, seed, block uint64) { cpu.Poisson(dst, mean, seed, block) })
}

// Binomial returns numbers of successes, Int64, among n trials with success probability p. For a mean below 10 it uses
// inversion, otherwise transformed rejection (Hörmann, Journal of Statistical Computation and Simulation 46 (1993)
// 101). The host computes the numbers at once and copies them to the device, so they are the same on every device. An n
// outside 0 to 2^32 and a p outside 0 to 1 are ErrUnsupported.
func Binomial[A Operand](o Operation[A], r Draws, n int64, p float64, shape ...int) A {
	var err error
	switch {
	case n < 0 || n > 1<<32:
		err = fmt.Errorf("%w: a binomial distribution of %d trials", expr.ErrUnsupported, n)
	case !(p >= 0 && p <= 1):
		err = fmt.Errorf("%w: a probability of %v", expr.ErrUnsupported, p)
	}
	return tallies(o, r, err, shape, func(dst []int64, seed, block uint64) { cpu.Binomial(dst, n, p, seed, block) })
}

// tallies returns Int64 numbers that the host computes. err is the error of their parameters, or
// nil.
func tallies[A Operand](o Operation[A], r Draws, err error, shape []int, fill func(dst []int64, seed, block uint64)) A {
	if e := begun(o, r); e != nil {
		err = e
	}
	var out A
	if err == nil {
		out, err = hosted(o, r, dtype.Int64, shape, fill)
	}
	if err != nil {
		return o.Failed(err)
	}
	return out
}

// scaled returns Float64 numbers that the host computes, times a scale, rounded to a type.
func scaled[A Operand](o Operation[A], r Draws, dt dtype.DType, scale float64, shape []int, fill func(dst []float64, seed, block uint64)) A {
	err := begun(o, r)
	if err == nil && !dt.IsFloat() {
		err = fmt.Errorf("%w: random numbers of %v, which is not a real floating-point type", dtype.ErrDType, dt)
	}
	if err == nil && (!ops.Finite(scale) || scale < 0) {
		err = fmt.Errorf("%w: the scale %v is negative or not finite", expr.ErrUnsupported, scale)
	}
	var out A
	if err == nil {
		out, err = hosted(o, r, dtype.Float64, shape, fill)
	}
	if err != nil {
		return o.Failed(err)
	}
	if scale != 1 {
		out = o.Elementwise(expr.Mul, out, scale)
	}
	return narrow(o, out, dt)
}

// hosted returns numbers that fill computes on the host, each from one block of the sequence.
func hosted[A Operand, T float64 | int64](o Operation[A], r Draws, dt dtype.DType, shape []int, fill func(dst []T, seed, block uint64)) (out A, err error) {
	n, err := layout.Size(shape)
	if err == nil {
		err = deviceapi.HostRoom(int64(n) * int64(dt.Size()))
	}
	if err != nil {
		return out, err
	}
	seed, first, err := r.Blocks(uint64(n))
	switch {
	case err != nil:
		return out, err
	case n == 0:
		return filled(o, dt, 0, shape), nil
	}
	data := make([]T, n)
	fill(data, seed, first)
	raw := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), n*dt.Size())
	return o.Host(dt, append([]int{}, shape...), "random numbers that the host has computed", raw), nil
}

package cpu

import (
	"math"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// cumulation is a prefix sum or product of each line. S is the value so far.
type cumulation[T, U, S any] struct {
	start S
	line  func(in []T, out []U)         // computes a whole line
	step  func(so []S, in []T, out []U) // computes the next element of each of several lines
}

// run computes the lines. Lines side by side are computed together, one element of each at a time.
func (c cumulation[T, U, S]) run(l lines, xt, dt dtype.DType) {
	load, store := lineLoader(xt), lineStorer(dt)
	if l.n == 0 || l.outer.n == 0 {
		return
	}
	inner := l.outer.axes[len(l.outer.axes)-1]
	if inner.n < shortAxis || abs(inner.step[1]) >= abs(l.step) {
		if l.step == xt.Size() && l.dstep == dt.Size() && !xt.IsHalf() {
			c.inPlace(l)
			return
		}
		each(l, load, store, c.line)
		return
	}
	width := min(blockLen, inner.n)
	per := (inner.n-1)/width + 1
	Parallel(l.outer.n/inner.n*per, max(linesPart/(l.n*width), 1), func(lo, hi int) {
		w := works.Get().(*work)
		defer works.Put(w)
		in, out := unsafe.Slice((*T)(unsafe.Pointer(&w.block[0])), width), unsafe.Slice((*U)(unsafe.Pointer(&w.block[1])), width)
		so := make([]S, width)
		for i := lo; i < hi; i++ {
			at := i % per * width
			m := min(width, inner.n-at)
			for j := range so {
				so[j] = c.start
			}
			p := l.outer.at(i/per*inner.n + at)
			for k := range l.n {
				load(at0(in), unsafe.Add(p[1], k*l.step), inner.step[1], m)
				c.step(so[:m], in[:m], out[:m])
				store(unsafe.Add(p[0], k*l.dstep), inner.step[0], at0(out), m)
			}
		}
	})
}

// inPlace computes dense lines where they are, without copies.
func (c cumulation[T, U, S]) inPlace(l lines) {
	Parallel(l.outer.n, max(linesPart/l.n, 1), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			p := l.outer.at(i)
			c.line(unsafe.Slice((*T)(p[1]), l.n), unsafe.Slice((*U)(p[0]), l.n))
		}
	})
}

// CumSum computes the prefix sums of each line, of type xt.SumType(). Sums of float32 and of
// half types are float64 until they are rounded; those of float64 are compensated; integers
// wrap.
//
// shape is that of both operands; xs and ds are strides in elements. dst may be
// x when the types and strides are one.
func CumSum(xt, dt dtype.DType, shape []int, axis int, x unsafe.Pointer, xs []int, dst unsafe.Pointer, ds []int) error {
	if dt != xt.SumType() {
		return unsupported(expr.CumSum, xt)
	}
	l := newLines(xt, dt, shape, axis, x, xs, dst, ds)
	switch xt.ComputeType() {
	case dtype.Float32:
		if xt != dtype.Float32 { // the result is rounded to a half type
			stepwise(0, func(s *float64, v float32) float32 { *s += float64(v); return roundToOdd(*s) }).run(l, xt, dt)
			break
		}
		sums := stepwise(0, func(s *float64, v float32) float32 { *s += float64(v); return float32(*s) })
		sums.line = func(in, out []float32) {
			s := 0.0
			for i, v := range in {
				s += float64(v)
				out[i] = float32(s)
			}
		}
		sums.step = func(so []float64, in, out []float32) {
			so, out = so[:len(in)], out[:len(in)]
			for i, v := range in {
				s := so[i] + float64(v)
				so[i], out[i] = s, float32(s)
			}
		}
		sums.run(l, xt, dt)
	case dtype.Float64:
		cumulation[float64, float64, compensatedSum]{
			line: compensatedSums,
			step: func(so []compensatedSum, in, out []float64) {
				so, out = so[:len(in)], out[:len(in)]
				for i, v := range in {
					out[i] = so[i].add(v)
				}
			},
		}.run(l, xt, dt)
	case dtype.Complex64:
		stepwise(0, func(s *complex128, v complex64) complex64 { *s += complex128(v); return complex64(*s) }).run(l, xt, dt)
	case dtype.Complex128:
		type parts struct{ re, im compensatedSum }
		add := func(s *parts, v complex128) complex128 { return complex(s.re.add(real(v)), s.im.add(imag(v))) }
		stepwise(parts{}, add).run(l, xt, dt)
	default:
		k := wholeOf(xt)
		if k == nil {
			return unsupported(expr.CumSum, xt)
		}
		k.cumSum(l, xt)
	}
	return nil
}

// CumProd computes the products of the elements of each line up to each index, of type xt.SumType(), one factor after
// the other. Float32, half types and Complex64 are computed in twice the width and rounded once; integers wrap.
//
// Shapes, strides and aliasing are as for CumSum.
func CumProd(xt, dt dtype.DType, shape []int, axis int, x unsafe.Pointer, xs []int, dst unsafe.Pointer, ds []int) error {
	if dt != xt.SumType() {
		return unsupported("CumProd", xt)
	}
	l := newLines(xt, dt, shape, axis, x, xs, dst, ds)
	switch xt.ComputeType() {
	case dtype.Float32:
		if xt != dtype.Float32 { // the result is rounded to a half type
			stepwise(1, func(p *float64, v float32) float32 { *p *= float64(v); return roundToOdd(*p) }).run(l, xt, dt)
			break
		}
		factors := stepwise(1, func(p *float64, v float32) float32 { *p *= float64(v); return float32(*p) })
		factors.line = func(in, out []float32) {
			p := 1.0
			for i, v := range in {
				p *= float64(v)
				out[i] = float32(p)
			}
		}
		factors.run(l, xt, dt)
	case dtype.Float64:
		factors := stepwise(1, func(p *float64, v float64) float64 { *p *= v; return *p })
		factors.line = func(in, out []float64) {
			p := 1.0
			for i, v := range in {
				p *= v
				out[i] = p
			}
		}
		factors.run(l, xt, dt)
	case dtype.Complex64:
		stepwise(complexProduct{}, func(p *complexProduct, v complex64) complex64 { return complex64(p.times(complex128(v))) }).run(l, xt, dt)
	case dtype.Complex128:
		stepwise(complexProduct{}, (*complexProduct).times).run(l, xt, dt)
	default:
		k := wholeOf(xt)
		if k == nil {
			return unsupported("CumProd", xt)
		}
		k.cumProd(l, xt)
	}
	return nil
}

// complexProduct is a product of complex numbers. It begins with the first factor, as 1 is not neutral: 1 times Inf+0i is
// Inf+NaNi.
type complexProduct struct {
	p     complex128
	begun bool
}

func (c *complexProduct) times(v complex128) complex128 {
	if c.begun {
		v = mul128(c.p, v)
	}
	c.p, c.begun = v, true
	return v
}

// stepwise is a cumulation that computes each element by a call of next with the value so far.
func stepwise[T, U, S any](start S, next func(s *S, v T) U) cumulation[T, U, S] {
	return cumulation[T, U, S]{
		start: start,
		line: func(in []T, out []U) {
			s := start
			for i, v := range in {
				out[i] = next(&s, v)
			}
		},
		step: func(so []S, in []T, out []U) {
			for i, v := range in {
				out[i] = next(&so[i], v)
			}
		},
	}
}

// cumSum is CumSum for T. The bits of a sum that wraps do not depend on its sign.
func (ints[T]) cumSum(l lines, xt dtype.DType) {
	cumulation[T, int64, int64]{
		line: func(in []T, out []int64) {
			var s int64
			out = out[:len(in)]
			for i, v := range in {
				s += int64(v)
				out[i] = s
			}
		},
		step: func(so []int64, in []T, out []int64) {
			so, out = so[:len(in)], out[:len(in)]
			for i, v := range in {
				s := so[i] + int64(v)
				so[i], out[i] = s, s
			}
		},
	}.run(l, xt, xt.SumType())
}

// cumProd is CumProd for T. The bits of a product that wraps do not depend on its sign.
func (ints[T]) cumProd(l lines, xt dtype.DType) {
	factors := stepwise(1, func(p *int64, v T) int64 { *p *= int64(v); return *p })
	factors.line = func(in []T, out []int64) {
		p := int64(1)
		out = out[:len(in)]
		for i, v := range in {
			p *= int64(v)
			out[i] = p
		}
	}
	factors.run(l, xt, xt.SumType())
}

// compensatedSum is a sum and its rounding errors (Neumaier, 1974).
type compensatedSum struct{ sum, rest float64 }

// add adds v and returns the corrected sum. The rounding error is that of Knuth's sum of two numbers, as in
// compensated.add.
func (c *compensatedSum) add(v float64) float64 {
	old := c.sum
	t := old + v
	if math.Abs(old) < math.MaxFloat64 {
		part := t - old
		c.rest += (old - (t - part)) + (v - part)
	} else {
		c.lose(old, v, t)
	}
	c.sum = t
	if r := t + c.rest; r == r {
		return r
	}
	return t // an infinity has no rest
}

// lose is compensated.lose.
func (c *compensatedSum) lose(old, v, t float64) {
	if math.Abs(old) >= math.Abs(v) {
		c.rest += (old - t) + v
	} else {
		c.rest += (v - t) + old
	}
}

// compensatedSums is the prefix sums of a line. Its sum stays in registers.
func compensatedSums(in, out []float64) {
	sum, rest := 0.0, 0.0
	out = out[:len(in)]
	for i, v := range in {
		t := sum + v
		if !(math.Abs(sum) < math.MaxFloat64) {
			c := compensatedSum{sum, rest}
			out[i] = c.add(v)
			sum, rest = c.sum, c.rest
			continue
		}
		part := t - sum
		rest += (sum - (t - part)) + (v - part)
		sum = t
		r := t + rest
		if r != r {
			r = t // an infinity has no rest
		}
		out[i] = r
	}
}

package cpu

import (
	"math"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// A line is the elements of an array along one axis.

// lineWidth is the number of lines that are gathered together if neighbours in memory
// belong to different lines.
const lineWidth = 16

// lines are the lines of a source and of a destination of one shape.
type lines struct {
	outer       nest // destination, source
	n           int
	step, dstep int // bytes from one element of a line to the next
}

func newLines(xt, dt dtype.DType, shape []int, axis int, x unsafe.Pointer, xs []int, dst unsafe.Pointer, ds []int) lines {
	l := lines{n: shape[axis], step: xs[axis] * xt.Size(), dstep: ds[axis] * dt.Size()}
	if l.n == 0 {
		return l // no line, and x may have no address
	}
	rest, rx, rd := without(shape, axis), without(xs, axis), without(ds, axis)
	l.outer = newNest(rest, operand{dst, rd, dt.Size()}, operand{x, rx, xt.Size()})
	return l
}

func without(v []int, i int) []int {
	if len(v) == 1 {
		return nil
	}
	return append(append(make([]int, 0, len(v)), v[:i]...), v[i+1:]...)
}

// each calls f with each line as a dense slice of T. f writes its results, of type U, to
// the same positions of out.
func each[T, U any](l lines, load func(dst unsafe.Pointer, src unsafe.Pointer, step, n int), store func(dst unsafe.Pointer, step int, src unsafe.Pointer, n int), f func(in []T, out []U)) {
	groups(l, load, store, func(in []T, out []U, n int) {
		for i := 0; i < len(in); i += n {
			f(in[i:i+n], out[i:i+n])
		}
	})
}

// groups calls f with groups of contiguous lines of n elements.
func groups[T, U any](l lines, load func(dst unsafe.Pointer, src unsafe.Pointer, step, n int), store func(dst unsafe.Pointer, step int, src unsafe.Pointer, n int), f func(in []T, out []U, n int)) {
	switch {
	case l.n == 0 || l.outer.n == 0:
		return
	case l.outer.n == 1:
		m := newLineMemory()
		defer m.release()
		in, out := roomFor[T](&m.in, l.n), roomFor[U](&m.out, l.n)
		p := l.outer.at(0)
		load(at0(in), p[1], l.step, l.n)
		f(in, out, l.n)
		store(p[0], l.dstep, at0(out), l.n)
		return
	}
	inner := l.outer.axes[len(l.outer.axes)-1]
	// Lines side by side are gathered together, one element of each at a time.
	across := inner.n > 1 && abs(inner.step[1]) < abs(l.step)
	width := min(max(blockLen/l.n, 1), inner.n)
	if across {
		width = min(lineWidth, inner.n)
	}
	per := (inner.n-1)/width + 1
	Parallel(l.outer.n/inner.n*per, max(linesPart/max(l.n*width, 1), 1), func(lo, hi int) {
		memory := newLineMemory()
		defer memory.release()
		in, out := roomFor[T](&memory.in, l.n*width), roomFor[U](&memory.out, l.n*width)
		var tin []T
		var tout []U
		if across {
			tin, tout = make([]T, width), make([]U, width)
		}
		for i := lo; i < hi; i++ {
			first := i % per * width
			m := min(width, inner.n-first)
			p := l.outer.at(i/per*inner.n + first)
			if !across {
				runs, n := joined(m, l.n, inner.step[1], l.step)
				for j := range runs {
					load(at0(in[j*n:]), unsafe.Add(p[1], j*inner.step[1]), l.step, n)
				}
				f(in[:m*l.n], out[:m*l.n], l.n)
				runs, n = joined(m, l.n, inner.step[0], l.dstep)
				for j := range runs {
					store(unsafe.Add(p[0], j*inner.step[0]), l.dstep, at0(out[j*n:]), n)
				}
				continue
			}
			for k := range l.n {
				load(at0(tin), unsafe.Add(p[1], k*l.step), inner.step[1], m)
				for j, v := range tin[:m] {
					in[j*l.n+k] = v
				}
			}
			f(in[:m*l.n], out[:m*l.n], l.n)
			for k := range l.n {
				for j := range tout[:m] {
					tout[j] = out[j*l.n+k]
				}
				store(unsafe.Add(p[0], k*l.dstep), inner.step[0], at0(tout), m)
			}
		}
	})
}

// joined returns the number of runs that m lines of n elements form, and the length of a
// run. There is one run if each line begins one step after the end of the previous line.
func joined(m, n, next, step int) (runs, length int) {
	if next == n*step {
		return 1, m * n
	}
	return m, n
}

// lineLoader returns the function that gathers elements of type t in the compute type.
func lineLoader(t dtype.DType) func(dst, src unsafe.Pointer, step, n int) {
	if h := halvesOf(t); h.load != nil {
		return h.load
	}
	size := t.Size()
	return func(dst, src unsafe.Pointer, step, n int) { copySpan(dst, size, src, step, size, n) }
}

// lineStorer returns the function that scatters results of the compute type to elements of
// type t. It leaves src undefined.
func lineStorer(t dtype.DType) func(dst unsafe.Pointer, step int, src unsafe.Pointer, n int) {
	h, size := halvesOf(t), t.Size()
	return func(dst unsafe.Pointer, step int, src unsafe.Pointer, n int) { h.scatter(dst, step, src, size, n) }
}

// Softmax computes e^(x-max) / sum e^(x-max) along an axis, and LogSoftmax x - max -
// log(sum e^(x-max)), where max is the line's largest element. dst has x's type.
//
// shape is that of both operands; xs and ds are strides in elements. dst may be x when the strides are one.
func Softmax(op expr.Op, xt dtype.DType, shape []int, axis int, x unsafe.Pointer, xs []int, dst unsafe.Pointer, ds []int) error {
	l := newLines(xt, xt, shape, axis, x, xs, dst, ds)
	load, store := lineLoader(xt), lineStorer(xt)
	switch {
	case op != expr.Softmax && op != expr.LogSoftmax || !xt.IsFloat():
		return unsupported(op, xt)
	case xt == dtype.Float64:
		f := softmax64
		if op == expr.LogSoftmax {
			f = logSoftmax64
		}
		each(l, load, store, f)
	default:
		f := softmax32
		if op == expr.LogSoftmax {
			f = logSoftmax32
		}
		groups(l, load, store, f)
	}
	return nil
}

// powersOf64 writes e^(x - max) of a line to out, and returns max.
func powersOf64(in, out []float64) (most float64) {
	most = largestOf64(in)
	for i, v := range in {
		out[i] = v - most
	}
	exp64s(at0(out), at0(out), len(out))
	return most
}

func softmax64(in, out []float64) {
	powersOf64(in, out)
	sum := sumOf(out)
	for i := range out {
		out[i] /= sum
	}
}

func logSoftmax64(in, out []float64) {
	m := powersOf64(in, out)
	s := math.Log(sumOf(out))
	for i, v := range in {
		out[i] = (v - m) - s
	}
}

// powersOf writes e^(x - max) for lines of n elements to out; max is that of each line.
func powersOf(in, out []float32, n int) {
	minus, most := kernels.binary(expr.Sub, dtype.Float32), new(float32)
	for i := 0; i < len(in); i += n {
		*most = largestOf32(in[i : i+n])
		if n < 2*pickVector {
			for j, v := range in[i : i+n] {
				out[i+j] = v - *most
			}
			continue
		}
		for j := i; j < i+n; j += blockLen {
			minus.vs(unsafe.Pointer(&out[j]), unsafe.Pointer(&in[j]), unsafe.Pointer(most), min(blockLen, i+n-j))
		}
	}
	exps(at0(out), at0(out), len(out))
}

// sumOf32 is sumOf for float32.
func sumOf32(x []float32) float64 {
	n := len(x)
	switch {
	case n > shortLine:
		return sumOf32(x[:n/2]) + sumOf32(x[n/2:])
	case !vectorAVX || n == 0 || n%4 != 0:
		return sumOf(x)
	}
	return sum32(at0(x), n)
}

func softmax32(in, out []float32, n int) {
	powersOf(in, out, n)
	for i := 0; i < len(out); i += n {
		line := out[i : i+n]
		scale := 1 / sumOf32(line)
		whole := 0
		if vectorAVX {
			whole = n &^ (pickVector - 1)
			scale32(at0(line), scale, whole)
		}
		for j, v := range line[whole:] {
			line[whole+j] = float32(float64(v) * scale)
		}
	}
}

func logSoftmax32(in, out []float32, n int) {
	powersOf(in, out, n)
	for i := 0; i < len(out); i += n {
		m := largestOf32(in[i : i+n])
		s := math.Log(sumOf32(out[i : i+n]))
		for j, v := range in[i : i+n] {
			out[i+j] = float32(float64(v) - float64(m) - s)
		}
	}
}

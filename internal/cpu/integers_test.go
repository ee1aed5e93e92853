package cpu

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestIntegerKernels compares the kernels of integers and Bool with loops over Go's operators: every form, lengths around whole words and
// vectors, operands that are not aligned, extreme values, and results in place of an operand.
func TestIntegerKernels(t *testing.T) {
	testIntegerKernels[int8](t, dtype.Int8)
	testIntegerKernels[uint8](t, dtype.Uint8)
	testIntegerKernels[uint8](t, dtype.Bool)
	testIntegerKernels[int16](t, dtype.Int16)
	testIntegerKernels[uint16](t, dtype.Uint16)
	testIntegerKernels[int32](t, dtype.Int32)
	testIntegerKernels[uint32](t, dtype.Uint32)
	testIntegerKernels[int64](t, dtype.Int64)
	testIntegerKernels[uint64](t, dtype.Uint64)
}

// integerReferences are binary operations on elements of T.
func integerReferences[T integer]() map[expr.Op]func(x, y T) T {
	truth := func(b bool) T {
		if b {
			return 1
		}
		return 0
	}
	pick := func(b bool, x, y T) T {
		if b {
			return x
		}
		return y
	}
	return map[expr.Op]func(x, y T) T{
		expr.Add: func(x, y T) T { return x + y }, expr.Sub: func(x, y T) T { return x - y },
		expr.Mul: func(x, y T) T { return x * y }, expr.And: func(x, y T) T { return x & y },
		expr.Or: func(x, y T) T { return x | y }, expr.Xor: func(x, y T) T { return x ^ y },
		expr.Maximum: func(x, y T) T { return pick(x > y, x, y) }, expr.Minimum: func(x, y T) T { return pick(x < y, x, y) },
		expr.Eq: func(x, y T) T { return truth(x == y) }, expr.Ne: func(x, y T) T { return truth(x != y) },
		expr.Lt: func(x, y T) T { return truth(x < y) }, expr.Le: func(x, y T) T { return truth(x <= y) },
		expr.Gt: func(x, y T) T { return truth(x > y) }, expr.Ge: func(x, y T) T { return truth(x >= y) },
	}
}

// guarded is a vector in a longer one, whose other elements must not change.
type guarded[T integer] struct {
	all     []T
	at, end int
}

const guardElement = 77

func newGuarded[T integer](rng *rand.Rand, n int) guarded[T] {
	at := 1 + rng.IntN(33)
	g := guarded[T]{make([]T, n+at+1+rng.IntN(9)), at, at + n}
	for i := range g.all {
		g.all[i] = guardElement
	}
	return g
}

func (g guarded[T]) part() []T         { return g.all[g.at:g.end] }
func (g guarded[T]) p() unsafe.Pointer { return unsafe.Pointer(&g.all[g.at]) }

func (g guarded[T]) check(t *testing.T, what ...any) {
	t.Helper()
	for i, v := range g.all {
		if (i < g.at || i >= g.end) && v != guardElement {
			t.Fatalf("%v: wrote element %d beside %d elements", what, i-g.at, g.end-g.at)
		}
	}
}

// drawIntegers fills x with extreme values, values near those of y, and others.
func drawIntegers[T integer](rng *rand.Rand, dt dtype.DType, x, y []T) {
	lo, hi := bounds[T]()
	for i := range x {
		switch rng.IntN(4) {
		case 0:
			x[i] = []T{lo, lo + 1, hi, hi - 1, 0, 1}[rng.IntN(6)]
		case 1:
			x[i] = y[i] + T(rng.IntN(3)) - 1
		default:
			x[i] = T(rng.Uint64())
		}
		if dt == dtype.Bool {
			x[i] &= 1
		}
	}
}

func testIntegerKernels[T integer](t *testing.T, dt dtype.DType) {
	rng := testrand.New(t)
	references := integerReferences[T]()
	lengths := []int{1, 7, 8, 9, 31, 32, 63, 64, 65, 71, 72, 128, 511, 512}
	for range 60 {
		lengths = append(lengths, 1+rng.IntN(blockLen))
	}
	for _, n := range lengths {
		x, y, z := newGuarded[T](rng, n), newGuarded[T](rng, n), newGuarded[T](rng, n)
		drawIntegers(rng, dt, y.part(), y.part())
		drawIntegers(rng, dt, x.part(), y.part())
		drawIntegers(rng, dt, z.part(), y.part())
		for op, want := range references {
			k := binaryKernel(op, dt)
			if k.vv == nil {
				if dt != dtype.Bool || op > expr.Mul {
					t.Fatalf("%v of %v has no kernel", op, dt)
				}
				continue
			}
			for form, f := range []func(dst, x, y unsafe.Pointer, n int){k.vv, k.vs, k.sv} {
				operands := func(i int) (a, b T) {
					a, b = x.part()[i], y.part()[i]
					switch form {
					case 1:
						b = y.part()[0]
					case 2:
						a = x.part()[0]
					}
					return a, b
				}
				if k.truth {
					d := newGuarded[uint8](rng, n)
					f(d.p(), x.p(), y.p(), n)
					d.check(t, op, dt, form)
					for i, got := range d.part() {
						if a, b := operands(i); T(got) != want(a, b) {
							t.Fatalf("%v of %v, form %d, element %d of %d: %v with %v is %v", op, dt, form, i, n, a, b, got)
						}
					}
					continue
				}
				for place := range 3 { // results beside the operands, in place of x, in place of y
					d := newGuarded[T](rng, n)
					in := [2]unsafe.Pointer{x.p(), y.p()}
					if place > 0 {
						if form != 0 && form != place {
							continue // the number itself would change
						}
						copy(d.part(), []([]T){x.part(), y.part()}[place-1])
						in[place-1] = d.p()
					}
					f(d.p(), in[0], in[1], n)
					d.check(t, op, dt, form)
					for i, got := range d.part() {
						if a, b := operands(i); got != want(a, b) {
							t.Fatalf("%v of %v, form %d, place %d, element %d of %d: %v with %v is %v", op, dt, form, place, i, n, a, b, got)
						}
					}
				}
			}
		}
		if dt != dtype.Bool {
			testIntegerShifts(t, rng, dt, x.part())
		}
		testIntegerExtremes(t, dt, x.part())
		testIntegerSum(t, dt, x.part())
		testIntegerUnary(t, rng, dt, x.part())
		if dt != dtype.Bool {
			testIntegerClamp(t, rng, dt, [3][]T{x.part(), y.part(), z.part()})
		}
	}
}

// testIntegerShifts compares shifts by a number, in place too, with shifts by one place at a time.
func testIntegerShifts[T integer](t *testing.T, rng *rand.Rand, dt dtype.DType, x []T) {
	for _, op := range []expr.Op{expr.Shl, expr.Shr} {
		width := 8 * dt.Size()
		count := T(rng.IntN(width + 2))
		steps := int(count)
		if rng.IntN(8) == 0 {
			count, steps = ^T(0), width // -1 or the largest number
		}
		beside, in := newGuarded[T](rng, len(x)), newGuarded[T](rng, len(x))
		copy(in.part(), x)
		for _, d := range []guarded[T]{beside, in} {
			binaryKernel(op, dt).vs(d.p(), in.p(), unsafe.Pointer(&count), len(x))
			d.check(t, op, dt)
			for i, got := range d.part() {
				want := x[i]
				for range steps {
					if op == expr.Shl {
						want += want
					} else {
						want >>= 1
					}
				}
				if got != want {
					t.Fatalf("%v of %v, element %d of %d: %v by %v is %v, not %v", op, dt, i, len(x), x[i], count, got, want)
				}
			}
		}
	}
}

func testIntegerExtremes[T integer](t *testing.T, dt dtype.DType, x []T) {
	for _, op := range []expr.Op{expr.ArgMax, expr.ArgMin} {
		best := 0
		for i, v := range x {
			if v > x[best] && op == expr.ArgMax || v < x[best] && op == expr.ArgMin {
				best = i
			}
		}
		extreme, find := rowExtreme[T](op)
		if v := extreme(x); v != x[best] {
			t.Fatalf("%v of %d elements of %v finds %v, not %v", op, len(x), dt, v, x[best])
		}
		if i := find(x, x[best]); i != best {
			t.Fatalf("%v of %d elements of %v is %d, not %d", op, len(x), dt, i, best)
		}
	}
}

// testIntegerSum compares a sum with the lowest 64 bits of a sum of big integers.
func testIntegerSum[T integer](t *testing.T, dt dtype.DType, x []T) {
	want, term := new(big.Int), new(big.Int)
	for _, v := range x {
		if v < 0 {
			term.SetInt64(int64(v))
		} else {
			term.SetUint64(uint64(v))
		}
		want.Add(want, term)
	}
	low := new(big.Int).And(want, new(big.Int).SetUint64(math.MaxUint64)) // the two's complement of a negative number
	if got := sumOfIntegers(x); uint64(got) != low.Uint64() {
		t.Fatalf("sum of %d elements of %v: %v, not %v", len(x), dt, got, want)
	}
}

func testIntegerUnary[T integer](t *testing.T, rng *rand.Rand, dt dtype.DType, x []T) {
	references := map[expr.Op]func(x T) T{
		expr.Not: func(x T) T { return 0 - x - 1 },
		expr.Neg: func(x T) T { return 0 - x }, expr.Square: func(x T) T { return x * x },
		expr.ReLU: func(x T) T { return max(x, 0) },
	}
	lo, _ := bounds[T]()
	if lo == 0 {
		references[expr.Abs] = func(x T) T { return x }
	} else {
		references[expr.Abs] = func(x T) T {
			if x == lo {
				return lo
			}
			return max(x, -x)
		}
	}
	if dt == dtype.Bool {
		references = map[expr.Op]func(x T) T{expr.Not: func(x T) T { return 1 - x }}
	}
	for op, want := range references {
		f, _ := unaryKernel(op, dt)
		d, in := newGuarded[T](rng, len(x)), newGuarded[T](rng, len(x))
		copy(in.part(), x)
		for _, d := range []guarded[T]{d, in} {
			f(d.p(), in.p(), len(x))
			d.check(t, op, dt)
			for i, got := range d.part() {
				if got != want(x[i]) {
					t.Fatalf("%v of %v, element %d of %d: of %v is %v", op, dt, i, len(x), x[i], got)
				}
			}
		}
	}
}

func testIntegerClamp[T integer](t *testing.T, rng *rand.Rand, dt dtype.DType, in [3][]T) {
	n := len(in[0])
	for place := range 4 { // results beside the operands, then in place of each
		d := newGuarded[T](rng, n)
		var p [3]unsafe.Pointer
		for j, x := range in {
			p[j] = unsafe.Pointer(&x[0])
		}
		if place > 0 {
			copy(d.part(), in[place-1])
			p[place-1] = d.p()
		}
		clampOf(dt)(d.p(), p[0], p[1], p[2], n)
		d.check(t, expr.Clamp, dt)
		for i, got := range d.part() {
			x, lo, hi := in[0][i], in[1][i], in[2][i]
			want := x
			if want < lo {
				want = lo
			}
			if want > hi {
				want = hi
			}
			if got != want {
				t.Fatalf("Clamp of %v, place %d, element %d of %d: %v to %v, %v is %v", dt, place, i, n, x, lo, hi, got)
			}
		}
	}
}

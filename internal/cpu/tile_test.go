package cpu

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestTiles compares chains that tiles support with the Go loops of their operations, bit for
// bit: with all kinds of operands, in place, at any alignment, with and without non-temporal
// stores.
func TestTiles(t *testing.T) {
	rng := testrand.New(t)
	for i := range 60 {
		testTiles(t, rng, i == 0, math.Float32bits)
		testTiles(t, rng, i == 0, math.Float64bits)
	}
}

var tileTestOps = []expr.Op{
	expr.Add, expr.Sub, expr.Mul, expr.Div, expr.Maximum, expr.Minimum, expr.Add, expr.Sub, expr.Mul, expr.Clamp,
	expr.Neg, expr.Abs, expr.Square, expr.Sqrt, expr.Floor, expr.Ceil, expr.Round, expr.ReLU,
}

func testTiles[T float32 | float64, B uint32 | uint64](t *testing.T, rng *rand.Rand, large bool, bits func(T) B) {
	t.Helper()
	dt := dtype.Float64
	if unsafe.Sizeof(T(0)) == 4 {
		dt = dtype.Float32
	}
	value := func() T {
		if rng.IntN(8) == 0 {
			return T([]float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 0.5, -2.5, 1e-310, 1e-40}[rng.IntN(9)])
		}
		return T(rng.NormFloat64() * 3)
	}
	array := func(n int) []T {
		v := make([]T, n+8)
		for i := range v {
			v[i] = value()
		}
		return v[rng.IntN(8):][:n]
	}
	shapes := [][]int{{1 + rng.IntN(5000)}, {1 + rng.IntN(70), 1 + rng.IntN(70)}, {3, 600 + rng.IntN(1500)}, {70000 + rng.IntN(999)}}
	if large {
		shapes = [][]int{{streamBytesOf(dt) + rng.IntN(999)}}
	}
	shape := shapes[rng.IntN(len(shapes))]
	n := 1
	for _, d := range shape {
		n *= d
	}
	p := &expr.Program{Rank: len(shape)}
	c := Chain{Program: p, Shape: shape}
	data := make([][]T, 1+rng.IntN(4))
	for i := range data {
		class, strides := expr.Dense, []int{1}
		data[i] = array(n)
		if len(shape) == 2 {
			k := rng.IntN(5)
			strides = [][]int{{shape[1], 1}, {0, 1}, {1, 0}, {0, 0}, {1, shape[0]}}[k]
			class = []expr.Class{expr.Dense, expr.Row, expr.Column, expr.Single, expr.Strided}[k]
		} else if rng.IntN(4) == 0 {
			class, strides = expr.Single, []int{0}
		}
		p.Leaves = append(p.Leaves, expr.Leaf{DType: dt, Class: class})
		c.Leaves = append(c.Leaves, ChainLeaf{at0(data[i]), strides})
	}
	numbers := make([]T, 1+rng.IntN(3))
	for i := range numbers {
		numbers[i] = value()
		p.Scalars = append(p.Scalars, dt)
		var b [2]uint64
		*(*T)(unsafe.Pointer(&b)) = numbers[i]
		c.Scalars = append(c.Scalars, b)
	}
	steps := 1 + rng.IntN(12)
	for i := range steps {
		op := tileTestOps[rng.IntN(len(tileTestOps))]
		s := expr.Step{Op: op, DType: dt, N: 2}
		if op == expr.Clamp {
			s.N = 3
		} else if op < expr.Add {
			s.N = 1
		}
		for j := range s.N {
			switch k := rng.IntN(4); {
			case i > 0 && j == 0 || i > 0 && k == 0: // each step reads the one before, somewhere
				s.Args[j] = expr.Ref{N: uint8(i - 1)}
				if k > 1 {
					s.Args[j].N = uint8(rng.IntN(i))
				}
			case k == 1:
				s.Args[j] = expr.Ref{Kind: expr.ToScalar, N: uint8(rng.IntN(len(numbers)))}
			default:
				s.Args[j] = expr.Ref{Kind: expr.ToLeaf, N: uint8(rng.IntN(len(data)))}
			}
		}
		if s.N == 2 && rng.IntN(2) == 0 {
			s.Args[0], s.Args[1] = s.Args[1], s.Args[0]
		}
		p.Steps = append(p.Steps, s)
	}
	if rng.IntN(2) == 0 {
		p.Steps = withTruths(rng, p.Steps)
	}
	sampled := map[int]T{}
	for _, i := range samples(rng, n) {
		sampled[i] = tileElement(p, c.Leaves, numbers, shape, i)
	}
	dst := array(n + 1)
	if p.Leaves[0].Class == expr.Dense && rng.IntN(3) == 0 {
		dst = data[0]
	}
	for i := range dst {
		if &dst[0] != &data[0][0] {
			dst[i] = T(math.NaN())
		}
	}
	strides := []int{1}
	if len(shape) == 2 {
		strides = []int{shape[1], 1}
	}
	if err := c.Elementwise(at0(dst), strides); err != nil {
		t.Fatal(err)
	}
	if vectorAVX && n >= chainFew && c.tiles.steps == nil && len(p.Steps) < 10 {
		t.Fatalf("no tiles for %s", p.Key())
	}
	for i, want := range sampled {
		if got := dst[i]; bits(got) != bits(want) && (got == got || want == want) {
			t.Fatalf("%s of %v: element %d is %v, want %v", p.Key(), shape, i, got, want)
		}
	}
	if len(dst) > n && dst[n] == dst[n] {
		t.Fatal("wrote behind the result")
	}
}

// withTruths returns steps of one type in which comparisons take the place of some binary
// operations. One or two casts to the type follow each of them, and later steps read the last.
func withTruths(rng *rand.Rand, steps []expr.Step) (out []expr.Step) {
	at := make([]uint8, len(steps)) // where the result of each step is
	for i, s := range steps {
		for j, a := range s.Args[:s.N] {
			if a.Kind == expr.ToStep {
				s.Args[j].N = at[a.N]
			}
		}
		if s.N != 2 || len(out) > expr.MaxSteps/2 || rng.IntN(2) == 0 {
			out = append(out, s)
		} else {
			cast := expr.Step{DType: s.DType, N: 1, Args: [3]expr.Ref{{N: uint8(len(out))}}}
			s.Op, s.DType = expr.Eq+expr.Op(rng.IntN(int(expr.Ge-expr.Eq)+1)), dtype.Bool
			out = append(out, s, cast)
			if rng.IntN(2) == 0 {
				out = append(out, cast)
			}
		}
		at[i] = uint8(len(out) - 1)
	}
	return out
}

// streamBytesOf returns the number of elements from which stores are non-temporal.
func streamBytesOf(dt dtype.DType) int { return 16 << 20 / dt.Size() }

// samples returns all numbers below n, or some of them if there are many, with the last.
func samples(rng *rand.Rand, n int) (s []int) {
	step := 1 + n/3000
	for i := rng.IntN(step); i < n; i += step {
		s = append(s, i)
	}
	for i := max(n-70, 0); i < n; i++ {
		s = append(s, i)
	}
	return s
}

// tileElement returns element i of a chain.
func tileElement[T float32 | float64](p *expr.Program, leaves []ChainLeaf, numbers []T, shape []int, i int) T {
	row, column := 0, i
	if len(shape) == 2 {
		row, column = i/shape[1], i%shape[1]
	}
	results := make([]T, len(p.Steps))
	for k := range p.Steps {
		s := &p.Steps[k]
		var in [3]T
		for j, a := range s.Args[:s.N] {
			switch a.Kind {
			case expr.ToStep:
				in[j] = results[a.N]
			case expr.ToScalar:
				in[j] = numbers[a.N]
			default:
				l := &leaves[a.N]
				at := column * l.Strides[len(l.Strides)-1]
				if len(shape) == 2 {
					at += row * l.Strides[0]
				}
				in[j] = *(*T)(unsafe.Add(l.P, at*int(unsafe.Sizeof(in[0]))))
			}
		}
		d := unsafe.Pointer(&results[k])
		x, y, z := unsafe.Pointer(&in[0]), unsafe.Pointer(&in[1]), unsafe.Pointer(&in[2])
		switch {
		case s.Op == expr.None: // a cast of a truth, which is 1 or 0 here
			results[k] = in[0]
		case s.DType == dtype.Bool:
			var truth uint8
			compare[T](s.Op).vv(unsafe.Pointer(&truth), x, y, 1)
			results[k] = T(truth)
		case s.N == 1:
			floatUnary[T](s.Op)(d, x, 1)
		case s.N == 2:
			floatBinary[T](s.Op, binary{}).vv(d, x, y, 1)
		default:
			clamps[T](d, x, y, z, 1)
		}
	}
	return results[len(results)-1]
}

// TestTileUnary compares the kernels of single operations with their loops in Go.
func TestTileUnary(t *testing.T) {
	rng := testrand.New(t)
	for _, op := range tileTestOps {
		if op >= expr.Add {
			continue
		}
		for _, n := range []int{1, 63, 64, 65, 128, 1000} {
			testTileUnary(t, rng, op, dtype.Float32, n, math.Float32bits)
			testTileUnary(t, rng, op, dtype.Float64, n, math.Float64bits)
		}
	}
}

func testTileUnary[T float32 | float64, B uint32 | uint64](t *testing.T, rng *rand.Rand, op expr.Op, dt dtype.DType, n int, bits func(T) B) {
	t.Helper()
	x, got, want := make([]T, n), make([]T, n+1), make([]T, n)
	for i := range x {
		x[i] = T(specials32[rng.IntN(len(specials32))])
		if rng.IntN(2) == 0 {
			x[i] = T(rng.NormFloat64())
		}
	}
	for i := range got {
		got[i] = T(math.NaN())
	}
	f, _ := unaryKernel(op, dt)
	f(at0(got), at0(x), n)
	floatUnary[T](op)(at0(want), at0(x), n)
	for i := range want {
		if bits(got[i]) != bits(want[i]) && (got[i] == got[i] || want[i] == want[i]) {
			t.Fatalf("%v of %v: %v, want %v", op, x[i], got[i], want[i])
		}
	}
	if got[n] == got[n] {
		t.Fatal("wrote behind the result")
	}
}

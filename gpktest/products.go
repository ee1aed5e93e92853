package gpktest

import (
	"fmt"
	"math"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/matmul"
)

// dims lists the lengths of M, N and K: 0, 1, 2, primes, and multiples of 16 plus and
// minus one.
var dims = []int{0, 1, 2, 15, 16, 17, 31, 63, 100, 127, 129, 511, 4095}

// variety is a kind of product: types, precision, and the relative Frobenius
// error that it may have against the product of the operands.
type variety struct {
	name  string
	in    gpk.DType
	opts  []matmul.Option
	bound float64 // 0: exact
}

var varieties = []variety{
	{"bf16", gpk.BFloat16, nil, 4e-3},
	{"bf16-f32", gpk.BFloat16, []matmul.Option{matmul.WithOutput(gpk.Float32)}, 1e-5},
	{"fp16", gpk.Float16, nil, 5e-4},
	{"fp16-f32", gpk.Float16, []matmul.Option{matmul.WithOutput(gpk.Float32)}, 1e-5},
	{"tf32", gpk.Float32, []matmul.Option{gpk.TF32}, 4e-4},
	{"fp32", gpk.Float32, []matmul.Option{gpk.FullPrecision}, 3e-6},
	{"fp64", gpk.Float64, nil, 1e-14},
	{"c64", gpk.Complex64, []matmul.Option{gpk.FullPrecision}, 3e-6},
	{"tc64", gpk.Complex64, []matmul.Option{gpk.TF32}, 4e-4},
	{"c128", gpk.Complex128, nil, 1e-14},
	{"i8", gpk.Int8, nil, 0},
	{"u8", gpk.Uint8, nil, 0},
	{"i32", gpk.Int32, nil, 0},
	{"i64", gpk.Int64, nil, 0},
}

// arrangement is the memory layout of an operand of a product.
type arrangement struct {
	name string
	make func(s *suite, x tensor) *gpk.Array
}

// arrangements of a matrix, or of a stack of them along leading axes. Each
// gives an array with the values of x.
var arrangements = []arrangement{
	{"row", func(_ *suite, x tensor) *gpk.Array { return x.array() }},
	{"col", func(_ *suite, x tensor) *gpk.Array { return transposed(x).array().T() }},
	{"offset", func(s *suite, x tensor) *gpk.Array { return s.inside(x, 1, 1) }},
	{"col-offset", func(s *suite, x tensor) *gpk.Array { return s.inside(transposed(x), 1, 1).T() }},
	{"strided", func(s *suite, x tensor) *gpk.Array { return s.inside(x, 0, 2) }},
	{"reversed", func(_ *suite, x tensor) *gpk.Array {
		n := len(x.shape)
		return backwards(backwards(reversed(x).array(), n-1), n-2)
	}},
}

func backwards(a *gpk.Array, axis int) *gpk.Array {
	n := a.Shape()[axis]
	if n == 0 {
		return a
	}
	return a.Slice(axis, n-1, -n-1, -1)
}

// transposed swaps the last two axes of the values.
func transposed(x tensor) tensor {
	n := len(x.shape)
	r, c := x.shape[n-2], x.shape[n-1]
	shape := append(append([]int{}, x.shape[:n-2]...), c, r)
	return x.permuted(shape, func(i int) int {
		b, i := i/(r*c), i%(r*c)
		return b*r*c + i%r*c + i/r
	})
}

// reversed runs the last two axes backwards.
func reversed(x tensor) tensor {
	n := len(x.shape)
	r, c := x.shape[n-2], x.shape[n-1]
	return x.permuted(x.shape, func(i int) int {
		b, i := i/(r*c), i%(r*c)
		return b*r*c + (r-1-i/c)*c + c - 1 - i%c
	})
}

// permuted has element from(i) of x at i.
func (x tensor) permuted(shape []int, from func(int) int) tensor {
	y := tensor{dt: x.dt, shape: shape}
	if exact(x.dt) {
		y.ints = make([]int64, size(shape))
		for i := range y.ints {
			y.ints[i] = x.ints[from(i)]
		}
		return y
	}
	y.values = make([]complex128, size(shape))
	for i := range y.values {
		y.values[i] = x.values[from(i)]
	}
	return y
}

// inside puts x into a larger array, from offset on and in every step-th element of the
// last two axes. The other elements are random.
func (s *suite) inside(x tensor, offset, step int) *gpk.Array {
	n := len(x.shape)
	shape := append([]int{}, x.shape...)
	shape[n-2] = offset + max(x.shape[n-2]*max(step, 1), 1) + 1
	shape[n-1] = offset + max(x.shape[n-1]*max(step, 1), 1) + 1
	big := s.random(x.dt, shape...)
	index(x.shape, func(ix []int) {
		jx := append([]int{}, ix...)
		jx[n-2], jx[n-1] = offset+ix[n-2]*step, offset+ix[n-1]*step
		if exact(x.dt) {
			big.ints[at(shape, jx)] = x.ints[at(x.shape, ix)]
		} else {
			big.values[at(shape, jx)] = x.values[at(x.shape, ix)]
		}
	})
	a := big.array()
	for d := n - 2; d < n; d++ {
		a = a.Slice(d, offset, offset+x.shape[d]*step, step)
	}
	return a
}

// sampleRows is the least number of rows of a large product to check. If rows are short,
// more are checked, so that the sample is large.
const sampleRows = 6

// check compares rows of got, m x n, with the wrapping product of a and b, or
// with the float64 one followed by the epilogue: see comparison.
func (s *suite) check(t testing.TB, what string, got, a, b tensor, v variety, after epilogue) *comparison {
	t.Helper()
	m, k, n := a.shape[0], a.shape[1], b.shape[1]
	rows := make([]int, 0, m)
	if many := max(sampleRows, ceilDiv(largeSample, max(n, 1))); m*n*k <= 1<<22 || m <= many {
		for i := range m {
			rows = append(rows, i)
		}
	} else {
		// Errors are most likely at the edges of tiles and in the last row.
		rows = append(rows, 0, m-1)
		for range many - 2 {
			rows = append(rows, s.rng.IntN(m))
		}
	}
	c := &comparison{rounding: v.rounding(s.dev.Kind()), epilogue: after, out: got.dt, k: k}
	if exact(a.dt) {
		for _, i := range rows {
			want := make([]int64, n)
			for p := range k {
				x := a.ints[i*k+p]
				for j := range n {
					want[j] += x * b.ints[p*n+j]
				}
			}
			for j := range want {
				want[j] = wrap(got.dt, want[j])
			}
			sameInts(t, fmt.Sprintf("%s, row %d", what, i), got.ints[i*n:(i+1)*n], want)
		}
		return c
	}
	c.rows(rows, got, a, b)
	if err := c.err(v.bound); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	return c
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// rows compares rows of got with the product of a and b.
func (c *comparison) rows(rows []int, got, a, b tensor) {
	k, n := a.shape[1], b.shape[1]
	moduli, squares := make([]float64, k*n), make([]float64, k) // moduli of b's elements, squared norms of its rows
	for i, y := range b.values {
		if moduli[i] = math.Abs(real(y)); a.dt.IsComplex() {
			moduli[i] = modulus(y)
		}
		squares[i/n] += moduli[i] * moduli[i]
	}
	for _, i := range rows {
		want, scale := make([]complex128, n), make([]float64, n)
		for p := range k {
			x := a.values[i*k+p]
			c.expected2 += sqr(x) * squares[p]
			r := modulus(x)
			for j, y := range moduli[p*n : (p+1)*n] {
				scale[j] += r * y
			}
			if a.dt.IsComplex() {
				for j, y := range b.values[p*n : (p+1)*n] {
					want[j] += x * y
				}
			} else {
				for j, y := range b.values[p*n : (p+1)*n] {
					want[j] += complex(real(x)*real(y), 0)
				}
			}
		}
		c.row(got.values[i*n:(i+1)*n], want, scale)
	}
	independent := len(rows) * n
	if c.operand > 0 {
		independent = min(independent, k*n, k*len(rows))
	}
	c.independent += independent
}

func sqr(x complex128) float64 { return real(x)*real(x) + imag(x)*imag(x) }

// testProducts computes every combination of lengths of M, N and K for every variety. It
// cycles through the arrangements of both operands.
func testProducts(t *testing.T, s *suite) {
	lengths := dims
	if !*full && (quick() || s.dev.Kind() == device.CPU) {
		lengths = dims[:len(dims)-1] // without 4095: minutes of making inputs; Accuracy has large products
	}
	turn := 0
	for _, v := range varieties {
		t.Run(v.name, func(t *testing.T) {
			for i, m := range lengths {
				for j, n := range lengths {
					k := lengths[(i+j)%len(lengths)]
					turn++
					fa, fb := arrangements[turn%len(arrangements)], arrangements[turn/len(arrangements)%len(arrangements)]
					s.product(t, v, m, k, n, fa, fb)
				}
			}
		})
	}
}

func (s *suite) product(t *testing.T, v variety, m, k, n int, fa, fb arrangement) {
	t.Helper()
	a, b := s.random(v.in, m, k), s.random(v.in, k, n)
	x, y := fa.make(s, a), fb.make(s, b)
	what := fmt.Sprintf("%s %dx%dx%d, %s x %s", v.name, m, k, n, fa.name, fb.name)
	c := x.MatMul(y, v.opts...)
	if err := c.Err(); err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	s.check(t, what, evaluate(t, c), a, b, v, epilogue{})
	x.Free()
	y.Free()
}

// testProductLayouts tries every pair of arrangements.
func testProductLayouts(t *testing.T, s *suite) {
	for _, v := range varieties {
		for _, fa := range arrangements {
			for _, fb := range arrangements {
				s.product(t, v, 65, 72, 40, fa, fb)
			}
		}
	}
}

// testBatches checks stacks: broadcast leading axes, 1-D operands, strided
// batches, and destinations that are views.
func testBatches(t *testing.T, s *suite) {
	for _, v := range varieties {
		for _, c := range []struct{ a, b []int }{
			{[]int{3, 17, 24}, []int{3, 24, 16}},
			{[]int{3, 17, 24}, []int{24, 16}},
			{[]int{17, 24}, []int{5, 24, 16}},
			{[]int{2, 1, 9, 8}, []int{3, 8, 7}},
			{[]int{2, 3, 9, 16}, []int{2, 1, 16, 24}},
			{[]int{0, 9, 8}, []int{8, 7}},
			{[]int{24}, []int{24, 16}},
			{[]int{17, 24}, []int{24}},
			{[]int{24}, []int{24}},
			{[]int{4, 17, 24}, []int{24}},
		} {
			a, b := s.random(v.in, c.a...), s.random(v.in, c.b...)
			what := fmt.Sprintf("%s %v x %v", v.name, c.a, c.b)
			got := evaluate(t, a.array().MatMul(b.array(), v.opts...))
			s.checkBatch(t, what, got, a, b, v)
			if len(c.a) > 1 && len(c.b) > 1 {
				x, y := arrangements[s.rng.IntN(len(arrangements))], arrangements[s.rng.IntN(len(arrangements))]
				got = evaluate(t, x.make(s, a).MatMul(y.make(s, b), v.opts...))
				s.checkBatch(t, what+" "+x.name+" "+y.name, got, a, b, v)
			}
		}
		// A destination that is a transposed view, and one inside a larger array.
		a, b := s.random(v.in, 33, 40), s.random(v.in, 40, 24)
		c := a.array().MatMul(b.array(), v.opts...)
		dst := poison(c.DType(), 24, 33)
		if err := gpk.Into(dst.T(), c); err != nil {
			t.Fatal(err)
		}
		s.check(t, v.name+" into a transposed view", read(t, dst.T()), a, b, v, epilogue{})
		frame := poison(c.DType(), 35, 27)
		if err := gpk.Into(frame.Slice(0, 1, 34).Slice(1, 2, 26), c); err != nil {
			t.Fatal(err)
		}
		s.check(t, v.name+" into a part", read(t, frame.Slice(0, 1, 34).Slice(1, 2, 26)), a, b, v, epilogue{})
		s.frameIntact(t, v.name, read(t, frame), 1, 34, 2, 26)
	}
}

// frameIntact checks that no element outside a part was written.
func (s *suite) frameIntact(t *testing.T, what string, f tensor, r0, r1, c0, c1 int) {
	t.Helper()
	cols := f.shape[1]
	for i := range size(f.shape) {
		r, c := i/cols, i%cols
		if r >= r0 && r < r1 && c >= c0 && c < c1 {
			continue
		}
		if exact(f.dt) && f.ints[i] != 77 || !exact(f.dt) && !math.IsNaN(real(f.values[i])) {
			t.Fatalf("%s: wrote outside its part, at %d, %d", what, r, c)
		}
	}
}

// checkBatch checks every matrix of a stack.
func (s *suite) checkBatch(t *testing.T, what string, got, a, b tensor, v variety) {
	t.Helper()
	as, bs := a.shape, b.shape
	if len(as) == 1 {
		as = []int{1, as[0]}
	}
	if len(bs) == 1 {
		bs = []int{bs[0], 1}
	}
	m, k, n := as[len(as)-2], as[len(as)-1], bs[len(bs)-1]
	la, lb := as[:len(as)-2], bs[:len(bs)-2]
	lead := make([]int, max(len(la), len(lb)))
	for i := range lead {
		lead[i] = 1
		for _, l := range [][]int{la, lb} {
			if j := i - (len(lead) - len(l)); j >= 0 && l[j] != 1 {
				lead[i] = l[j]
			}
		}
	}
	if want := size(lead) * m * n; size(got.shape) != want {
		t.Fatalf("%s: %v has not %d elements", what, got.shape, want)
	}
	part := func(x tensor, i, r, c int) tensor {
		y := tensor{dt: x.dt, shape: []int{r, c}}
		if exact(x.dt) {
			y.ints = x.ints[i*r*c : (i+1)*r*c]
		} else {
			y.values = x.values[i*r*c : (i+1)*r*c]
		}
		return y
	}
	index(lead, func(ix []int) {
		s.check(t, fmt.Sprint(what, ix), part(got, at(lead, ix), m, n), part(a, at(la, ix), m, k), part(b, at(lb, ix), k, n), v, epilogue{})
	})
}

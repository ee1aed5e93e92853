package matmul

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/testrand"
	"github.com/x448/float16"
)

// formed returns the values that a form keeps of a line, as float64, and the guard's
// count.
func formed(form cutlass.Form, line []float32) (kept []float64, high []float64, count int) {
	largest := 0.0
	for _, x := range line {
		largest = max(largest, math.Abs(float64(x)))
	}
	e := 14
	if largest > 0 {
		_, e = math.Frexp(largest)
		e--
	}
	half := func(x float64) float64 { return float64(float16.Fromfloat32(float32(x)).Float32()) }
	for _, x := range line {
		if largest > 0 && math.Abs(float64(x)) < largest*0x1p-10 {
			count++
		}
		scaled := math.Ldexp(float64(x), 14-e)
		h := half(scaled)
		rest := 0.0
		if form == cutlass.FormSplit {
			rest = half((scaled-h)*0x1p11) * 0x1p-11
		}
		kept = append(kept, math.Ldexp(h+rest, e-14))
		high = append(high, math.Ldexp(h, e-14))
	}
	return kept, high, count
}

// spreadLine returns a line of elements with one of several ranges of magnitude.
func spreadLine(rng *rand.Rand, k int) []float32 {
	line := make([]float32, k)
	depth := [...]int{0, 8, 12, 24, 29, 36, 60}[rng.IntN(7)]
	share := rng.Float64()
	for i := range line {
		down := 0
		if rng.Float64() < share {
			down = depth
			if rng.IntN(2) == 0 {
				down = rng.IntN(depth + 1)
			}
		}
		line[i] = float32(math.Ldexp(1+rng.Float64(), -down))
		if rng.IntN(2) == 0 {
			line[i] = -line[i]
		}
		if rng.IntN(50) == 0 {
			line[i] = 0
		}
	}
	return line
}

// worst returns the largest error of products of formed lines over sum |a||b|.
func worst(form cutlass.Form, a, b []float32) (relative float64, fits bool) {
	x, xh, na := formed(form, a)
	y, yh, nb := formed(form, b)
	var exact, got, scale float64
	for i := range a {
		p := float64(a[i]) * float64(b[i])
		exact += p
		scale += math.Abs(p)
		got += x[i] * y[i]
		if form == cutlass.FormSplit { // the kernel omits the product of the low planes
			got -= (x[i] - xh[i]) * (y[i] - yh[i])
		}
	}
	if got == exact {
		return 0, na+nb < guardLimit(form, len(a))
	}
	return math.Abs(got-exact) / scale, na+nb < guardLimit(form, len(a))
}

// TestGuard: data that the guard accepts keep the error bound above guardLimit. Some of
// the rejected data would not.
func TestGuard(t *testing.T) {
	rng := testrand.New(t)
	for form, bound := range map[cutlass.Form]float64{
		cutlass.FormScaled: 0x1p-10 + 0x1p-22 + 0x1p-14,
		cutlass.FormSplit:  3*0x1p-22 + 0x1p-24 + 0x1p-40,
	} {
		accepted, rejected, beyond := 0, 0, 0
		for range 6000 {
			k := [...]int{1, 2, 3, 17, 31, 32, 33, 64, 65, 100, 300}[rng.IntN(11)]
			a, b := spreadLine(rng, k), spreadLine(rng, k)
			e, fits := worst(form, a, b)
			switch {
			case !fits:
				if rejected++; e > bound {
					beyond++
				}
			case e > bound:
				t.Fatalf("form %d, k = %d: error %.3g of sum |a||b|, bound %.3g\n%v\n%v", form, k, e, bound, a, b)
			default:
				accepted++
			}
		}
		if accepted < 500 || rejected < 500 || beyond == 0 {
			t.Errorf("form %d: %d accepted, %d rejected, %d of them beyond the bound: the data test nothing", form, accepted, rejected, beyond)
		}
		// A row of 1 and 2^-40 against its mirror.
		if e, fits := worst(form, []float32{1.25, 1.3 * 0x1p-40}, []float32{1.3 * 0x1p-40, 1.75}); fits || e < 2*bound {
			t.Errorf("form %d: the mirrored row: error %g, fits %v", form, e, fits)
		}
	}
}

// TestGuardLimit: for every k data of one magnitude pass, and lines without a common
// place of large elements never do.
func TestGuardLimit(t *testing.T) {
	for _, form := range []cutlass.Form{cutlass.FormScaled, cutlass.FormSplit} {
		for k := 1; k < 2000; k++ {
			limit := guardLimit(form, k)
			if limit < 1 || limit > k {
				t.Errorf("form %d, k = %d: limit %d", form, k, limit)
			}
		}
		if guardLimit(form, maxGuarded) >= 1<<30 {
			t.Errorf("form %d: a line that is not finite may pass", form)
		}
	}
}

// TestPlanes: the parts of an operand do not overlap, begin aligned, and hold
// what gpk_prepare writes.
func TestPlanes(t *testing.T) {
	for _, form := range []cutlass.Form{cutlass.FormScaled, cutlass.FormSplit} {
		for _, lines := range []int{1, 7, 8, 130} {
			for _, k := range []int{1, 9, 64, 515} {
				for _, kMajor := range []bool{true, false} {
					const copies = 3
					p, end := layPlanes(1024, form, lines, k, copies, kMajor)
					rows, length := lines, k
					if !kMajor {
						rows, length = k, lines
					}
					if p.pitch < length || p.pitch%8 != 0 || p.member%8 != 0 || p.member < rows*p.pitch {
						t.Errorf("form %d, %d lines of %d, k major %v: pitch %d, member %d", form, lines, k, kMajor, p.pitch, p.member)
					}
					at := uint64(1024)
					for _, part := range []struct {
						begin uint64
						bytes int
					}{{p.high, 2 * copies * p.member}, {p.low, 2 * copies * p.member}, {p.scales, 4 * copies * lines}, {p.guards, 4 * cutlass.GuardWords}} {
						if part.begin == 0 && form == cutlass.FormScaled {
							continue
						}
						if part.begin < at || part.begin%16 != 0 {
							t.Errorf("form %d, %d lines of %d, k major %v: a part at %d, the one before ends at %d", form, lines, k, kMajor, part.begin, at)
						}
						at = part.begin + uint64(part.bytes)
					}
					if at > end {
						t.Errorf("form %d, %d lines of %d, k major %v: ends at %d, not %d", form, lines, k, kMajor, at, end)
					}
				}
			}
		}
	}
}

// TestBlocks: blocks of a result cover it, or its upper triangle, once.
func TestBlocks(t *testing.T) {
	for _, m := range []int{1, 255, 256, 257, 1000, 5000} {
		for _, rows := range []int{0, 256, 512, 768} {
			for _, symmetric := range []bool{false, true} {
				at := 0
				for _, b := range blocks(m, rows, symmetric) {
					if b.row != at || b.rows < 1 || b.col > b.row || !symmetric && b.col != 0 || b.row%blockUnit != 0 || b.col%blockUnit != 0 {
						t.Errorf("%d rows in blocks of %d, symmetric %v: %+v at %d", m, rows, symmetric, b, at)
					}
					at += b.rows
				}
				if at != m {
					t.Errorf("%d rows in blocks of %d: %d are covered", m, rows, at)
				}
			}
		}
	}
}

// TestSymmetricIsCheaper: about half of a large symmetric product is computed. A small
// one is one block.
func TestSymmetricIsCheaper(t *testing.T) {
	p := Problem{M: 8192, N: 8192, K: 4096, A: dtype.Float64, B: dtype.Float64, LayoutB: ColMajor, AlignA: 16, AlignB: 16, AlignC: 16}
	_, full, err := choose(p, sm90, "", manifest)
	if err != nil {
		t.Fatal(err)
	}
	p.Symmetric = true
	_, half, err := choose(p, sm90, "", manifest)
	if err != nil || half.rows == 0 || half.cycles > 0.65*full.cycles {
		t.Errorf("%d rows a block, %.3g cycles of %.3g, %v", half.rows, half.cycles, full.cycles, err)
	}
	p.M, p.N = 256, 256
	if _, c, err := choose(p, sm90, "", manifest); err != nil || c.rows != 0 {
		t.Errorf("256 x 256: %d rows a block, %v", c.rows, err)
	}
}

// TestGramErrors: invalid uses of AbsSquare and Symmetric are errors.
func TestGramErrors(t *testing.T) {
	for name, p := range map[string]Problem{
		"not square": {M: 3, N: 4, K: 2, A: fp32, B: fp32, Symmetric: true},
		"bias":       {M: 4, N: 4, K: 2, A: fp32, B: fp32, AbsSquare: true, Epilogue: Epilogue{Bias: true}},
		"output":     {M: 4, N: 4, K: 2, A: dtype.Complex64, B: dtype.Complex64, Out: dtype.Complex64, AbsSquare: true},
	} {
		if plan, err := Choose(p, device.CapabilitiesOf(90)); err == nil {
			t.Errorf("%s: %v", name, plan)
		}
	}
}

// TestFormFits: products too large for gpk_prepare are computed without planes.
func TestFormFits(t *testing.T) {
	const many = 1 << 26
	for name, c := range map[string]struct {
		p    Problem
		want bool
	}{
		"small":            {Problem{M: 64, N: 64, K: 64, Batch: 1, A: fp32, B: fp32}, true},
		"lines of a batch": {Problem{M: 64, N: 2, K: 2, Batch: many, A: fp32, B: fp32}, false},
		"columns of one":   {Problem{M: 2, N: 64, K: 2, Batch: many, A: fp32, B: fp32}, false},
		"rows":             {Problem{M: maxGuarded + 1, N: 1, K: 2, Batch: 1, A: fp32, B: fp32}, false},
		"complex rows":     {Problem{M: maxGuarded/2 + 1, N: 1, K: 2, Batch: 1, A: dtype.Complex64, B: dtype.Complex64}, false},
		"k":                {Problem{M: 2, N: 2, K: maxGuarded + 1, Batch: 1, A: fp32, B: fp32}, false},
	} {
		for _, precision := range []Precision{TF32, FullPrecision} {
			p := c.p
			p.Precision, p.AlignA, p.AlignB, p.AlignC = precision, 16, 16, 16
			found, err := rank(p, sm90, "", manifest)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			formed := false
			for _, f := range found {
				formed = formed || f.form != 0
			}
			if formed != c.want {
				t.Errorf("%s, %v: with planes %v, want %v", name, precision, formed, c.want)
			}
		}
	}
}

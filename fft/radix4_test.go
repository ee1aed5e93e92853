package fft

import (
	"math"
	"slices"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestVector checks that the assembly has the same bits as the loops in complex128. In complex64
// it is between a product in float32 and one in float64: within 3 eps of each number.
func TestVector(t *testing.T) {
	if !vector {
		t.Skip("NOT RUN: this machine has no assembly here")
	}
	r := testrand.New(t)
	for _, n := range []int{16, 48, 64, 512, 1024, 5 * 256} {
		x := draw(r, gpk.Complex128, n)
		fast, slow := newPlan[complex128](n), newPlan[complex128](n)
		narrow, plain := newPlan[complex64](n), newPlan[complex64](n)
		count := 0
		for i := range slow.stages {
			if slow.stages[i].vector {
				count++
			}
			slow.stages[i].vector, plain.stages[i].vector = false, false
		}
		if count == 0 {
			t.Fatalf("%d: no stage is computed by the assembly", n)
		}
		a, b := apply(fast, x, false), apply(slow, x, false)
		if !slices.Equal(a, b) {
			t.Errorf("%d: the assembly differs from the loops", n)
		}
		var short []complex64
		for _, v := range x {
			short = append(short, complex64(v))
		}
		c, d := apply(narrow, short, false), apply(plain, short, false)
		for i := range c {
			e := complex128(c[i]) - complex128(d[i])
			if limit := 3 * 0x1p-23 * math.Log2(float64(n)) * norm(x); !(math.Hypot(real(e), imag(e)) <= limit) {
				t.Errorf("%d: element %d is %v, the loops have %v", n, i, c[i], d[i])
			}
		}
	}
	// Threads cut stages, and change no bit.
	for _, n := range []int{1 << 14, 3 << 13, 5 << 12} {
		x := draw(r, gpk.Complex64, n)
		var short []complex64
		for _, v := range x {
			short = append(short, complex64(v))
		}
		p := newPlan[complex64](n)
		if !slices.Equal(apply(p, short, true), apply(p, short, false)) {
			t.Errorf("%d: the bits depend on the threads", n)
		}
	}
}

// apply returns the transform of a line.
func apply[C number](p *plan[C], x []C, alone bool) []C {
	line, scratch := make([]C, len(x)), make([]C, p.scratch())
	copy(p.begin(line, scratch), x)
	p.transform(line, scratch, alone)
	return line
}

// BenchmarkPlan measures the transform of one line in one goroutine.
func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{1024, 1 << 16} {
		p, x := newPlan[complex128](n), make([]complex128, n)
		scratch := make([]complex128, p.scratch())
		b.Run("", func(b *testing.B) {
			for range b.N {
				p.transform(x, scratch, false)
			}
		})
	}
}

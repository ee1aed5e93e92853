package gpktest

import (
	"errors"
	"testing"

	gpk "github.com/gpk-go/gpk"
)

// noError ends the test if err is not nil.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// testInPlace writes through arrays and views, and checks which arrays see the writes.
func testInPlace(t *testing.T, s *suite) {
	for _, dt := range []gpk.DType{gpk.Float32, gpk.Float64, gpk.Float16, gpk.BFloat16, gpk.Int8, gpk.Int64, gpk.Complex64} {
		x, y := s.random(dt, 6, 7), s.random(dt, 7)
		fresh := evaluate(t, x.array().Add(y.array()).Mul(2))
		a := x.array()
		view := a.T()
		noError(t, a.AddInPlace(y.array()))
		noError(t, a.MulInPlace(2))
		equal(t, name("in place", dt), read(t, a), fresh)
		equal(t, name("seen by a view", dt), read(t, view), transposed(fresh))
		// Overlapping operands: a += a^T on a square part.
		part := a.Slice(1, 0, 6)
		want := evaluate(t, part.Add(part.T()))
		noError(t, part.AddInPlace(part.T()))
		equal(t, name("overlap", dt), read(t, part), want)
		// Assignment to a part.
		b := poison(dt, 5, 6)
		z := s.random(dt, 1, 3)
		noError(t, b.Slice(0, 1, 4).Slice(1, 2, 5).CopyFrom(z.array()))
		s.frameIntact(t, name("CopyFrom", dt), read(t, b), 1, 4, 2, 5)
		got := read(t, b.Slice(0, 3, 4).Slice(1, 2, 5))
		equal(t, name("CopyFrom", dt), got, z)
	}
	// A write that returns an error changes nothing.
	before := s.random(gpk.Float32, 3, 4)
	a := before.array()
	view, sum := a.Slice(0, 0, 2), a.Add(1)
	if err := a.AddInPlace(gpk.Ones(gpk.Float32, 5)); !errors.Is(err, gpk.ErrShape) {
		t.Errorf("AddInPlace of another shape: %v", err)
	}
	equal(t, "after a refused write", read(t, a), before)
	equal(t, "a view after a refused write", read(t, view), before.slice(0, 0, 2, 1))
	equal(t, "a reader after a refused write", read(t, sum), read(t, before.array().Add(1)))
	bias := s.random(gpk.Float32, 4)
	noError(t, gpk.BiasAddInPlace(a, bias.array()))
	equal(t, "BiasAddInPlace", read(t, a), evaluate(t, before.array().Add(bias.array())))
}

// testPending checks that a pending array has the elements that it would have had if its
// operation had run at once, no matter when the operation starts.
func testPending(t *testing.T, s *suite) {
	x, y := s.random(gpk.Float32, 9, 9), s.random(gpk.Float32, 9, 9)
	a, b := x.array(), y.array()
	sum := a.Add(b)
	want := read(t, x.array().Add(y.array()))
	noError(t, a.MulInPlace(3))
	equal(t, "read after a write to its input", read(t, sum), want)

	a = x.array()
	sum = a.Add(b)
	a.Free()
	equal(t, "read after a Free of its input", read(t, sum), want)

	a = x.array()
	sum = a.Add(b)
	for i, v := range read(t, sum.T()).values { // reads a transposed copy, but must store sum too
		if v != want.values[i%9*9+i/9] {
			t.Fatalf("transposed, element %d is %v", i, v)
		}
	}
	a.Free()
	equal(t, "read by a view, and after a Free of its input", read(t, sum), want)

	a = x.array()
	sum = a.Add(b)
	if err := gpk.Into(a, sum); err != nil {
		t.Fatal(err)
	}
	equal(t, "Into its own input", read(t, a), want)
	equal(t, "an array that was written over its input", read(t, sum), want)

	a = x.array()
	sum = a.Add(b)
	dst := poison(gpk.Float32, 9, 9)
	if err := gpk.Into(dst, sum); err != nil {
		t.Fatal(err)
	}
	equal(t, "used again after Into", read(t, sum), want)
	sum = a.Add(b)
	if err := gpk.Into(dst, sum); err != nil {
		t.Fatal(err)
	}
	noError(t, a.AddInPlace(1))
	equal(t, "an array computed into another, whose input was then written", read(t, sum), want)

	// A product into one of its operands.
	a = x.array()
	p := a.MatMul(b, gpk.FullPrecision)
	wantP := read(t, x.array().MatMul(y.array(), gpk.FullPrecision))
	if err := gpk.Into(a, p); err != nil {
		t.Fatal(err)
	}
	equal(t, "a product into its operand", read(t, a), wantP)
	equal(t, "a product that was written over its operand", read(t, p), wantP)

	// Many pending arrays at once, read in reverse order.
	var made []*gpk.Array
	for i := range 200 {
		made = append(made, b.Mul(i))
	}
	for i := len(made) - 1; i >= 0; i-- {
		got := read(t, made[i].Slice(0, 0, 1).Slice(1, 0, 1))
		if w := real(round(gpk.Float32, complex(real(y.values[0])*float64(i), 0))); real(got.values[0]) != w {
			t.Fatalf("pending array %d is %v, want %v", i, got.values[0], w)
		}
	}
	// A view of a pending array has the elements that the array will have.
	sum = b.Add(1)
	v := sum.T()
	noError(t, sum.AddInPlace(1))
	equal(t, "a view made while pending", read(t, v), read(t, b.Add(1).Add(1).T()))
}

package gpktest

import (
	"testing"

	gpk "github.com/gpk-go/gpk"
)

// testFrames checks that products into parts of larger arrays write no other elements.
// The rows of a part end inside the 16 bytes that a kernel stores at once. The parts are
// columns in the middle, and single rows.
func testFrames(t *testing.T, s *suite) {
	for _, v := range varieties {
		for _, n := range []int{1, 6, 21, 22, 30} {
			a, b := s.random(v.in, 33, 40), s.random(v.in, 40, n)
			c := a.array().MatMul(b.array(), v.opts...)
			frame := poison(c.DType(), 35, 48)
			if err := gpk.Into(frame.Slice(0, 1, 34).Slice(1, 16, 16+n), c); err != nil {
				t.Fatal(err)
			}
			s.check(t, v.name+" into a part", read(t, frame.Slice(0, 1, 34).Slice(1, 16, 16+n)), a, b, v, epilogue{})
			s.frameIntact(t, v.name, read(t, frame), 1, 34, 16, 16+n)

			row := s.random(v.in, 1, 40)
			frame = poison(c.DType(), 5, n)
			if err := gpk.Into(frame.Slice(0, 0, 1), row.array().MatMul(b.array(), v.opts...)); err != nil {
				t.Fatal(err)
			}
			s.frameIntact(t, v.name+", one row", read(t, frame), 0, 1, 0, n)
		}
	}
}

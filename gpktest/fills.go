package gpktest

import (
	"fmt"
	"testing"

	"github.com/gpk-go/gpk"
)

// testFills writes one element, a column and a number to parts of larger arrays, whose
// rows begin and end at any element. Every element of the part changes, and no other
// does.
func testFills(t *testing.T, s *suite) {
	sizes := [][2]int{{1, 1}, {1, 7}, {5, 3}, {67, 16}, {33, 65}, {7, 1031}, {260, 515}}
	if !quick() {
		sizes = append(sizes, [2]int{1, 1<<20 + 5}, [2]int{2049, 1027})
	}
	for _, dt := range allTypes {
		for _, d := range sizes {
			rows, cols := d[0], d[1]
			top, left := s.rng.IntN(3), s.rng.IntN(9)
			right := s.rng.IntN(3) * s.rng.IntN(9) // often none: then rows lie side by side
			if right == 0 {
				left = 0
			}
			one, column := s.random(dt, 1, 1), s.random(dt, rows, 1)
			for _, c := range []struct {
				name string
				of   tensor
				src  *gpk.Array
			}{
				{"one element", one, one.array().BroadcastTo(rows, cols)},
				{"a column", column, column.array().BroadcastTo(rows, cols)},
				{"Ones", tensor{dt: dt, values: []complex128{1}, ints: []int64{1}}, gpk.Ones(dt, rows, cols)},
				{"Zeros", tensor{dt: dt, values: []complex128{0}, ints: []int64{0}}, gpk.Zeros(dt, rows, cols)},
			} {
				what := fmt.Sprintf("%s of %v, %d x %d, at %d, %d of lines of %d", c.name, dt, rows, cols, top, left, left+cols+right)
				want := s.random(dt, top+rows+1, left+cols+right)
				frame := want.array()
				if err := gpk.Into(frame.Slice(0, top, top+rows).Slice(1, left, left+cols), c.src); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				for i := range rows * cols {
					at, from := (top+i/cols)*want.shape[1]+left+i%cols, 0
					if c.name == "a column" {
						from = i / cols
					}
					if exact(dt) {
						want.ints[at] = c.of.ints[from]
					} else {
						want.values[at] = c.of.values[from]
					}
				}
				equal(t, what, read(t, frame), want)
				frame.Free()
			}
		}
	}
}

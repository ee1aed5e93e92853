package ops

import "testing"

// TestScanPieces checks that each line is in exactly one piece, and that no piece has more lines than the limit.
func TestScanPieces(t *testing.T) {
	for _, c := range [][3]int{{1, 1, 1}, {7, 5, 12}, {7, 5, 4}, {7, 5, 5}, {7, 5, 1}, {1, 40, 12}, {40, 1, 12}, {7, 5, 1000}} {
		lines, inner, most := c[0], c[1], c[2]
		seen := make([]int, lines*inner)
		err := scanPieces(lines, inner, most, func(line, n, first, width int) error {
			if n*width > most || n*width == 0 {
				t.Errorf("%v: a piece of %d x %d lines", c, n, width)
			}
			for l := line; l < line+n; l++ {
				for i := first; i < first+width; i++ {
					seen[l*inner+i]++
				}
			}
			return nil
		})
		for i, n := range seen {
			if n != 1 || err != nil {
				t.Fatalf("%v: line %d is in %d pieces, %v", c, i, n, err)
			}
		}
	}
}

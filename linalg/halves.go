package linalg

// halves is the orthogonal matrix of a divide-and-conquer step, assembled from the matrices of the
// two halves of the problem. A column that belongs to one half is zero in the rows of the other.
type halves struct {
	matrix[float64]
	split int     // the first row of the second half
	in    []uint8 // for each column, firstHalf or secondHalf or both
}

const (
	firstHalf  = 1
	secondHalf = 2
)

func newHalves(n, split int) *halves {
	return &halves{newMatrix[float64](n, n), split, make([]uint8, n)}
}

// place copies the matrix of one half to row i and column j.
func (h *halves) place(block matrix[float64], i, j int, half uint8) {
	for r := range block.rows {
		copy(h.row(i + r)[j:], block.row(r))
	}
	for c := range block.cols {
		h.in[j+c] |= half
	}
}

// rotate replaces columns a and b by c a + s b and c b - s a. Each then has the halves of both.
func (h *halves) rotate(a, b int, c, s float64) {
	for i := range h.rows {
		row := h.row(i)
		row[a], row[b] = c*row[a]+s*row[b], c*row[b]-s*row[a]
	}
	h.in[a] |= h.in[b]
	h.in[b] = h.in[a]
}

// times returns the columns listed in kept times the transpose of vectors. It does not multiply by
// the zero blocks.
func (h *halves) times(kept []int, vectors matrix[float64]) matrix[float64] {
	moved := newMatrix[float64](h.rows, vectors.rows)
	for half, rows := range [][2]int{{0, h.split}, {h.split, h.rows}} {
		var from, of []int // the columns of h, and of vectors
		for i, c := range kept {
			if h.in[c]&(1<<half) != 0 {
				from, of = append(from, c), append(of, i)
			}
		}
		multiply(moved.part(rows[0], rows[1], 0, moved.cols),
			plain(h.part(rows[0], rows[1], 0, h.cols).columns(from)), adj(vectors.columns(of)))
	}
	return moved
}

// arranged returns the matrix whose column j is column order[j] of the concatenation of moved and
// the columns of h listed in done.
func (h *halves) arranged(moved matrix[float64], done, order []int) matrix[float64] {
	q := newMatrix[float64](h.rows, h.cols)
	for i := range q.rows {
		to, a, b := q.row(i), moved.row(i), h.row(i)
		for j, c := range order {
			if c < moved.cols {
				to[j] = a[c]
			} else {
				to[j] = b[done[c-moved.cols]]
			}
		}
	}
	return q
}

// columns returns a copy of the listed columns.
func (m matrix[T]) columns(list []int) matrix[T] {
	c := newMatrix[T](m.rows, len(list))
	for i := range m.rows {
		from, to := m.row(i), c.row(i)
		for j, k := range list {
			to[j] = from[k]
		}
	}
	return c
}

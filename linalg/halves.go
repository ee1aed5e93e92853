package linalg

import "github.com/gpk-go/gpk/internal/cpu"

// halves is the orthogonal matrix of a divide-and-conquer step, assembled from the matrices of the
// two halves of the problem. A column that belongs to one half is zero in the rows of the other.
type halves struct {
	matrix[float64]
	split int     // the first row of the second half
	in    []uint8 // for each column, firstHalf or secondHalf or both
	lent  cpu.Scratch[float64]
}

const (
	firstHalf  = 1
	secondHalf = 2
)

func newHalves(n, split int) *halves {
	m, lent := scratchMatrix[float64](n, n)
	clear(m.data)
	return &halves{m, split, make([]uint8, n), lent}
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

// times multiplies the columns listed in kept by the transpose of vectors, and returns the matrix whose
// column j is column order[j] of the concatenation of these products and the columns listed in done. It
// does not multiply by the zero blocks. It frees h.
func (h *halves) times(kept []int, vectors matrix[float64], done, order []int) matrix[float64] {
	defer h.lent.Free()
	moved, lent := scratchMatrix[float64](h.rows, len(kept))
	defer lent.Free()
	for half, rows := range [][2]int{{0, h.split}, {h.split, h.rows}} {
		var from, of []int // the columns of h, and of vectors
		for i, c := range kept {
			if h.in[c]&(1<<half) != 0 {
				from, of = append(from, c), append(of, i)
			}
		}
		part := h.part(rows[0], rows[1], 0, h.cols)
		a, lentA := scratchMatrix[float64](part.rows, len(from))
		b, lentB := scratchMatrix[float64](vectors.rows, len(of))
		part.columns(a, from)
		vectors.columns(b, of)
		multiply(moved.part(rows[0], rows[1], 0, moved.cols), plain(a), adj(b))
		lentA.Free()
		lentB.Free()
	}
	return h.arranged(moved, done, order)
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

// columns copies the listed columns to c.
func (m matrix[T]) columns(c matrix[T], list []int) {
	for i := range m.rows {
		from, to := m.row(i), c.row(i)
		for j, k := range list {
			to[j] = from[k]
		}
	}
}

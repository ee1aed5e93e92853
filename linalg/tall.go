package linalg

import (
	"unsafe"

	"github.com/gpk-go/gpk/internal/cpu"
)

// tall is the Q of a matrix with many more rows than columns: the product of the Q of its blocks of rows, and of the Q of their
// stacked R (Demmel, Grigori, Hoemmen and Langou, Communication-optimal parallel and sequential QR and LU factorizations,
// SIAM J. Sci. Comput. 34, 2012). A block stays in the cache while its reflectors are computed.
type tall[T number] struct {
	rows, columns, height int
	blocks                []reflectors[T] // reflectors of the height rows that begin at row i height; the last block has the remaining rows too
	rest                  []reflectors[T] // reflectors of the first rows of each block, as many as there are columns
}

// tallBytes is the size of a block of rows.
const tallBytes = 1 << 16

// tallRows returns the number of rows of a block of a matrix with the given number of columns. It is a multiple of 16, because
// dot products of other lengths take more time.
func tallRows[T number](cols int) int {
	return tallBytes / (max(1, cols) * int(unsafe.Sizeof(T(0)))) &^ 15
}

// tallQR is qr by blocks of rows of a dense matrix.
func tallQR[T number](a matrix[T], height int) (q []reflectors[T], r matrix[T]) {
	n, count := a.cols, a.rows/height
	q1 := &tall[T]{rows: a.rows, columns: n, height: height, blocks: make([]reflectors[T], count)}
	tops := newMatrix[T](count*n, n)
	cpu.Parallel(count, 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			block := q1.block(a, i)
			copied, lent := scratch[T](block.rows * n)
			copy(copied, block.data)
			q1.blocks[i] = panel(dense(copied, block.rows, n), dense(block.data, n, block.rows), tops.part(i*n, (i+1)*n, 0, n))
			lent.Free()
		}
	})
	q1.rest, r = qr(tops)
	return []reflectors[T]{{tall: q1}}, r
}

// block returns the rows of c that block i changes.
func (q *tall[T]) block(c matrix[T], i int) matrix[T] {
	to := (i + 1) * q.height
	if i+1 == len(q.blocks) {
		to = q.rows
	}
	return c.part(i*q.height, to, 0, c.cols)
}

// apply sets c = Q c, or Q^H c.
func (q *tall[T]) apply(c matrix[T], adjoint bool) {
	if !adjoint {
		q.applyRest(c, false)
	}
	cpu.Parallel(len(q.blocks), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			q.blocks[i].apply(q.block(c, i), adjoint)
		}
	})
	if adjoint {
		q.applyRest(c, true)
	}
}

func (q *tall[T]) applyRest(c matrix[T], adjoint bool) {
	n := q.columns
	data, lent := scratch[T](len(q.blocks) * n * c.cols)
	defer lent.Free()
	tops := dense(data, len(q.blocks)*n, c.cols)
	for i := range tops.rows {
		copy(tops.row(i), c.row(i/n*q.height+i%n))
	}
	applyAll(q.rest, tops, adjoint)
	for i := range tops.rows {
		copy(c.row(i/n*q.height+i%n), tops.row(i))
	}
}

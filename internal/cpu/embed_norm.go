package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// EmbedTable is a table of EmbedNorm. The elements of a row are contiguous, and rows are
// Pitch elements apart. IDs, which are dense and of type IDType (Int32 or Int64), have the
// row for each line. Negative IDs count from the end, and nil means row 0 for every line.
// The caller has checked them with CheckRows.
type EmbedTable struct {
	Data   unsafe.Pointer
	Rows   int
	Pitch  int
	IDs    unsafe.Pointer
	IDType dtype.DType
}

// row returns the address of the row for a line.
func (t *EmbedTable) row(line, size int) unsafe.Pointer {
	if t.IDs == nil {
		return t.Data
	}
	i := int(indexAt(t.IDType, unsafe.Add(t.IDs, line*t.IDType.Size())))
	if i < 0 {
		i += t.Rows
	}
	return unsafe.Add(t.Data, i*t.Pitch*size)
}

// CheckRows returns the first of n IDs that is outside the table. ok means that there is
// none.
func (t *EmbedTable) CheckRows(n int) (id int64, ok bool) {
	if t.IDs == nil {
		return 0, true
	}
	for i := range n {
		if id := indexAt(t.IDType, unsafe.Add(t.IDs, i*t.IDType.Size())); id < -int64(t.Rows) || id >= int64(t.Rows) {
			return id, false
		}
	}
	return 0, true
}

// EmbedNorm computes lines of n elements: LayerNorm of the sum of one row of each table.
// The rows are added in order, and each sum is rounded to the type xt, so that lines have
// the bits of Take, Add and Norm. dst is dense. gamma and beta are as for Norm.
func EmbedNorm(xt dtype.DType, lines, n int, tables []EmbedTable, gamma, beta unsafe.Pointer, eps float64, dst unsafe.Pointer) {
	if xt == dtype.Float64 {
		embedNorm(xt, lines, n, tables, normOf[float64](expr.LayerNorm, xt, n, gamma, beta, eps), dst)
	} else {
		embedNorm(xt, lines, n, tables, normOf[float32](expr.LayerNorm, xt, n, gamma, beta, eps), dst)
	}
}

func embedNorm[T floating](xt dtype.DType, lines, n int, tables []EmbedTable, norm func(in, out []T), dst unsafe.Pointer) {
	computed := dtype.Float32
	if xt == dtype.Float64 {
		computed = xt
	}
	size, add := xt.Size(), kernels.binary(expr.Add, computed)
	load, store := lineLoader(xt), lineStorer(xt)
	Parallel(lines, max(minPart/n, 1), func(lo, hi int) {
		room := make([]T, 3*n)
		sum, next, out := room[:n], room[n:2*n], room[2*n:]
		for i := lo; i < hi; i++ {
			at := unsafe.Add(dst, i*n*size)
			load(at0(sum), tables[0].row(i, size), size, n)
			for t := 1; t < len(tables); t++ {
				load(at0(next), tables[t].row(i, size), size, n)
				add.vv(at0(sum), at0(sum), at0(next), n)
				if computed != xt { // rounded to the type
					store(at, size, at0(sum), n)
					load(at0(sum), at, size, n)
				}
			}
			norm(sum, out)
			store(at, size, at0(out), n)
		}
	})
}

package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// If C is small and k is long, each element of the operands is used only a few times, and
// there are too few tiles for all goroutines. The goroutines then share the stretches of k,
// and the operands are not packed.

const (
	longElements  = 1 << 13 // maximum number of elements of C
	longRows      = 128     // maximum number of rows of C: for more of them, packing B pays
	longStretches = 8       // minimum number of stretches of k
	longBatch     = 64      // number of stretches whose sums are in memory at the same time
)

// gemmLong computes C = A B if C is small, k long and B's rows are contiguous, and
// reports whether it did. The stretches of k and the order of their sums are those of
// a packed product, and so are the bits.
func (v *variant[T]) gemmLong(m, n, k int, a, b Operand, c *T, ldc int) bool {
	size := int(unsafe.Sizeof(*c))
	if !v.fitsLong(m, n, k, b) {
		return false
	}
	stretches := ceilDiv(k, v.kc)
	kc := roundUp(ceilDiv(k, stretches), 8)
	stretches = ceilDiv(k, kc)
	add := kernels.binary(expr.Add, dtype.Float32).vv
	if size == 8 {
		add = kernels.binary(expr.Add, dtype.Float64).vv
	}
	batch := min(stretches, longBatch)
	w := getBuffer[T](batch * m * n)
	sums := at0(w.data) // sums of the first stretch, and later of all stretches before the current batch
	for s := 0; s < stretches; {
		first := min(s, 1)
		count := min(batch-first, stretches-s)
		Parallel(count, 1, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				q := (s + i) * kc
				left, right := a, b
				left.Data, right.Data = ptr(offset((*T)(a.Data), q*a.CS)), ptr(offset((*T)(b.Data), q*b.RS))
				v.multiplyUnpacked(m, n, min(kc, k-q), left, right, &w.data[(first+i)*m*n], n)
			}
		})
		for i := 1; i < first+count; i++ {
			add(sums, sums, unsafe.Pointer(&w.data[i*m*n]), m*n)
		}
		s += count
	}
	copyTile(c, ldc, &w.data[0], n, m, n, false)
	w.put()
	return true
}

// fitsLong reports whether a product is one for gemmLong.
func (v *variant[T]) fitsLong(m, n, k int, b Operand) bool {
	size := int(unsafe.Sizeof(*new(T)))
	return v.mulUnpacked != nil && (n >= v.lanes || v.masked) && min(m, n) > maxVectors && b.CS == 1 &&
		m <= longRows && m*n <= longElements && n*v.kc*size <= unpackedBytes && k >= longStretches*v.kc
}

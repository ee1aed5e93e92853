package cpu

import (
	"math/bits"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// laneColumns computes Mean and Var of neighbouring columns together, in the order of run. Its sums are kinds*lanes
// rows of pitch numbers, one a column, and row i*lanes+l is lane l of sum i. add adds the elements x of columns from
// first on, to one lane. put stores the results of width columns from first on.
func (f *folding[T, A]) laneColumns(kinds int, add func(sums []float64, pitch int, x []T, first, lane int), put func(first, width int, sums []float64, pitch int)) {
	if f.kept.n == 0 {
		return
	}
	inner := f.kept.axes[len(f.kept.axes)-1]
	pitch := min(foldColumns, inner.n)
	panels := (inner.n-1)/pitch + 1
	groups := (f.folded.n-1)/foldGroup + 1
	outer, size := f.kept.n/inner.n, kinds*lanes*pitch
	var partial []float64
	if groups > 1 {
		partial = make([]float64, outer*panels*groups*size)
	}
	place := func(panel int) (first, width int) {
		at := panel % panels * pitch
		return panel/panels*inner.n + at, min(pitch, inner.n-at)
	}
	Parallel(outer*panels*groups, max(minPart/(pitch*min(f.folded.n, foldGroup)), 1), func(lo, hi int) {
		w := works.Get().(*work)
		defer works.Put(w)
		buf := unsafe.Slice((*T)(unsafe.Pointer(&w.block[0])), foldColumns)
		block, tree := make([]float64, size), newColumnTree()
		for i := lo; i < hi; i++ {
			first, width := place(i / groups)
			p := unsafe.Add(f.kept.p[0], f.kept.offset(first))
			from := i % groups * foldGroup
			end := min(from+foldGroup, f.folded.n)
			tree.n = 0
			for k := from; k < end; k++ {
				add(block, pitch, f.elements(buf, unsafe.Add(p, f.folded.offset(k)), width), first, k%lanes)
				if k+1 == end || (k+1-from)%f.block == 0 {
					tree.push(block)
					clear(block)
				}
			}
			if groups == 1 {
				put(first, width, tree.sum(), pitch)
			} else {
				copy(partial[i*size:], tree.sum())
			}
		}
	})
	if groups == 1 {
		return
	}
	tree := newColumnTree()
	for i := range outer * panels {
		tree.n = 0
		for g := range groups {
			tree.push(partial[(i*groups+g)*size:][:size])
		}
		first, width := place(i)
		put(first, width, tree.sum(), pitch)
	}
}

// lanesAt returns the lanes of column j.
func lanesAt(sums []float64, pitch, j int) [lanes]float64 {
	return [lanes]float64{sums[j], sums[pitch+j], sums[2*pitch+j], sums[3*pitch+j]}
}

// columnTree merges blocks of sums as branches does with tree set.
type columnTree struct {
	add   func(dst, x, y unsafe.Pointer, n int)
	n     int
	level [][]float64
}

func newColumnTree() columnTree {
	return columnTree{add: kernels.binary(expr.Add, dtype.Float64).vv}
}

// push adds a block, which it overwrites.
func (t *columnTree) push(v []float64) {
	l := 0
	for ; t.n>>l&1 != 0; l++ {
		t.add(at0(v), at0(t.level[l]), at0(v), len(v))
	}
	if l == len(t.level) {
		t.level = append(t.level, make([]float64, len(v)))
	}
	copy(t.level[l], v)
	t.n++
}

// sum merges the pending blocks, from the lowest level up. There must be one. The sum is valid until the next push.
func (t *columnTree) sum() []float64 {
	l := bits.TrailingZeros(uint(t.n))
	v := t.level[l]
	for l++; t.n>>l != 0; l++ {
		if t.n>>l&1 != 0 {
			t.add(at0(v), at0(t.level[l]), at0(v), len(v))
		}
	}
	return v
}

// addToColumns adds x to sums, element by element.
func addToColumns[T float32 | float64](sums []float64, x []T) {
	sums = sums[:len(x)]
	if vectorAVX {
		whole := len(x) &^ (lanes - 1)
		if unsafe.Sizeof(T(0)) == 4 {
			addColumns32(at0(sums), at0(x), whole)
		} else {
			kernels.binary(expr.Add, dtype.Float64).vv(at0(sums), at0(sums), at0(x), whole)
		}
		sums, x = sums[whole:], x[whole:]
	}
	for j, v := range x {
		sums[j] += float64(v)
	}
}

// addDeviationsToColumns adds the deviations of x from means, and their squares, element by element.
func addDeviationsToColumns[T float32 | float64](rest, squares []float64, x []T, means []float64) {
	n := len(x)
	rest, squares, means = rest[:n], squares[:n], means[:n]
	if vectorAVX {
		whole := n &^ (lanes - 1)
		if unsafe.Sizeof(T(0)) == 4 {
			addColumnDeviations32(at0(rest), at0(squares), at0(x), at0(means), whole)
		} else {
			addColumnDeviations64(at0(rest), at0(squares), at0(x), at0(means), whole)
		}
		rest, squares, x, means = rest[whole:], squares[whole:], x[whole:], means[whole:]
	}
	for j, v := range x {
		d := float64(v) - means[j]
		rest[j] += d
		squares[j] += float64(d * d)
	}
}

package cpu

import (
	"runtime"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
)

// A right operand that many products read, such as a layer's weight, is packed once. The
// micro-kernels then read its panels from memory that the caller keeps (Operand.Panels).

// KeepsPanels reports whether Gemm reads the kept panels of a k x n operand b in a product
// with m rows. A product that reads its operands in place does not, and neither does one
// with few rows or columns.
func KeepsPanels(t dtype.DType, m, n, k int, b Operand) bool {
	switch t {
	case dtype.Float32:
		return use32.readsPanels(m, n, k, b)
	case dtype.Float64:
		return use64.readsPanels(m, n, k, b)
	}
	return false
}

func (v *variant[T]) readsPanels(m, n, k int, b Operand) bool {
	return min(m, n) > maxVectors && k > 0 && !v.fitsUnpacked(m, n, k) && !v.fitsLong(m, n, k, b)
}

// PanelBytes returns the bytes of the panels of a k x n operand of type t: those of the
// operand itself, with n rounded up to whole panels. Only Float32 and Float64 have panels.
func PanelBytes(t dtype.DType, k, n int) int64 {
	width := use32.nr
	if t == dtype.Float64 {
		width = use64.nr
	}
	return int64(roundUp(n, width)) * int64(k) * int64(t.Size())
}

// PackPanels writes the panels of the k x n operand b to dst, which has PanelBytes bytes
// and is aligned to a cache line.
func PackPanels(t dtype.DType, k, n int, b Operand, dst unsafe.Pointer) {
	if t == dtype.Float64 {
		packPanels(use64, k, n, b, (*float64)(dst))
	} else {
		packPanels(use32, k, n, b, (*float32)(dst))
	}
}

func packPanels[T floating](v *variant[T], k, n int, b Operand, dst *T) {
	p := &product[T]{v: v, n: n, k: k, b: columnsOf[T](b, int(unsafe.Sizeof(*dst)), nil)}
	nc := p.columns()
	for j := 0; j < n; j += nc {
		cols := min(nc, n-j)
		panels := ceilDiv(cols, v.nr)
		p.packColumns(unsafe.Slice(offset(dst, j*k), panels*v.nr*k), j, cols, runtime.GOMAXPROCS(0))
	}
}

// maxPanelsTogether is the largest number of panels that a goroutine packs together.
const maxPanelsTogether = 8

// packColumns packs columns j to j+cols of B: for every stretch of k, the panels from left
// to right.
func (p *product[T]) packColumns(dst []T, j, cols, workers int) {
	if p.k == 0 {
		return
	}
	v, kc := p.v, p.stretch()
	panels := ceilDiv(cols, v.nr)
	together, stretches := 1, ceilDiv(p.k, kc)
	if p.b.hasRows() { // pack several panels together, but leave each goroutine some units
		together = max(1, min(maxPanelsTogether, panels*stretches/(workers*tasksPerCPU)))
	}
	groups := ceilDiv(panels, together)
	units := groups * stretches
	Parallel(units, grainFor(workers, units), func(lo, hi int) {
		scratch := getBuffer[T](p.b.scratchLen(v.nr, kc))
		for unit := lo; unit < hi; unit++ {
			q, x := unit/groups*kc, unit%groups*together
			p.packPanels(dst[p.panelAt(panels, x, q):], j, cols, x, together, q, scratch.data)
		}
		scratch.put()
	})
}

// packPanels packs the stretch of k from q on of up to count panels of columns j to j+cols, from number x on.
func (p *product[T]) packPanels(dst []T, j, cols, x, count, q int, scratch []T) {
	nr := p.v.nr
	p.b.packLines(p.v, dst, nr, j+x*nr, min(count*nr, cols-x*nr), q, min(p.stretch(), p.k-q), scratch)
}

// panelAt returns the beginning of panel number jp of the stretch of k that begins at q.
func (p *product[T]) panelAt(panels, jp, q int) int {
	kq := min(p.stretch(), p.k-q)
	return (q*panels + jp*kq) * p.v.nr * len(p.b.parts)
}

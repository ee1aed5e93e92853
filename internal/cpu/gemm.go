package cpu

import (
	"runtime"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
)

// linesOf and columnsOf return an operand in the form that the packers read. A line is a
// row of A or a column of B; a panel holds lines next to each other.
func linesOf[T floating](a Operand, size int, load loader[T]) source[T] {
	return source[T]{data: a.Data, line: a.RS, step: a.CS, size: size, load: load, parts: wholeElement}
}

func columnsOf[T floating](b Operand, size int, load loader[T]) source[T] {
	return source[T]{data: b.Data, line: b.CS, step: b.RS, size: size, load: load, parts: wholeElement, panels: (*T)(b.Panels)}
}

var wholeElement = []part{realPart}

// gemmPlain is Gemm for float32 and float64. If k is short, it accumulates the sums in C
// itself.
func gemmPlain[T floating](v *variant[T], m, n, k int, a, b Operand, c *T, ldc int, ep *Epilogue) {
	size := int(unsafe.Sizeof(*c))
	outType := dtype.Float32
	if size == 8 {
		outType = dtype.Float64
	}
	if v.gemmUnpacked(m, n, k, a, b, c, ldc) || v.gemmDots(m, n, k, a, b, c, ldc) || v.gemmLong(m, n, k, a, b, c, ldc) {
		if !ep.isNone() {
			e := newEpilogue[T](ep, n, outType)
			for i := range m {
				e.apply(unsafe.Slice(offset(c, i*ldc), n), 0)
			}
		}
		return
	}
	p := product[T]{
		v: v, m: m, n: n, k: k, c: c, ldc: ldc,
		a: linesOf[T](a, size, nil), b: columnsOf[T](b, size, nil),
		upper: ep != nil && ep.Upper,
	}
	if !ep.isNone() {
		e := newEpilogue[T](ep, n, outType)
		p.finish = func(o region[T]) {
			for i := range o.rows {
				e.apply(unsafe.Slice(offset(o.data, i*o.ld), o.cols), o.j)
			}
		}
	}
	if 2*k > 7*v.kc {
		// Every stretch of k adds to C's rows, whose pitch may cause cache conflicts. From
		// four stretches on, separate sums and one copy cost less.
		apply := p.finish
		p.c = nil
		p.finish = func(o region[T]) {
			if apply != nil {
				apply(o)
			}
			copyTile(offset(c, o.i*ldc+o.j), ldc, o.data, o.ld, o.rows, o.cols, false)
		}
	}
	p.run()
}

// A product is one matrix product in terms of panels.
//
// The columns of C are divided into stretches of nc. For each stretch, B is packed once,
// unless its panels have been kept: there is one panel for every nr columns and every
// stretch of kc steps of k. C is then divided into tasks of mc rows and some panels of
// columns. A task packs its rows of A, kc steps at a time, and multiplies. The panel of B
// (kc x nr) stays in the first-level cache while the micro-kernel goes through A's panels
// (mc x kc in all), which stay in the second-level cache.
//
// Each element of C is the sum of the micro-kernel's results over the stretches of k, in
// order. The division into tasks does not change it.
type product[T floating] struct {
	v       *variant[T]
	m, n, k int
	a, b    source[T]

	// c receives the sums. If it is nil, a task collects them in scratch memory, in two
	// planes for complex products, and finish writes C.
	c       *T
	ldc     int
	complex bool
	upper   bool // tiles below the diagonal are skipped

	// finish, if not nil, is called when a block of C is complete. With eachStretch it is
	// called after each stretch of k, and every stretch starts at zero.
	finish      func(o region[T])
	eachStretch bool
}

// A region is a part of C for finish: rows x cols elements, the first of which
// is C[i, j], with row pitch ld. The imaginary plane of a complex product
// begins plane elements later.
type region[T floating] struct {
	data       *T
	ld, plane  int
	i, j       int
	rows, cols int
	first      bool // the first stretch of k
}

// Limits for cutting the work; none of them changes a result.
const (
	packedBytes = 32 << 20 // memory for a stretch of packed columns of B
	minColumns  = 256      // a stretch of columns is never shorter, even if it takes more memory
	maxColumns  = 4096
	serialWork  = 1 << 20 // multiplications below which a second goroutine does not pay
	tasksPerCPU = 4
	minTileRows = 4 // a task is not cut to fewer tiles down or
	minPanels   = 8 // across to employ a second goroutine
)

var l2 = func() int {
	if n := l2Bytes(); n > 0 {
		return n
	}
	return 512 << 10
}()

func (p *product[T]) run() {
	if p.m == 0 || p.n == 0 || p.runVectors() {
		return
	}
	q := *p // a copy, because the goroutines' shared data must not live on the stack
	q.runPacked()
}

// columns returns the length of a stretch of columns. It depends on the shape alone.
func (p *product[T]) columns() int {
	size := int(unsafe.Sizeof(*new(T)))
	nc := packedBytes / (max(p.k, 1) * len(p.b.parts) * size)
	return roundUp(min(max(nc, minColumns), maxColumns), p.v.nr)
}

// stretch returns the length of the stretches of k, the last of which may be shorter. They
// are of equal length; a multiple of 8 suits the packers.
func (p *product[T]) stretch() int {
	if p.k == 0 {
		return 0
	}
	most := p.v.kc
	if p.complex {
		most /= 2
	}
	return roundUp(ceilDiv(p.k, ceilDiv(p.k, most)), 8)
}

func (p *product[T]) runPacked() {
	v, kc, nc := p.v, p.stretch(), p.columns()
	size := int(unsafe.Sizeof(*new(T)))
	la, lb, inner := len(p.a.parts), len(p.b.parts), 1
	if p.complex {
		inner = 2
	}
	workers := runtime.GOMAXPROCS(0)
	if p.m*p.n*p.k <= serialWork {
		workers = 1
	}
	for j0 := 0; j0 < p.n; j0 += nc {
		cols := min(nc, p.n-j0)
		panels := ceilDiv(cols, v.nr)
		mc, jc := p.cut(panels, kc*inner*size, workers)
		taskRows, taskCols := ceilDiv(p.m, mc), ceilDiv(panels, jc)
		// A panel that only one task needs is packed by that task.
		var all []T // the panels of this stretch of columns
		var shared *buffer[T]
		own := 0
		switch {
		case p.b.panels != nil:
			all = unsafe.Slice(offset(p.b.panels, j0*p.k), panels*v.nr*p.k)
		case taskRows > 1:
			shared = getBuffer[T](panels * v.nr * p.k * lb)
			all = shared.data
			p.packColumns(all, j0, cols, workers)
		default:
			own = kc * v.nr * lb
		}
		tasks := taskRows * taskCols
		Parallel(tasks, grainFor(workers, tasks), func(lo, hi int) {
			w := getBuffer[T](own + max(p.a.scratchLen(v.mr, kc), p.b.scratchLen(v.nr, kc)) +
				mc*kc*la + v.mr*v.nr + p.taskSumsLen(mc, jc))
			panel, rest := w.data[:own], w.data[own:]
			for t := lo; t < hi; t++ {
				i, jp := t%taskRows*mc, t/taskRows*jc
				rows, panelsHere := min(mc, p.m-i), min(jc, panels-jp)
				p.task(rest, i, rows, j0+jp*v.nr, min(panelsHere*v.nr, cols-jp*v.nr), kc, func(x, q int, scratch []T) *T {
					if all != nil {
						return &all[p.panelAt(panels, jp+x, q)]
					}
					p.packPanels(panel, j0, cols, jp+x, 1, q, scratch)
					return &panel[0]
				})
			}
			w.put()
		})
		if shared != nil {
			shared.put()
		}
	}
}

// cut returns the rows and the column panels of a task, given the bytes of one line of A
// for a stretch of k.
func (p *product[T]) cut(panels, lineBytes, workers int) (mc, jc int) {
	v := p.v
	most := max(l2/2/max(lineBytes, 1)/v.mr*v.mr, v.mr)
	taskRows, taskCols := ceilDiv(p.m, most), 1
	if workers == 1 {
		return roundUp(ceilDiv(p.m, taskRows), v.mr), panels
	}
	want := workers * tasksPerCPU
	// Rows are divided first, because every task packs its rows of A, and tasks with the
	// same rows pack them again. With fewer than two tasks for each worker, some workers
	// would wait for the others as long as a task takes. Tasks are then cut to fewer panels
	// than is best for the caches.
	for _, across := range []int{minPanels, minPanels / 2} {
		if taskRows > 1 || panels < want*across {
			taskRows = max(taskRows, min(want, ceilDiv(p.m, minTileRows*v.mr)))
		}
		taskCols = min(ceilDiv(want, taskRows), ceilDiv(panels, across))
		if taskRows*taskCols >= 2*workers {
			break
		}
	}
	return roundUp(ceilDiv(p.m, taskRows), v.mr), ceilDiv(panels, taskCols)
}

// taskSumsLen returns the length of a task's own sums, which cover complete tiles.
func (p *product[T]) taskSumsLen(mc, jc int) int {
	switch {
	case p.c != nil:
		return 0
	case p.complex:
		return 2 * mc * jc * p.v.nr
	}
	return mc * jc * p.v.nr
}

// task computes C[i : i+rows, j : j+cols] in the memory w, from B's panels.
func (p *product[T]) task(w []T, i, rows, j, cols, kc int, panel func(x, q int, scratch []T) *T) {
	v, parts := p.v, len(p.a.parts)
	strips, panels := ceilDiv(rows, v.mr), ceilDiv(cols, v.nr)
	take := func(n int) (part []T) {
		part, w = w[:n], w[n:]
		return part
	}
	scratch := take(max(p.a.scratchLen(v.mr, kc), p.b.scratchLen(v.nr, kc)))
	packed := take(strips * v.mr * kc * parts)
	tile := &take(v.mr * v.nr)[0]

	o := region[T]{ld: p.ldc, i: i, j: j, rows: rows, cols: cols, first: true}
	across := v.nr // distance between the sums of neighbouring panels
	if p.c != nil {
		o.data = offset(p.c, i*p.ldc+j)
	} else { // the tiles of a panel one below the other: no two rows share a cache set
		across = strips * v.mr * v.nr
		o.data, o.ld, o.plane = &w[0], v.nr, strips*v.mr*panels*v.nr
	}
	if p.k == 0 {
		if p.c == nil {
			o.ld = panels * v.nr
		}
		p.zero(o)
		if p.finish != nil {
			p.finish(o)
		}
		return
	}
	for q := 0; q < p.k; q += kc {
		kq := min(kc, p.k-q)
		p.a.packLines(v, packed, v.mr, i, rows, q, kq, scratch)
		add := q > 0 && !p.eachStretch
		for x := range panels {
			column := o
			column.data, column.j, column.cols = offset(o.data, x*across), j+x*v.nr, min(v.nr, cols-x*v.nr)
			strips := strips
			if p.upper {
				column.rows = min(rows, column.j+column.cols-i)
				strips = ceilDiv(column.rows, v.mr)
			}
			if column.rows <= 0 {
				continue
			}
			b := panel(x, q, scratch)
			for s := range strips {
				a, c := &packed[s*v.mr*kq*parts], offset(column.data, s*v.mr*o.ld)
				switch r := min(v.mr, rows-s*v.mr); {
				case p.complex:
					// A's panel is [-+Im Re +-Im], B's [Im Re], each kq steps.
					v.mul(2*kq, a, b, c, o.ld, add)
					v.mul(2*kq, offset(a, kq*v.mr), b, offset(c, o.plane), o.ld, add)
				case p.c == nil || r == v.mr && column.cols == v.nr:
					v.mul(kq, a, b, c, o.ld, add)
				default:
					v.mul(kq, a, b, tile, v.nr, false)
					copyTile(c, o.ld, tile, v.nr, r, column.cols, add)
				}
			}
			if p.finish != nil && (p.eachStretch || q+kq == p.k) {
				column.first = q == 0
				p.finish(column)
			}
		}
	}
}

// zero writes the result of a product with k = 0.
func (p *product[T]) zero(o region[T]) {
	for i := range o.rows {
		clear(unsafe.Slice(offset(o.data, i*o.ld), o.cols))
		if p.complex {
			clear(unsafe.Slice(offset(o.data, o.plane+i*o.ld), o.cols))
		}
	}
}

// copyTile stores the part of a tile that lies inside C.
func copyTile[T floating](c *T, ldc int, tile *T, ldt, rows, cols int, add bool) {
	for i := range rows {
		dst, src := unsafe.Slice(offset(c, i*ldc), cols), unsafe.Slice(offset(tile, i*ldt), cols)
		if !add {
			copy(dst, src)
			continue
		}
		for j, v := range src {
			dst[j] += v
		}
	}
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

func roundUp(a, b int) int { return ceilDiv(a, b) * b }

// grainFor returns the grain with which Parallel runs n units in the caller's goroutine if
// there is one worker, and one unit at a time otherwise.
func grainFor(workers, n int) int {
	if workers == 1 {
		return max(n, 1)
	}
	return 1
}

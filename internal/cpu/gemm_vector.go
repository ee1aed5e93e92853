package cpu

import (
	"runtime"
	"unsafe"
)

// A product with a matrix of few rows or columns reads each element of the other matrix only a
// few times. Its speed is that of memory, and packing would read and write the large matrix
// once more. So it is computed line by line: a line of the large matrix (a column of B if A
// has few rows, a row of A if B has few columns) times each of the few vectors.

const (
	maxVectors = 4
	maxLines   = 2048 // lines of a task
	minLines   = 256
	dotSteps   = 4096 // the longest stretch of k that is one dot product

	// vectorWork is the number of multiplications below which a second goroutine does not pay.
	// The time is that of reading memory: 1 MB of float64 takes one goroutine 11 us.
	vectorWork = 1 << 17

	columnLimit = 256 // lines whose sums stay in registers for a stretch
)

// runVectors computes the product if A has at most maxVectors rows or B as
// many columns, and reports whether it did.
func (p *product[T]) runVectors() bool {
	if min(p.m, p.n) > maxVectors || p.complex || p.eachStretch {
		return false
	}
	p.runLines()
	return true
}

// runLines is runVectors for any number of rows and columns.
func (p *product[T]) runLines() {
	lines, vec, count := p.n, &p.a, p.m
	if p.n < p.m {
		lines, vec, count = p.m, &p.b, p.n
	}
	x, copied := vec.dense(count, p.k)
	// No line's sum depends on another line, so any cut gives the same bits.
	workers := runtime.GOMAXPROCS(0)
	if lines*count*p.k <= vectorWork {
		workers = 1
	}
	chunk := min(lines, maxLines)
	if workers > 1 {
		chunk = min(max(roundUp(lines/(workers*tasksPerCPU), 2), minLines), chunk) // even, for complexLines
	}
	chunks := ceilDiv(lines, chunk)
	switch large := p.largeOperand(); {
	case workers == 1:
		p.lineChunks(x, chunk, 0, chunks)
	case large.line == 1 && p.k > p.v.kc && (chunks < workers || lines <= maxLines && p.k >= workers*p.v.kc):
		q := *p
		q.runStretches(x)
	default:
		q := *p
		parallelNear(chunks, 1, func(lo, hi int) { q.lineChunks(x, chunk, lo, hi) })
	}
	if copied != nil {
		copied.put()
	}
}

// largeOperand returns the operand that is read line by line.
func (p *product[T]) largeOperand() *source[T] {
	if p.n < p.m {
		return &p.a
	}
	return &p.b
}

// stretchBatch is the number of stretches of k whose sums are in memory at the same time.
const stretchBatch = 128

// runStretches computes lines that are adjacent in memory, and that are few or long. The goroutines share the stretches
// of k, so each of them reads whole rows; the sums are added in the order of sumAlong.
func (p *product[T]) runStretches(x []T) {
	lines, count := max(p.m, p.n), min(p.m, p.n)
	stretches, size := ceilDiv(p.k, p.v.kc), count*lines
	batch := min(stretches, stretchBatch)
	w := getBuffer[T]((2 + batch) * size)
	all := lineChunk[T]{product: p, mat: p.largeOperand(), x: x, count: count, n: lines, sums: w.data[:size], partial: w.data[size : 2*size]}
	partial := w.data[2*size:]
	clear(all.sums)
	for s := 0; s < stretches; s += batch {
		n := min(batch, stretches-s)
		parallelNear(n, 1, func(lo, hi int) {
			c, scratch := all, getBuffer[T](4*lines)
			c.scratch = scratch.data
			for i := lo; i < hi; i++ {
				c.sumStretch(partial[i*size:(i+1)*size], (s+i)*p.v.kc)
			}
			scratch.put()
		})
		for i := range n {
			for j, v := range partial[i*size : (i+1)*size] {
				all.sums[j] += v
			}
		}
	}
	all.store()
	w.put()
}

// lineChunks computes chunks lo to hi, of chunk lines each, from the vectors x.
func (p *product[T]) lineChunks(x []T, chunk, lo, hi int) {
	mat, lines, count := p.largeOperand(), max(p.m, p.n), min(p.m, p.n)
	w := getBuffer[T](2*count*chunk + max(dotSteps, 4*chunk))
	for t := lo; t < hi; t++ {
		c := lineChunk[T]{product: p, mat: mat, x: x, count: count, line: t * chunk, n: min(chunk, lines-t*chunk)}
		c.sums, c.partial, c.scratch = w.data[:count*c.n], w.data[count*c.n:2*count*c.n], w.data[2*count*c.n:]
		if mat.line == 1 {
			c.sumAlong()
		} else {
			c.sumAcross()
		}
		c.store()
	}
	w.put()
}

// A lineChunk is a range of lines of the large matrix and their results.
type lineChunk[T floating] struct {
	*product[T]
	mat     *source[T]
	line, n int // line is the first of n lines
	x       []T // count vectors of k elements
	count   int

	sums    []T // [count][n], the result
	partial []T // [count][n], the sums of one stretch
	scratch []T
}

// sumAcross sets sums[r*n+l] to the product of line number line+l with vector
// r: dot products.
func (c *lineChunk[T]) sumAcross() {
	if c.v.dots != nil && c.mat.load == nil && c.mat.step == 1 && c.k > 0 && c.k <= dotSteps {
		for r := range c.count {
			c.v.dots(&c.sums[r*c.n], &c.x[r*c.k], (*T)(c.mat.at(c.line, 0)), c.mat.line, c.k, c.n)
		}
		return
	}
	clear(c.sums)
	for l := range c.n {
		for q := 0; q < c.k; q += dotSteps {
			kq := min(dotSteps, c.k-q)
			row := &c.scratch[0]
			if c.mat.load == nil && c.mat.step == 1 {
				row = (*T)(c.mat.at(c.line+l, q))
			} else {
				c.mat.read(c.scratch, c.line+l, q, kq)
			}
			for r := range c.count {
				c.sums[r*c.n+l] += c.v.dot(&c.x[r*c.k+q], row, kq)
			}
		}
	}
}

// sumAlong is sumAcross for lines that are adjacent in memory: it goes along k for all of them
// at once, four steps at a time.
func (c *lineChunk[T]) sumAlong() {
	clear(c.sums)
	for from := 0; from < c.k; from += c.v.kc {
		c.sumStretch(c.partial, from)
		for i, v := range c.partial {
			c.sums[i] += v
		}
	}
}

// sumStretch sets partial to the sums over the stretch of k that begins at step from.
func (c *lineChunk[T]) sumStretch(partial []T, from int) {
	n, end := c.n, min(from+c.v.kc, c.k)
	clear(partial)
	done := 0 // lines that are complete for the steps before whole
	whole := end - (end-from)%4
	if w := c.v.columnsWidth; w > 0 && n >= w && n <= columnLimit && c.mat.load == nil && whole > from {
		for ; done+w <= n; done += w {
			for r := range c.count {
				c.v.columns(&partial[r*n+done], &c.x[r*c.k+from], (*T)(c.mat.at(c.line+done, from)), c.mat.step, whole-from)
			}
		}
	}
	for q := from; q < end; q += 4 {
		steps := min(4, end-q)
		if steps == 4 && done == n {
			q = whole - 4 // these steps are complete for all lines
			continue
		}
		a, ld := &c.scratch[0], n
		if c.mat.load == nil {
			a, ld = (*T)(c.mat.at(c.line, q)), c.mat.step
		} else {
			for y := range steps {
				c.mat.load(c.scratch[y*n:], nil, c.mat.at(c.line, q+y), 1, n)
			}
		}
		for r := range c.count {
			sum, x := partial[r*n:][:n], c.x[r*c.k+q:]
			if steps == 4 {
				c.v.axpy4(&sum[done], &x[0], offset(a, done), ld, n-done)
				continue
			}
			for y := range steps {
				for l, v := range unsafe.Slice(offset(a, y*ld), n) {
					sum[l] += T(x[y] * v)
				}
			}
		}
	}
}

// store writes the sums to C.
func (c *lineChunk[T]) store() {
	o := region[T]{data: &c.sums[0], ld: c.n, j: c.line, rows: c.count, cols: c.n, first: true}
	asRows := c.product.n < c.m // the lines are rows of C
	if asRows {
		o = region[T]{data: &c.partial[0], ld: c.count, i: c.line, rows: c.n, cols: c.count, first: true}
	}
	if c.c != nil {
		o.data, o.ld = offset(c.c, o.i*c.ldc+o.j), c.ldc
	}
	switch {
	case asRows && c.count == 1 && o.ld == 1:
		copy(unsafe.Slice(o.data, c.n), c.sums)
	case asRows:
		for r := range c.count {
			for l, v := range c.sums[r*c.n:][:c.n] {
				*offset(o.data, l*o.ld+r) = v
			}
		}
	case c.c != nil:
		copyTile(o.data, o.ld, &c.sums[0], c.n, o.rows, o.cols, false)
	}
	if c.finish != nil {
		c.finish(o)
	}
}

package cpu

import (
	"runtime"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// Vectors is a matrix with one vector in each row: element p of vector i is i*LD + p
// elements after Re, and its imaginary part as far after Im. Im is nil for real vectors.
type Vectors[T float32 | float64] struct {
	Re, Im *T
	LD     int
}

// OverlapPart is the result of Overlaps for a block of pairs: vectors Row … of a and Col …
// of b. P is one plane of products for real vectors, and three for complex ones. With
// X + iY in a and U + iV in b, these are XU, YV and (X + Y)(U - V), from which <b, a> is
// (XU + YV) + i((X + Y)(U - V) - XU + YV). Row y begins at y*LD. finish may write to P;
// its memory is used again afterwards.
type OverlapPart[T float32 | float64] struct {
	Row, Col, Rows, Cols int
	P                    [3][]T
	LD                   int
}

// Overlaps multiplies m vectors a with n vectors b, all of k elements, and calls finish
// once for every block of pairs, from several goroutines. With upper, it may omit pairs
// whose number in b is below that in a. It packs the operands once for all three products
// and stores nothing of the size of the result.
//
// chain limits the number of products that are added sequentially before their sum is added
// to other sums; 0 chooses the fastest. The bits do not depend on GOMAXPROCS.
func Overlaps[T float32 | float64](m, n, k int, a, b Vectors[T], upper bool, chain int, finish func(OverlapPart[T])) {
	if m == 0 || n == 0 {
		return
	}
	o := overlaps[T]{v: variantOf[T](), k: k, planes: 3, upper: upper, finish: finish}
	if a.Im == nil {
		o.planes = 1
	}
	dt := dtype.Float64
	if o.size() == 4 {
		dt = dtype.Float32
	}
	o.plus, o.minus = kernels.binary(expr.Add, dt).vv, kernels.binary(expr.Sub, dt).vv
	most := o.v.kc
	if chain > 0 {
		most = min(most, chain)
	}
	o.kc = roundUp(ceilDiv(k, ceilDiv(k, most)), 8)
	// Stretches of columns, as for a product.
	nc := packedBytes / (k * o.planes * o.size())
	nc = roundUp(min(max(nc, minColumns), maxColumns), o.v.nr)
	for j := 0; j < n; j += nc {
		cols, rows := min(nc, n-j), m
		if upper {
			rows = min(m, j+cols)
		}
		o.multiplyColumns(a, b, rows, j, cols)
	}
}

func variantOf[T floating]() *variant[T] {
	if v, ok := any(use32).(*variant[T]); ok {
		return v
	}
	return any(use64).(*variant[T])
}

// overlaps is the state of one call of Overlaps.
type overlaps[T float32 | float64] struct {
	v           *variant[T]
	k, kc       int
	planes      int
	upper       bool
	plus, minus func(dst, x, y unsafe.Pointer, n int)
	finish      func(OverlapPart[T])
}

func (o *overlaps[T]) size() int { return int(unsafe.Sizeof(*new(T))) }

// packedMost is the maximum number of bytes of a packed stretch of columns. Longer vectors
// are processed in parts.
var packedMost = 64 << 20

// multiplyColumns computes the first rows against cols columns from column j on.
func (o *overlaps[T]) multiplyColumns(a, b Vectors[T], rows, j, cols int) {
	v, planes := o.v, o.planes
	panels := ceilDiv(cols, v.nr)
	// If the columns do not fill their panels, the last panel is short. Above the diagonal
	// the first panel is short instead: the padded columns cost as much as the panel is
	// high, and the last panel is the highest.
	lead := 0
	if o.upper {
		lead = panels*v.nr - cols
	}
	span := func(x int) (from, n int) {
		from = max(x*v.nr-lead, 0)
		return from, min((x+1)*v.nr-lead, cols) - from
	}
	workers := runtime.GOMAXPROCS(0)
	if rows*cols*o.k <= serialWork {
		workers = 1
	}
	mc := max(l2/2/(o.kc*planes*o.size())/v.mr*v.mr, v.mr)
	if workers > 1 {
		mc = min(mc, roundUp(ceilDiv(rows, workers*tasksPerCPU), v.mr))
	}
	mc = min(mc, roundUp(rows, v.mr))
	tasks := ceilDiv(rows, mc)
	// The sums of a panel of rows and a panel of columns are contiguous, one plane after the
	// other. If there is more than one stretch of elements, a task keeps all its sums.
	block, all := v.mr*v.nr*planes, 1
	if o.k > o.kc {
		all = panels * (mc / v.mr)
	}
	part, kept := o.k, 0 // elements of a part; number of tasks whose sums are in memory between parts
	if step := panels * v.nr * planes * o.size(); part*step > packedMost {
		part, kept = max(packedMost/step/o.kc, 1)*o.kc, tasks
	}
	packed := getBuffer[T](panels * v.nr * min(part, o.k) * planes)
	defer packed.put()
	held := getBuffer[T](kept * all * block)
	defer held.put()
	for from := 0; from < o.k; from += part {
		to := min(from+part, o.k)
		panel := func(x, q, kq int) []T {
			return packed.data[((q-from)*panels+x*kq)*v.nr*planes:][:kq*v.nr*planes]
		}
		units := panels * ceilDiv(to-from, o.kc)
		Parallel(units, grainFor(workers, units), func(lo, hi int) {
			for u := lo; u < hi; u++ {
				q, x := from+u/panels*o.kc, u%panels
				kq := min(o.kc, to-q)
				at, n := span(x)
				o.pack(panel(x, q, kq), v.nr, b, j+at, n, q, kq, o.minus)
			}
		})
		Parallel(tasks, grainFor(workers, tasks), func(lo, hi int) {
			own := all
			if kept > 0 {
				own = 0
			}
			w := getBuffer[T](mc*o.kc*planes + own*block)
			defer w.put()
			lines, sums := w.data[:mc*o.kc*planes], w.data[mc*o.kc*planes:]
			for t := lo; t < hi; t++ {
				i := t * mc
				r := min(mc, rows-i)
				first := 0
				if o.upper {
					first = (max(i-j, 0) + lead) / v.nr
				}
				if kept > 0 {
					sums = held.data[t*all*block:]
				}
				for q := from; q < to; q += o.kc {
					kq := min(o.kc, to-q)
					strips := ceilDiv(r, v.mr)
					for s := range strips {
						o.pack(lines[s*v.mr*kq*planes:], v.mr, a, i+s*v.mr, min(v.mr, r-s*v.mr), q, kq, o.plus)
					}
					for x := first; x < panels; x++ {
						at, n := span(x)
						down := strips
						if o.upper {
							down = min(down, (j+at+n-1-i)/v.mr+1)
						}
						for s := range down {
							out := sums[:block]
							if all > 1 {
								out = sums[(x*(mc/v.mr)+s)*block:][:block]
							}
							p := OverlapPart[T]{Row: i + s*v.mr, Col: j + at, Rows: min(v.mr, r-s*v.mr), Cols: n, LD: v.nr}
							o.multiplyPanels(&p, kq, lines[s*v.mr*kq*planes:], panel(x, q, kq), out, q > 0)
							if q+kq == o.k {
								o.finish(p)
							}
						}
					}
				}
			}
		})
	}
}

// multiplyPanels multiplies kq steps of a panel of rows and a panel of columns. If no result
// in the left half of the columns is needed, it uses only the right half.
func (o *overlaps[T]) multiplyPanels(p *OverlapPart[T], kq int, a, b, out []T, add bool) {
	v := o.v
	mul, skip := v.mul, 0
	if half := v.nr / 2; o.upper && v.mulHalf != nil && p.Cols == v.nr && p.Row >= p.Col+half {
		mul, skip = v.mulHalf, half
		p.Col, p.Cols = p.Col+half, half
	}
	for z := range o.planes {
		p.P[z] = out[z*v.mr*v.nr:][skip : v.mr*v.nr]
		mul(kq, &a[z*v.mr*kq], &b[z*v.nr*kq+skip], &p.P[z][0], v.nr, add)
	}
}

// pack packs kq steps from q on of n vectors from number l on into a panel of w lines: the
// real parts, the imaginary parts, and the results of both for the two.
func (o *overlaps[T]) pack(dst []T, w int, x Vectors[T], l, n, q, kq int, both func(dst, x, y unsafe.Pointer, n int)) {
	at, plane := l*x.LD+q, w*kq
	packPanel(o.v, dst, w, offset(x.Re, at), x.LD, 1, n, kq)
	if o.planes == 1 {
		return
	}
	packPanel(o.v, dst[plane:], w, offset(x.Im, at), x.LD, 1, n, kq)
	both(ptr(&dst[2*plane]), ptr(&dst[0]), ptr(&dst[plane]), plane)
}

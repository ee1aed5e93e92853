package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// The reference of a product costs k*n multiply-adds per row. All rows are checked if
// that is cheap, otherwise a sample.
const (
	allRows    = 1 << 26 // multiply-adds of a product that is checked whole
	sampleCost = 1 << 28 // multiply-adds of a sample
	leastRows  = 4
	maxRows    = 16
)

// sampleRows picks the rows of batch products of shape s to check, counted through the
// batch, in ascending order. It always includes the first and the last row, because
// errors are most likely at the edges.
func sampleRows(seed uint64, s shape, batch int) []int {
	total := batch * s.m
	want := max(leastRows, min(maxRows, sampleCost/(s.k*s.n)))
	if float64(batch)*s.volume() <= allRows || total <= want {
		rows := make([]int, total)
		for i := range rows {
			rows[i] = i
		}
		return rows
	}
	r := rand.New(rand.NewPCG(seed, 1<<63))
	picked := map[int]bool{0: true, total - 1: true}
	for len(picked) < want {
		picked[r.IntN(total)] = true
	}
	rows := make([]int, 0, want)
	for i := range picked {
		rows = append(rows, i)
	}
	slices.Sort(rows)
	return rows
}

// operands are the operands of a product: a [batch, m, k] and b [batch, k, n], or [batch,
// n, k] if transposed.
type operands struct {
	a, b       values
	s          shape
	transposed bool
}

// rows returns the given rows of the product in float64. Real and imaginary
// parts are separate products.
func (o operands) rows(rows []int) values {
	re := o.part(o.a.re, o.b.re, rows)
	if o.a.im == nil {
		return values{re: re}
	}
	im := o.part(o.a.re, o.b.im, rows)
	for i, v := range o.part(o.a.im, o.b.im, rows) {
		re[i] -= v
	}
	for i, v := range o.part(o.a.im, o.b.re, rows) {
		im[i] += v
	}
	return values{re, im}
}

// part computes rows of a real product. Sums run over blocks of k, so that
// their rounding error grows with block + k/block instead of k: about 1e-15,
// a tenth of the bound of a float64 product.
func (o operands) part(a, b []float64, rows []int) []float64 {
	const block, panel = 128, 512
	m, k, n := o.s.m, o.s.k, o.s.n
	out := make([]float64, len(rows)*n)
	parallel((n+panel-1)/panel, func(p int) {
		lo, hi := p*panel, min(n, (p+1)*panel)
		sum := make([]float64, hi-lo)
		for k0 := 0; k0 < k; k0 += block {
			k1 := min(k, k0+block)
			for i, row := range rows {
				matrix, x := row/m*k*n, a[row*k:row*k+k]
				clear(sum)
				if o.transposed {
					for j := range sum {
						w := b[matrix+(lo+j)*k:]
						for q := k0; q < k1; q++ {
							sum[j] += x[q] * w[q]
						}
					}
				} else {
					for q := k0; q < k1; q++ {
						axpy(sum, x[q], b[matrix+q*n+lo:])
					}
				}
				axpy(out[i*n+lo:i*n+hi], 1, sum)
			}
		}
	})
	return out
}

// axpy adds c*x to y.
func axpy(y []float64, c float64, x []float64) {
	x = x[:len(y)]
	for i := range y {
		y[i] += c * x[i]
	}
}

// deviation is the distance of a result from its reference.
type deviation struct {
	relative float64 // ||got - want|| / ||want||
	worst    float64 // largest |got - want| over the root mean square of want; suite ops: or over |want|
}

// deviationOf returns the deviation of got from want; it is infinite if elements are missing.
func deviationOf(got, want values) deviation {
	if len(got.re) < len(want.re) || len(got.im) < len(want.im) {
		return deviation{math.Inf(1), math.Inf(1)}
	}
	var d2, w2, worst float64
	for i, w := range want.re {
		d, e := got.re[i]-w, 0.0
		w2 += w * w
		if want.im != nil {
			e = got.im[i] - want.im[i]
			w2 += want.im[i] * want.im[i]
		}
		q := d*d + e*e
		d2 += q
		if q > worst || math.IsNaN(q) { // once worst is NaN, it stays NaN
			worst = q
		}
	}
	if d2 == 0 { // also where want is zero or empty
		return deviation{}
	}
	return deviation{math.Sqrt(d2 / w2), math.Sqrt(worst / w2 * float64(len(want.re)))}
}

// elementSlack is the number of bounds, in root mean squares, by which one element of
// normal data may be off. Rounding an element of six root mean squares to eight bits
// takes three bounds; one wrong element must still be found in a large sample.
const elementSlack = 16

// within returns nil if the deviation is within the bound.
func (d deviation) within(bound float64) error {
	if !(d.relative <= bound) {
		return fmt.Errorf("wrong result: relative error %.3g, at most %.0e is right", d.relative, bound)
	}
	if !(d.worst <= elementSlack*bound) {
		return fmt.Errorf("wrong result: an element is off by %.3g root mean squares, at most %.0e is right", d.worst, elementSlack*bound)
	}
	return nil
}

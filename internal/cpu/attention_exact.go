package cpu

import (
	"math"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
)

// computeExact computes query number i of a block by the formula, sequentially and in
// float64. It serves rows that overflowed: the blocked computation may multiply 0 by an
// infinite value, and its float32 scores and sums may overflow. Here a key with the score
// -Inf is left out.
func (r *attention[T]) computeExact(b *attentionBlock, i int, out []T) {
	clear(out)
	head, row := b.head+i/b.rows, b.row+i%b.rows
	end := b.keys
	if r.Causal {
		end = min(max(row+1+b.keys-b.queries, 0), end)
	}
	some := false
	for j := 0; j < end && !some; j++ {
		_, some = r.maskAt(b, head, row, j)
	}
	if !some {
		return
	}
	n := max(r.Dim, r.ValueDim)
	w := getBuffer[T](r.Dim + n)
	defer w.put()
	query, line := w.data[:r.Dim], w.data[r.Dim:]
	if r.Dim > 0 { // an empty row has no address
		r.load(at0(query), r.Q.at(r.size, b.batch, head, b.first+row), r.Q.Step*r.size, r.Dim)
	}
	scores, sums := make([]float64, end), make([]float64, r.ValueDim)
	largest := math.Inf(-1)
	for j := range scores {
		scores[j] = math.Inf(-1)
		add, seen := r.maskAt(b, head, row, j)
		if !seen {
			continue
		}
		if r.Dim > 0 {
			r.load(at0(line), r.K.at(r.size, b.batch, b.kv, b.first+j), r.K.Step*r.size, r.Dim)
		}
		sum := 0.0
		for d, v := range query {
			sum += float64(float64(v) * float64(line[d]))
		}
		scores[j] = float64(sum*r.Scale) + add
		largest = max(largest, scores[j])
	}
	if math.IsInf(largest, -1) {
		return
	}
	total := 0.0
	for j, s := range scores {
		if math.IsInf(s, -1) {
			continue
		}
		p := math.Exp(s - largest)
		total += p
		r.load(at0(line), r.V.at(r.size, b.batch, b.kv, b.first+j), r.V.Step*r.size, r.ValueDim)
		for d := range sums {
			sums[d] += float64(p * float64(line[d]))
		}
	}
	for d, v := range sums {
		out[d] = T(v / total)
	}
}

// maskAt returns the value that the mask adds to the score of a query and a key, and
// whether the query sees the key.
func (r *attention[T]) maskAt(b *attentionBlock, head, row, key int) (add float64, seen bool) {
	if !r.MaskType.Valid() {
		return 0, true
	}
	size := r.MaskType.Size()
	p := unsafe.Add(r.Mask.at(size, b.batch, head, row), key*r.Mask.Step*size)
	if r.MaskType == dtype.Bool {
		return 0, *(*bool)(p)
	}
	return float64(*(*T)(p)), true
}

package cpu

import (
	"math"
	"unsafe"
)

// attentionTile is the number of score rows that one call of the subtraction kernel covers.
const attentionTile = 16

// block computes the results of a block of queries.
func (r *attention[T]) block(b attentionBlock, s *attentionScratch[T]) {
	r.accumulate(&b, 0, r.visibleKeys(&b), s)
	r.finish(&b, s)
}

// accumulate sets the running maxima, sums and results of a block of queries to those of keys
// from to end.
func (r *attention[T]) accumulate(b *attentionBlock, from, end int, s *attentionScratch[T]) {
	n := b.n()
	if from >= end {
		clear(s.out[:n*r.ValueDim])
		for i := range n {
			s.largest[i], s.total[i] = T(math.Inf(-1)), 0
		}
		return
	}
	few := n <= maxVectors
	step := attentionKeys
	if few {
		step = attentionFewKeys
	}
	r.readQueries(b, few, s)
	for at := from; at < end; at += step {
		c := keyBlock[T]{from: at, n: min(step, end-at), first: at == from, few: few}
		c.masksKeys = r.MaskType.Valid() || r.Causal && at+c.n-1 > b.row+b.keys-b.queries
		c.keys, c.keyRow = r.read(&r.K, r.Dim, b, &c, s.keys)
		c.values, c.valueRow = r.read(&r.V, r.ValueDim, b, &c, s.values)
		r.score(n, &c, s)
		r.mask(b, &c, s)
		r.weigh(n, &c, s)
		r.accumulateValues(n, &c, s)
	}
}

// keyBlock is a block of keys, with the addresses of the keys and of their values.
type keyBlock[T floating] struct {
	from, n      int
	keys, values *T
	keyRow       int // elements from one key to the next
	valueRow     int
	first        bool // the first block of these queries
	few          bool // few queries: the scores are [query][key]
	masksKeys    bool // the mask or Causal hides some keys from some queries
}

// strides returns the strides of the scores, from a key to the next and from a query to the next.
func (c *keyBlock[T]) strides(n int) (key, query int) {
	if c.few {
		return 1, c.n
	}
	return n, 1
}

// readQueries reads and scales the block's queries. Unless they are few, it transposes
// them: the scores are then the product of the keys and the transposed queries.
func (r *attention[T]) readQueries(b *attentionBlock, few bool, s *attentionScratch[T]) {
	n, dim := b.n(), r.Dim
	if dim == 0 {
		return
	}
	for h := range b.heads {
		r.readRows(s.queries[h*b.rows*dim:], r.Q.at(r.size, b.batch, b.head+h, b.first+b.row), &r.Q, dim, b.rows)
	}
	s.combineScalar(r.mul, s.queries[:n*dim], r.scale)
	switch {
	case few:
	case dim == 1: // a single column is its own transpose
		copy(s.transposed, s.queries[:n])
	default:
		packPanel(r.v, s.transposed, n, &s.queries[0], dim, 1, n, dim)
	}
}

// read returns the address and the row stride of a block of keys or values. It copies the
// rows to room if they cannot be read in place.
func (r *attention[T]) read(of *HeadRows, dim int, b *attentionBlock, c *keyBlock[T], room []T) (*T, int) {
	if dim == 0 {
		return nil, 0
	}
	at := of.at(r.size, b.batch, b.kv, b.first+c.from)
	if readableInPlace[T](r.Type, of.Step, dim) {
		return (*T)(at), of.Row
	}
	r.readRows(room, at, of, dim, c.n)
	return &room[0], dim
}

// readRows copies n rows to dense rows. The first row is at the address at.
func (r *attention[T]) readRows(dst []T, at unsafe.Pointer, of *HeadRows, dim, n int) {
	if of.Row == dim && of.Step == 1 {
		dim, n = n*dim, 1
	}
	for i := range n {
		r.load(at0(dst[i*dim:]), unsafe.Add(at, i*of.Row*r.size), of.Step*r.size, dim)
	}
}

// score computes the products of the scaled queries and the keys.
func (r *attention[T]) score(n int, c *keyBlock[T], s *attentionScratch[T]) {
	dim := r.Dim
	switch {
	case dim == 0:
		clear(s.scores[:n*c.n])
	case !c.few:
		r.v.multiplySmall(c.n, n, dim, Operand{Data: ptr(c.keys), RS: c.keyRow, CS: 1}, Operand{Data: at0(s.transposed), RS: n, CS: 1}, &s.scores[0], n)
	case n == 4 && r.v.dotsFour != nil && dim%32 == 0 && c.n%2 == 0:
		r.v.dotsFour(&s.scores[0], c.n, &s.queries[0], dim, c.keys, c.keyRow, dim, c.n)
	default:
		for i := range n {
			q, dst := &s.queries[i*dim], s.scores[i*c.n:(i+1)*c.n]
			if r.v.dots != nil {
				r.v.dots(&dst[0], q, c.keys, c.keyRow, dim, c.n)
				continue
			}
			for j := range dst {
				dst[j] = r.v.dot(q, offset(c.keys, j*c.keyRow), dim)
			}
		}
	}
}

// multiplySmall computes C = A B in this goroutine. The rows of B are contiguous.
func (v *variant[T]) multiplySmall(m, n, k int, a, b Operand, c *T, ldc int) {
	if v.mulUnpacked != nil && (n >= v.lanes || v.masked) {
		v.multiplyUnpacked(m, n, k, a, b, c, ldc)
		return
	}
	gemmPlain(v, m, n, k, a, b, c, ldc, nil)
}

// weigh replaces the scores by their weights relative to the new running maximum, and
// updates the running maximum and sum. alpha becomes the factor that rescales the results
// of the earlier key blocks.
func (r *attention[T]) weigh(n int, c *keyBlock[T], s *attentionScratch[T]) {
	if !c.few {
		r.weighColumns(0, n, c, s.scores[:n*c.n], s)
		return
	}
	for i := range n {
		r.weighColumns(i, 1, c, s.scores[i*c.n:(i+1)*c.n], s)
	}
}

// weighColumns is weigh for w queries from query number at on. Their scores are the
// columns of x.
func (r *attention[T]) weighColumns(at, w int, c *keyBlock[T], x []T, s *attentionScratch[T]) {
	largest, recent, alpha, line := s.largest[at:at+w], s.recent[:w], s.alpha[at:at+w], s.line[:w]
	r.maxColumns(x, w, s.folded)
	for i, v := range s.folded[:w] {
		if !c.first {
			v = max(v, largest[i])
			line[i] = largest[i]
		}
		largest[i] = v
		if v == T(math.Inf(-1)) {
			v = 0 // e^(-Inf - 0) is 0
		}
		recent[i] = v
	}
	if !c.first {
		r.sub.vv(at0(alpha), at0(line), at0(recent), w)
		r.exp(at0(alpha), at0(alpha), w)
	}
	if !weighWithVectors(x, w, recent, s.folded) {
		r.subtractColumns(x, w, recent, s)
		r.expAll(x, c.masksKeys, s)
		foldChained(r.add, s.folded, x, w)
	}
	for i, v := range s.folded[:w] {
		if c.first {
			s.total[at+i] = float64(v)
		} else {
			s.total[at+i] = s.total[at+i]*float64(alpha[i]) + float64(v)
		}
	}
}

// subtractColumns subtracts v[j] from column j of x, for w columns.
func (r *attention[T]) subtractColumns(x []T, w int, v []T, s *attentionScratch[T]) {
	if w == 1 {
		s.combineScalar(r.sub, x, v[0])
		return
	}
	rows := min(attentionTile, len(x)/w)
	for i := range rows {
		copy(s.tile[i*w:], v)
	}
	for i := 0; i < len(x); i += rows * w {
		r.sub.vv(at0(x[i:]), at0(x[i:]), at0(s.tile), min(rows*w, len(x)-i))
	}
}

// expAll replaces x by e^x. The float32 exponential is slow below -exp32Limit. If masksKeys
// is set, many elements are -Inf: expAll then clamps x at -exp32Limit and subtracts
// e^-exp32Limit from every result. Results above 2^-102 keep their bits, and smaller ones
// lose less than 2^-125.
func (r *attention[T]) expAll(x []T, masksKeys bool, s *attentionScratch[T]) {
	if masksKeys = masksKeys && unsafe.Sizeof(x[0]) == 4; masksKeys {
		s.combineScalar(r.max, x, -exp32Limit)
	}
	r.exp(at0(x), at0(x), len(x))
	if masksKeys {
		s.combineScalar(r.sub, x, T(expF32(-exp32Limit)))
	}
}

// combineScalar applies k to every element of x and the scalar v.
func (s *attentionScratch[T]) combineScalar(k *binary, x []T, v T) {
	s.number[0] = v
	for i := 0; i < len(x); i += blockLen {
		k.vs(at0(x[i:]), at0(x[i:]), at0(s.number), min(blockLen, len(x)-i))
	}
}

// accumulateValues adds the weighted values of a block of keys to the block's results.
func (r *attention[T]) accumulateValues(n int, c *keyBlock[T], s *attentionScratch[T]) {
	dim := r.ValueDim
	part := s.part[:n*dim]
	if c.first {
		part = s.out[:n*dim]
	}
	if !c.few {
		r.v.multiplySmall(n, dim, c.n, Operand{Data: at0(s.scores), RS: 1, CS: n}, Operand{Data: ptr(c.values), RS: c.valueRow, CS: 1}, &part[0], dim)
	} else {
		done := 0
		if n == 4 && r.v.columnsFour != nil {
			done = r.v.fourVectorsMatrix(part, s.scores, c.values, c.valueRow, c.n, dim)
		}
		for i := range n {
			if done == dim {
				break // a pointer must not point after the last element
			}
			r.v.vectorMatrix(part[i*dim+done:(i+1)*dim], s.scores[i*c.n:(i+1)*c.n], offset(c.values, done), c.valueRow)
		}
	}
	if c.first {
		return
	}
	for i, a := range s.alpha[:n] {
		rescale(s.out[i*dim:(i+1)*dim], part[i*dim:(i+1)*dim], a)
	}
}

// vectorMatrix sets y to the product of the row vector x and a matrix with row stride ld.
func (v *variant[T]) vectorMatrix(y, x []T, a *T, ld int) {
	clear(y)
	done, n := 0, len(y)
	if w := v.columnsWidth; w > 0 {
		for ; done+w <= n; done += w {
			v.columns(&y[done], &x[0], offset(a, done), ld, len(x))
		}
	}
	if done == n {
		return
	}
	whole := len(x) &^ 3
	for p := 0; p < whole; p += 4 {
		v.axpy4(&y[done], &x[p], offset(a, p*ld+done), ld, n-done)
	}
	for p := whole; p < len(x); p++ {
		row := unsafe.Slice(offset(a, p*ld), n)
		for i := done; i < n; i++ {
			y[i] += T(x[p] * row[i])
		}
	}
}

// finish divides by the sums and writes the results. It recomputes with computeExact the
// rows that are not finite and those in which every key has weight 0.
func (r *attention[T]) finish(b *attentionBlock, s *attentionScratch[T]) {
	n, dim := b.n(), r.ValueDim
	for i := range n {
		row := s.out[i*dim : (i+1)*dim]
		scaleRow(row, 1/s.total[i])
	}
	for i := range n {
		if s.largest[i] == T(math.Inf(-1)) {
			row := s.out[i*dim : (i+1)*dim]
			r.computeExact(b, i, row)
		}
	}
	foldChained(r.add, s.part, s.out[:n*dim], dim)
	if !allFinite(s.part[:dim]) {
		for i := range n {
			if row := s.out[i*dim : (i+1)*dim]; !allFinite(row) {
				r.computeExact(b, i, row)
			}
		}
	}
	r.write(b, s)
}

// allFinite reports whether all elements are finite.
func allFinite[T floating](x []T) bool {
	var zero T
	for _, v := range x {
		zero += v - v
	}
	return zero == 0
}

// scaleRow multiplies a row by a factor in float64.
func scaleRow[T floating](row []T, scale float64) {
	whole := 0
	if x, ok := any(row).([]float32); ok && vectorAVX {
		whole = len(x) &^ (pickVector - 1)
		scale32(at0(x), scale, whole)
	}
	for j, v := range row[whole:] {
		row[whole+j] = T(float64(v) * scale)
	}
}

// write rounds the block's results to Out.
func (r *attention[T]) write(b *attentionBlock, s *attentionScratch[T]) {
	dim := r.ValueDim
	for h := range b.heads {
		n, dim, out := b.rows, dim, s.out[h*b.rows*dim:]
		if r.Out.Row == dim && r.Out.Step == 1 {
			n, dim = 1, n*dim
		}
		for i := range n {
			r.store(r.Out.at(r.size, b.batch, b.head+h, b.first+b.row+i), r.Out.Step*r.size, at0(out[i*dim:]), dim)
		}
	}
}

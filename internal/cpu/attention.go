package cpu

import (
	"sort"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// Attention holds the arguments of a scaled dot-product attention. For query i of a head of
// a sequence,
//
//	s[j]   = Scale q[i] . k[j] + mask[i, j]    for every key j
//	out[i] = sum of e^(s[j] - m) v[j] / sum of e^(s[j] - m),    m the largest s[j]
//
// (Vaswani et al. 2017). The score of a key that the query does not see is -Inf. Keys with
// that score are left out of the sums, whatever their values hold. A query without any other
// key gives 0.
//
// The kernel works on a block of queries and a block of keys at a time, so that their scores
// stay in the cache. Each query has a running maximum and a running sum, which combine the
// softmax of its blocks (online softmax: Milakov and Gimelshein 2018; FlashAttention: Dao et
// al. 2022).
//
// Float32 and the 16-bit types are computed in float32 with the sum of the weights in
// float64, Float64 in float64. The result is rounded to the type once. The blocks, and the
// spans of keys of a sequence of few queries, follow from the shape of a sequence alone, so
// that its bits depend neither on GOMAXPROCS nor on the rest of the batch.
type Attention struct {
	Type           dtype.DType // type of Q, K, V and Out
	Heads, KVHeads int         // query head h reads KV head h / (Heads/KVHeads)
	Dim, ValueDim  int
	Scale          float64
	Causal         bool // query i of n sees key j of m where j <= i + m - n

	Q, K, V, Out HeadRows
	Mask         HeadRows    // its rows are queries, its steps keys
	MaskType     dtype.DType // Bool: true where the key is seen. The type computed in: added to the score. Invalid: there is none

	Batch         int
	Queries, Keys int     // lengths of each sequence
	Offsets       []int32 // if not nil, sequence i is the rows Offsets[i] to Offsets[i+1] of batch 0
}

// HeadRows describes the memory of the rows of all heads and sequences, with strides in
// elements.
type HeadRows struct {
	Data                   unsafe.Pointer
	Batch, Head, Row, Step int
}

// at returns the address of a row.
func (r *HeadRows) at(size, batch, head, row int) unsafe.Pointer {
	return unsafe.Add(r.Data, (batch*r.Batch+head*r.Head+row*r.Row)*size)
}

// The block lengths are part of the result's definition: the sums over the keys are
// accumulated block by block.
const (
	attentionRows    = 64  // queries of a block, heads together
	attentionKeys    = 128 // keys of a block
	attentionFewKeys = 256 // keys of a block that has at most maxVectors queries
)

// Run computes Out.
func (a *Attention) Run() {
	if a.Type == dtype.Float64 {
		attend(a, use64, dtype.Float64, exp64s)
		return
	}
	attend(a, use32, dtype.Float32, exps)
}

// attention is an Attention together with the kernels of its compute type.
type attention[T floating] struct {
	*Attention
	v                  *variant[T]
	max, add, sub, mul *binary
	exp                func(dst, x unsafe.Pointer, n int)
	load               func(dst, src unsafe.Pointer, step, n int)
	store              func(dst unsafe.Pointer, step int, src unsafe.Pointer, n int)
	scale              T
	size               int   // bytes of an element of Type
	units              []int // if the batch is ragged: the units of all sequences up to each
}

func attend[T floating](a *Attention, v *variant[T], t dtype.DType, exp func(dst, x unsafe.Pointer, n int)) {
	r := &attention[T]{
		Attention: a, v: v, exp: exp, scale: T(a.Scale), size: a.Type.Size(),
		max: kernels.binary(expr.Maximum, t), add: kernels.binary(expr.Add, t),
		sub: kernels.binary(expr.Sub, t), mul: kernels.binary(expr.Mul, t),
		load: lineLoader(a.Type), store: lineStorer(a.Type),
	}
	total, queries, keys := 0, a.Queries, a.Keys
	if a.Offsets == nil {
		total = a.Batch * a.unitsOf(a.Queries)
	} else {
		r.units, queries, keys = make([]int, len(a.Offsets)-1), 0, 0
		for i := range r.units {
			n := int(a.Offsets[i+1] - a.Offsets[i])
			total += a.unitsOf(n)
			r.units[i], queries, keys = total, max(queries, n), max(keys, n)
		}
	}
	if total == 0 || a.ValueDim == 0 {
		return
	}
	sizes := newAttentionSizes[T](a, queries, keys)
	if count, length := a.spans(); count > 1 {
		r.runSpans(total, count, length, sizes)
		return
	}
	Parallel(total, a.grain(total), func(lo, hi int) {
		w := getBuffer[T](sizes.total)
		var s attentionScratch[T]
		s.cut(w.data, sizes)
		for u := lo; u < hi; u++ {
			r.block(r.blockAt(u), &s)
		}
		w.put()
	})
}

// grain returns the smallest number of units that is worth a second goroutine.
func (a *Attention) grain(units int) int {
	rows, keys := a.Batch*a.Queries, a.Keys
	if n := len(a.Offsets); n > 1 {
		rows = int(a.Offsets[n-1])
		keys = rows / (n - 1)
	}
	work := a.Heads * rows * keys * (a.Dim + a.ValueDim) / units
	return max(serialWork/tasksPerCPU/max(work, 1), 1)
}

// cut returns the rows and heads of one query block of a sequence, and the number of blocks
// that a KV head has along the queries (down) and across its query heads (across).
// The query heads of a short sequence share a block, because they read the same keys.
func (a *Attention) cut(queries int) (rows, heads, down, across int) {
	if queries == 0 {
		return 0, 0, 0, 0
	}
	group := a.Heads / a.KVHeads
	down = ceilDiv(queries, attentionRows)
	rows = queries
	if down > 1 {
		rows = roundUp(ceilDiv(queries, down), 16)
		down = ceilDiv(queries, rows)
	}
	heads = min(max(attentionRows/rows, 1), group)
	if down > 1 {
		heads = 1
	}
	return rows, heads, down, ceilDiv(group, heads)
}

// unitsOf returns the number of query blocks of a sequence.
func (a *Attention) unitsOf(queries int) int {
	if a.KVHeads == 0 {
		return 0
	}
	_, _, down, across := a.cut(queries)
	return a.KVHeads * down * across
}

// attentionBlock is a block of queries: rows row to row+rows of query heads head to
// head+heads, which all read KV head kv of one sequence.
type attentionBlock struct {
	batch, first  int // the sequence: its batch, and the row of its first query and key
	queries, keys int // lengths of the sequence
	kv            int
	head, heads   int
	row, rows     int
}

// n returns the number of queries of the block.
func (b *attentionBlock) n() int { return b.heads * b.rows }

// blockAt returns block number u. Blocks of late queries come first, because with Causal
// they have the most keys.
func (r *attention[T]) blockAt(u int) attentionBlock {
	b := attentionBlock{queries: r.Queries, keys: r.Keys}
	if r.Offsets == nil {
		per := r.unitsOf(r.Queries)
		b.batch, u = u/per, u%per
	} else {
		i := sort.SearchInts(r.units, u+1)
		if i > 0 {
			u -= r.units[i-1]
		}
		b.first = int(r.Offsets[i])
		b.queries = int(r.Offsets[i+1]) - b.first
		b.keys = b.queries
	}
	rows, heads, down, across := r.cut(b.queries)
	group := r.Heads / r.KVHeads
	at := u / down % across * heads
	b.kv, b.row = u/(down*across), (down-1-u%down)*rows
	b.head, b.heads, b.rows = b.kv*group+at, min(heads, group-at), min(rows, b.queries-b.row)
	return b
}

// visibleKeys returns the number of leading keys that contain every key visible to some
// query of the block.
func (r *attention[T]) visibleKeys(b *attentionBlock) int {
	if !r.Causal {
		return b.keys
	}
	return min(max(b.row+b.rows+b.keys-b.queries, 0), b.keys)
}

// attentionSizes are the lengths of the scratch slices of one goroutine.
type attentionSizes struct {
	queries, transposed, scores, folded, mask, rows, part, keys, values, total int
}

// newAttentionSizes returns the scratch lengths for sequences of at most the given number
// of queries and keys.
func newAttentionSizes[T floating](a *Attention, queries, keys int) attentionSizes {
	n := attentionRows
	if a.Offsets == nil {
		rows, heads, _, _ := a.cut(queries)
		n = rows * heads
	}
	keys = min(keys, attentionFewKeys)
	scores := max(n*min(keys, attentionKeys), min(n, maxVectors)*keys)
	s := attentionSizes{
		queries: n * a.Dim, transposed: n * a.Dim, scores: scores, folded: foldRoom(n), rows: n * attentionTile, part: n * a.ValueDim,
		keys: keys * a.Dim, values: keys * a.ValueDim,
	}
	if readableInPlace[T](a.Type, a.K.Step, a.Dim) {
		s.keys = 0
	}
	if readableInPlace[T](a.Type, a.V.Step, a.ValueDim) {
		s.values = 0
	}
	if a.MaskType.Valid() && a.Mask.Row != 0 {
		s.mask = scores
	}
	s.total = 4*attentionRows + 1 + s.queries + s.transposed + s.scores + s.folded + 2*s.mask + s.rows + 2*s.part + s.keys + s.values
	return s
}

// readableInPlace reports whether rows need neither conversion nor gathering.
func readableInPlace[T floating](t dtype.DType, step, n int) bool {
	return t.Size() == int(unsafe.Sizeof(*new(T))) && (step == 1 || n <= 1)
}

// attentionScratch is the scratch memory of one goroutine. largest, recent and alpha have
// one element for each query of the block.
type attentionScratch[T floating] struct {
	queries, transposed []T // [query][dim], and its transpose
	scores              []T // [key][query]; for few queries [query][key]
	folded              []T // scratch of foldChained

	added, transposedMask []T // the mask of the scores, and its transpose

	tile         []T // copies of one row, one element a query
	out, part    []T // [query][value dim]
	keys, values []T // copies of the block's rows, if these cannot be read in place

	largest, recent, alpha, line []T
	number                       []T // one element, for kernels that take a scalar's address
	total                        [attentionRows]float64
}

func (s *attentionScratch[T]) cut(w []T, n attentionSizes) {
	take := func(n int) (part []T) {
		part, w = w[:n:n], w[n:]
		return part
	}
	s.largest, s.recent, s.alpha = take(attentionRows), take(attentionRows), take(attentionRows)
	s.line = take(attentionRows)
	s.added, s.transposedMask = take(n.mask), take(n.mask)
	s.scores, s.folded, s.tile = take(n.scores), take(n.folded), take(n.rows)
	s.transposed, s.out, s.part = take(n.transposed), take(n.part), take(n.part)
	s.queries, s.keys, s.values = take(n.queries), take(n.keys), take(n.values)
	s.number = take(1) // last, so that the other slices stay aligned to cache lines
}

package cpu

import (
	"math"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
)

// mask adds the mask to the scores; a Bool mask adds 0 or -Inf. With Causal it sets the
// scores of later keys to -Inf. Adding -Inf to NaN or to +Inf gives NaN here, and
// computeExact recomputes that row.
func (r *attention[T]) mask(b *attentionBlock, c *keyBlock[T], s *attentionScratch[T]) {
	key, query := c.strides(b.n())
	for h := range b.heads {
		scores := s.scores[h*b.rows*query:]
		switch {
		case !r.MaskType.Valid():
		case r.Mask.Row == 0:
			r.maskKeys(b, c, b.head+h, scores, s)
		default:
			r.maskPairs(b, c, b.head+h, scores, s)
		}
		if !r.Causal {
			continue
		}
		// Query i sees key j where j <= i + keys - queries.
		shift := b.keys - b.queries + b.row
		for j := max(shift+1-c.from, 0); j < c.n; j++ {
			for i := range min(c.from+j-shift, b.rows) {
				scores[j*key+i*query] = T(math.Inf(-1))
			}
		}
	}
}

// maskScores are the scores that a Bool mask adds for false and for true.
func maskScores[T floating]() [2]T { return [2]T{T(math.Inf(-1)), 0} }

// maskKeys adds a mask that is the same for all queries of a head.
func (r *attention[T]) maskKeys(b *attentionBlock, c *keyBlock[T], head int, scores []T, s *attentionScratch[T]) {
	key, query := c.strides(b.n())
	size, table := r.MaskType.Size(), maskScores[T]()
	step := r.Mask.Step * size
	p := unsafe.Add(r.Mask.at(size, b.batch, head, 0), c.from*step)
	for j := range c.n {
		var v T
		if at := unsafe.Add(p, j*step); r.MaskType == dtype.Bool {
			v = table[*(*uint8)(at)&1]
		} else {
			v = *(*T)(at)
		}
		switch line := scores[j*key:]; {
		case v == 0:
		case query == 1:
			s.combineScalar(r.add, line[:b.rows], v)
		default:
			for i := range b.rows {
				line[i*query] += v
			}
		}
	}
}

// maskPairs adds a mask over queries and keys. Like the scores, its rows are transposed.
func (r *attention[T]) maskPairs(b *attentionBlock, c *keyBlock[T], head int, scores []T, s *attentionScratch[T]) {
	n := b.n()
	added, line := s.added, c.n
	at := r.Mask.at(r.MaskType.Size(), b.batch, head, b.row)
	if r.MaskType != dtype.Bool && r.Mask.Step == 1 && r.Mask.Row >= c.n && c.n > 1 {
		line = r.Mask.Row
		added = unsafe.Slice((*T)(unsafe.Add(at, c.from*r.MaskType.Size())), (b.rows-1)*line+c.n)
	} else {
		r.readMask(added, at, b.rows, c)
	}
	if c.few {
		for i := range b.rows {
			r.add.vv(at0(scores[i*c.n:]), at0(scores[i*c.n:]), at0(added[i*line:]), c.n)
		}
		return
	}
	if c.n > 1 {
		packPanel(r.v, s.transposedMask, b.rows, &added[0], line, 1, b.rows, c.n)
		added = s.transposedMask
	}
	if b.rows == n {
		r.add.vv(at0(scores), at0(scores), at0(added), n*c.n)
		return
	}
	for j := range c.n {
		r.add.vv(at0(scores[j*n:]), at0(scores[j*n:]), at0(added[j*b.rows:]), b.rows)
	}
}

// readMask reads rows of the mask from an address on, limited to the keys of a block.
func (r *attention[T]) readMask(dst []T, at unsafe.Pointer, rows int, c *keyBlock[T]) {
	size, table := r.MaskType.Size(), maskScores[T]()
	step := r.Mask.Step * size
	for i := range rows {
		line, p := dst[i*c.n:(i+1)*c.n], unsafe.Add(at, (i*r.Mask.Row+c.from*r.Mask.Step)*size)
		if r.MaskType != dtype.Bool {
			copySpan(at0(line), size, p, step, size, c.n)
			continue
		}
		if step == 1 {
			for j, v := range unsafe.Slice((*uint8)(p), c.n) {
				line[j] = table[v&1]
			}
			continue
		}
		for j := range line {
			line[j] = table[*(*uint8)(unsafe.Add(p, j*step))&1]
		}
	}
}

package layers

import (
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/fused"
)

// EmbeddingNorm returns LayerNorm(tables[0][ids[0]] + tables[1][ids[1]] + …, gamma, beta, eps), [...,
// width], with the bits of Take, Add, in this order, and LayerNorm. There are one to four tables, [rows,
// width] of one real floating-point type. ids are Int32 or Int64 [...], all of one shape. Negative ids
// count from the end. Nil ids select row 0 everywhere, but not all ids may be nil. gamma and beta, [width]
// and of the tables' type, may be nil.
//
// The CPU makes one pass. A GPU runs one kernel if the bytes of a row are a multiple of 16 and at most 64
// KiB; otherwise it runs the separate operations, as Explain says.
//
// Shapes that do not fit are ErrShape, and other types are ErrDType. An id outside its table is ErrShape.
// A GPU finds it when the operation runs, and the first boundary returns the error. In a captured sequence
// a GPU does not check ids: one outside the table reads row 0. If a GPU runs the separate operations, they
// cannot be captured: ErrUnsupported.
func EmbeddingNorm(tables, ids []*array.Array, gamma, beta *array.Array, eps float64) *array.Array {
	given := present(ids...)
	operands := append(append([]*array.Array{}, tables...), given...)
	op := array.NewOperation("EmbeddingNorm", operands, gamma, beta)
	if err := op.Check(); err != nil {
		return op.Failed(err)
	}
	plan := fused.EmbedNorm{Gamma: array.Shown(gamma), Beta: array.Shown(beta), Eps: eps, Fail: op.Failure()}
	for _, t := range tables {
		plan.Tables = append(plan.Tables, array.Shown(t))
	}
	for _, id := range ids {
		plan.IDs = append(plan.IDs, array.Shown(id))
	}
	shape, err := plan.Check()
	weights := append(append([]*array.Array{}, tables...), present(gamma, beta)...)
	if err == nil {
		err = op.SameType(weights...)
	}
	if err != nil {
		return op.Failed(err)
	}
	var reads []*array.Array
	for _, w := range weights {
		reads = append(reads, adjacent(op, w))
	}
	for _, id := range given {
		reads = append(reads, dense(op, id))
	}
	how := fused.PlanEmbedNorm(tables[0].Device().Kind(), tables[0].DType(), shape[len(shape)-1])
	return op.Result(tables[0].DType(), shape, how, reads, func(s *device.Stream, dst device.View, reads []device.View) error {
		e := plan
		e.Dst = dst
		take := func() (v device.View) {
			v, reads = reads[0], reads[1:]
			return v
		}
		e.Tables, e.IDs = make([]device.View, len(plan.Tables)), make([]device.View, len(plan.IDs))
		for i := range e.Tables {
			e.Tables[i] = take()
		}
		for _, w := range []*device.View{&e.Gamma, &e.Beta} {
			if w.DType.Valid() {
				*w = take()
			}
		}
		for i := range e.IDs {
			if plan.IDs[i].DType.Valid() {
				e.IDs[i] = take()
			}
		}
		return e.Run(s)
	})
}

// present returns the arrays that are not nil.
func present(as ...*array.Array) (out []*array.Array) {
	for _, a := range as {
		if a != nil {
			out = append(out, a)
		}
	}
	return out
}

// adjacent returns a if the elements along its last axis are adjacent, else a dense copy. In a capture the
// copy is a part of the sequence.
func adjacent(op *array.Operation, a *array.Array) *array.Array {
	l := array.Shown(a).Layout
	if last := len(l.Shape) - 1; l.Strides[last] == 1 || l.Shape[last] <= 1 {
		return a
	}
	return op.On(a).Contiguous()
}

// dense returns a if it is dense, else a dense copy.
func dense(op *array.Operation, a *array.Array) *array.Array {
	if array.Shown(a).Layout.IsDense() {
		return a
	}
	return op.On(a).Contiguous()
}

// RaggedPoolOptions are the options of RaggedPool. The zero value has the mean of each sequence.
type RaggedPoolOptions struct {
	First     bool // the first row of each sequence instead of the mean
	Normalize bool // divides each result by its Euclidean length, or by 1e-12 if that is larger
}

// RaggedPool returns one row for each sequence of a ragged batch, [batch, width]: the mean of its rows. It
// is Float64 if x is, else Float32. x is [total, width] of a real floating-point type, and offsets is
// Int32 [batch+1]: sequence i is the rows offsets[i] to offsets[i+1]. Offsets begin at 0, do not decrease
// and end at total. A sequence without rows gives zeros. Sums are float64, and the result is rounded once.
// A row of the result depends only on the rows of its sequence.
//
// Shapes that do not fit are ErrShape, and other types are ErrDType. Offsets that do not partition the
// rows are ErrShape. This error is found when the operation runs, and returned at the first boundary. In a
// captured sequence a GPU does not check the offsets, and clamps them to the rows.
func RaggedPool(x, offsets *array.Array, opts RaggedPoolOptions) *array.Array {
	op := array.NewOperation("RaggedPool", []*array.Array{x, offsets})
	if err := op.Check(); err != nil {
		return op.Failed(err)
	}
	plan := fused.Pool{X: array.Shown(x), Offsets: array.Shown(offsets), First: opts.First, Normalize: opts.Normalize, Fail: op.Failure()}
	shape, err := plan.Check()
	if err != nil {
		return op.Failed(err)
	}
	reads := []*array.Array{adjacent(op, x), dense(op, offsets)}
	return op.Result(fused.PooledType(x.DType()), shape, fused.PlanPool(x.Device().Kind()), reads, func(s *device.Stream, dst device.View, reads []device.View) error {
		p := plan
		p.Dst, p.X, p.Offsets = dst, reads[0], reads[1]
		return p.Run(s)
	})
}

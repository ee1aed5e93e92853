package layers

import (
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/fused"
)

// EmbeddingNorm returns LayerNorm(tables[0][ids[0]] + tables[1][ids[1]] + …, gamma, beta, eps),
// [..., width], with the bits of Take, Add, in this order, and LayerNorm. Tables, one to four, are
// [rows, width] of one real floating-point type. ids are Int32 or Int64 [...], all of one shape, and
// count from the end where they are negative; a nil one, but not all of them, stands for row 0
// everywhere. gamma and beta, [width] and of the tables' type, may be nil.
//
// It is one pass on the CPU, and one kernel on a GPU for rows of whole vectors of 16 bytes, of 64 KiB
// at most; others are composed of the operations there, as Explain says.
//
// Shapes that do not fit are ErrShape, and types ErrDType. An id outside its table is ErrShape: a GPU
// finds it as it works, and it is named at the first boundary. In a captured sequence a GPU does
// not check ids: one outside reads row 0. What is composed cannot be captured there: ErrUnsupported.
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

// dense is a, or a dense copy, likewise.
func dense(op *array.Operation, a *array.Array) *array.Array {
	if array.Shown(a).Layout.IsDense() {
		return a
	}
	return op.On(a).Contiguous()
}

// RaggedPoolOptions are the options of RaggedPool. The zero value has the mean of each sequence.
type RaggedPoolOptions struct {
	First     bool // the first row of each sequence instead of the mean
	Normalize bool // divides each result by its length, or by 1e-12 where that is larger
}

// RaggedPool returns a line for each sequence of a ragged batch, Float32 [batch, width], or Float64
// of Float64: the mean of its rows. x is [total, width] of a real floating-point type, and offsets
// Int32 [batch+1]: sequence i is the rows offsets[i] to offsets[i+1]. Offsets begin at 0, do not fall
// and end at total. A sequence without rows gives zeros. Sums are float64, and the result is rounded
// once. A line depends on its own rows alone.
//
// Shapes that do not fit are ErrShape, and types ErrDType. Offsets that divide no rows are ErrShape,
// found when the operation runs, and named at the first boundary. In a captured sequence a GPU does not
// check them, and clamps them to the rows.
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

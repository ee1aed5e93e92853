package layers

import (
	"slices"

	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/fused"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/matmul"
)

// AttentionOptions are the options of Attention. The zero value has no mask and the
// usual scale.
type AttentionOptions struct {
	// Offsets, Int32 [batch+1], makes the batch ragged: q, k and v are then [heads, total,
	// dim], and sequence i is the rows Offsets[i] to Offsets[i+1] of all three. Offsets
	// begin at 0, do not fall and end at total. They are read when the operation runs.
	Offsets *array.Array
	// Causal hides later keys, aligned at the last query and the last key: query i of n sees key j of m if j
	// <= i + m - n.
	Causal bool
	// Scale multiplies the scores. The default, for 0, is 1/sqrt(dim).
	Scale float64
	// Mask, of type Bool, is true for keys that are seen. A mask of any other real type is added to the
	// scaled scores. It is broadcast to [batch, heads, queries, keys]; a mask of keys is [batch, 1, 1, keys].
	// With Offsets it is ErrUnsupported.
	Mask *array.Array
	// Precision is as for MatMul.
	Precision matmul.Precision
	// Longest is an upper bound of the number of rows of a sequence, if it is known, otherwise 0. On a GPU a
	// Longest below 256 saves a launch, because no kernel for long sequences is started. If a sequence is
	// longer than that, it is computed with the rounding of short ones.
	Longest int
	// RowsFirst makes the result [batch, queries, heads, valueDim], or [total, heads, valueDim] with Offsets.
	// The product after attention can read this layout without a copy.
	RowsFirst bool
}

// Attention returns softmax(Scale q k^T + mask) v for each head (Vaswani et al. 2017). q is [batch, heads,
// queries, dim], k [batch, kvHeads, keys, dim] and v [batch, kvHeads, keys, valueDim], all of one real
// floating-point type. heads is a multiple of kvHeads, and query head h reads KV head h / (heads/kvHeads).
// The result is [batch, heads, queries, valueDim]; with RowsFirst the queries come before the heads.
//
// A key whose score is -Inf is not seen, like one that the options hide: its weight is 0, even if its value
// is not finite. A query that sees no key gives 0. Other infinities and NaN follow the formula. The scores of
// an empty dim are 0.
//
// The CPU computes blocks of queries and keys in the cache, with a running maximum and sum for each query
// (Milakov and Gimelshein 2018; Dao et al. 2022). It computes in float32 with the sums of the weights in
// float64, and Float64 in float64; the result is rounded once. A GPU does the same in one kernel for Float32
// and the 16-bit types and heads of up to 256 elements, with sums in float32. Weights of half types are
// rounded to the type, and FullPrecision represents each operand and weight by two TF32 numbers. Float64 and
// larger heads are composed of plain operations on a GPU, with the scores and weights of one sequence in
// memory. On a GPU, a value that is not finite can make the results of queries that do not see it NaN, if
// they are of the same sequence. With FullPrecision, infinities can become NaN. The bits of a sequence's
// result depend only on its own queries, keys, values and mask.
//
// Shapes that do not fit are ErrShape, and other types are ErrDType. Offsets that do not partition the rows
// are ErrShape. This error is found when the operation runs, and returned at the first boundary. In a
// captured sequence a GPU does not check the offsets: each replay reads them anew, and rows that belong to no
// sequence are not written.
func Attention(q, k, v *array.Array, opts AttentionOptions) *array.Array {
	op := array.NewOperation("Attention", []*array.Array{q, k, v}, opts.Mask, opts.Offsets)
	if err := op.Check(); err != nil {
		return op.Failed(err)
	}
	mask, ragged := opts.Mask, opts.Offsets != nil
	plan := fused.Attention{
		Q: array.Shown(q), K: array.Shown(k), V: array.Shown(v), Mask: array.Shown(mask), Offsets: array.Shown(opts.Offsets),
		AttentionOptions: fused.AttentionOptions{Scale: opts.Scale, Causal: opts.Causal, Longest: max(opts.Longest, 0)},
	}
	shape, err := plan.Check()
	if err == nil {
		err = op.SameType(q, k, v)
	}
	if err == nil {
		o := matmul.Collect([]matmul.Option{opts.Precision})
		plan.Precision, err = o.Resolve(q.DType())
	}
	if err == nil && mask != nil {
		mask, err = attentionMask(mask, q, k)
	}
	if err != nil {
		return op.Failed(err)
	}
	reads := []*array.Array{q, k, v}
	if mask != nil {
		plan.Mask, reads = array.Shown(mask), append(reads, mask)
	}
	if ragged {
		reads = append(reads, opts.Offsets.Contiguous()) // read with the layout in memory
	}
	if ragged {
		plan.Fail = op.Failure()
	}
	how := plan.Plan(q.Device()).String()
	heads := len(shape) - 3 // the axis of the heads; the next one is that of the queries
	if opts.RowsFirst {
		shape[heads], shape[heads+1] = shape[heads+1], shape[heads]
	}
	return op.Result(q.DType(), shape, how, reads, func(s *device.Stream, dst device.View, reads []device.View) error {
		a := plan
		a.Dst, a.Q, a.K, a.V = dst, reads[0], reads[1], reads[2]
		if opts.RowsFirst {
			a.Dst.Layout = swapped(dst.Layout, heads)
		}
		if mask != nil {
			a.Mask = reads[3]
		}
		if ragged {
			a.Offsets = reads[len(reads)-1]
		}
		return a.Run(s)
	})
}

// swapped returns a layout with axes i and i + 1 exchanged.
func swapped(l layout.Layout, i int) layout.Layout {
	l.Shape, l.Strides = slices.Clone(l.Shape), slices.Clone(l.Strides)
	l.Shape[i], l.Shape[i+1] = l.Shape[i+1], l.Shape[i]
	l.Strides[i], l.Strides[i+1] = l.Strides[i+1], l.Strides[i]
	return l
}

// attentionMask returns a mask broadcast to the scores. Its type is Bool or the type in which the scores are
// computed.
func attentionMask(mask, q, k *array.Array) (*array.Array, error) {
	a := q.Shape()
	scores := []int{a[0], a[1], a[2], k.Shape()[2]}
	if _, err := array.Shown(mask).Layout.BroadcastTo(scores); err != nil {
		return nil, layout.Errorf("a mask of %v for scores of %v", mask.Shape(), scores)
	}
	computed := dtype.Float32
	if q.DType() == dtype.Float64 {
		computed = dtype.Float64
	}
	if mask.DType() != dtype.Bool && mask.DType() != computed {
		mask = mask.Cast(computed)
	}
	mask = mask.BroadcastTo(scores...)
	return mask, mask.Err()
}

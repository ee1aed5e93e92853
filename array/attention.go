package array

import (
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
	Offsets *Array
	// Causal hides the future, aligned to the bottom right: query i of n sees key j of m
	// where j <= i + m - n.
	Causal bool
	// Scale multiplies the scores. 0 stands for 1/sqrt(dim).
	Scale float64
	// Mask, of type Bool, is true where a key is seen. One of any other real type is added
	// to the scaled scores. It is broadcast to [batch, heads, queries, keys]: a mask of
	// keys is [batch, 1, 1, keys]. With Offsets it is ErrUnsupported.
	Mask *Array
	// Precision is as for MatMul.
	Precision matmul.Precision
}

// Attention returns softmax(Scale q k^T + mask) v, for every head by itself (Vaswani et
// al. 2017). q is [batch, heads, queries, dim], k [batch, kvHeads, keys, dim] and v
// [batch, kvHeads, keys, valueDim], all of one real floating-point type. heads is a
// multiple of kvHeads, and query head h reads KV head h / (heads/kvHeads). The result is
// [batch, heads, queries, valueDim], which is q's shape where v has q's dim.
//
// A key whose score is -Inf is not seen, as one that the options hide: it has no weight,
// whatever its value holds. A query that sees no key gives 0. Other infinities and NaN
// follow the formula. The scores of an empty dim are 0.
//
// On the CPU blocks of queries and keys are computed in the cache, with a running maximum
// and sum of each query (Milakov and Gimelshein 2018; Dao et al. 2022): in float32 with
// the sums of the weights in float64, Float64 in float64, rounded once. On a GPU it is
// composed of plain operations, with the scores and weights of one sequence in memory. A
// value that is not finite then makes NaN of queries that do not see it, too. The bits of a sequence's
// result depend only on its own queries, keys, values and mask.
//
// Shapes that do not fit are ErrShape, and types ErrDType. Offsets that divide no rows are
// ErrShape, found when the operation runs, and named at the first boundary.
func Attention(q, k, v *Array, opts AttentionOptions) *Array {
	operands := []*Array{q, k, v}
	for _, a := range []*Array{opts.Mask, opts.Offsets} {
		if a != nil {
			operands = append(operands, a)
		}
	}
	call := call{"Attention", here()}
	if err := call.first(operands...); err != nil {
		return failedArray(err)
	}
	mask, masked, ragged := opts.Mask, opts.Mask != nil, opts.Offsets != nil
	plan := fused.Attention{
		Q: shown(q), K: shown(k), V: shown(v), Mask: shown(opts.Mask), Offsets: shown(opts.Offsets),
		AttentionOptions: fused.AttentionOptions{Scale: opts.Scale, Causal: opts.Causal},
	}
	shape, err := plan.Check()
	if err == nil {
		err = sameType(q, k, v)
	}
	if err == nil {
		err = sameDevice(operands...)
	}
	if err == nil {
		o := matmul.Collect([]matmul.Option{opts.Precision})
		plan.Precision, err = o.Resolve(q.dt)
	}
	if err == nil && masked {
		mask, err = attentionMask(call, mask, q, k)
	}
	if err != nil {
		return call.failed(err, operands...)
	}
	reads := operands[:3:3]
	if masked {
		plan.Mask, reads = shown(mask), append(reads, mask)
	}
	if ragged {
		reads = append(reads, opts.Offsets.Contiguous()) // read as they lie in memory
	}
	op := newNode(call)
	op.strided, op.how = true, fused.PlanAttention(plan.Problem(), q.on().Kind()).String()
	op.run = func(o *job, s *device.Stream, dst device.View) error {
		a := plan
		a.Dst, a.Q, a.K, a.V = dst, o.view(0), o.view(1), o.view(2)
		if masked {
			a.Mask = o.view(3)
		}
		if ragged {
			a.Offsets = o.view(o.n - 1)
		}
		return a.Run(s)
	}
	return op.result(streamOf(operands...), q.dt, layout.Dense(shape), 0, reads...)
}

// shown is the view of an array whose memory is not known yet, the zero View of nil.
func shown(a *Array) device.View {
	if a == nil {
		return device.View{}
	}
	return device.View{DType: a.dt, Layout: a.lay}
}

// attentionMask is a mask broadcast to the scores, Bool or in the type that they are
// computed in.
func attentionMask(c call, mask, q, k *Array) (*Array, error) {
	a := q.lay.Shape
	scores := []int{a[0], a[1], a[2], k.lay.Shape[2]}
	lay, err := mask.lay.BroadcastTo(scores)
	if err != nil {
		return nil, layout.Errorf("a mask of %v for scores of %v", mask.lay.Shape, scores)
	}
	computed := dtype.Float32
	if q.dt == dtype.Float64 {
		computed = dtype.Float64
	}
	if mask.dt == dtype.Bool || mask.dt == computed {
		return mask.with(lay), nil
	}
	inType := elementwise(c, cast, computed, mask)
	if inType.err != nil {
		return nil, inType.err
	}
	lay, err = inType.lay.BroadcastTo(scores)
	return inType.with(lay), err
}

package layers

import (
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/fused"
)

// RoPE is RoPEWith for all features, with pairs in halves: the rotary position embedding of Llama and
// GPT-NeoX. A base of 0 stands for 10,000.
func RoPE(x, positions *array.Array, base float64) *array.Array {
	return rope(array.NewOperation("RoPE", []*array.Array{x}, positions), x, positions, fused.RoPEOptions{Base: base})
}

// RoPEWith rotates each pair of features (x1, x2) of a line by the angle a and returns
//
//	x1 cos a - x2 sin a,  x2 cos a + x1 sin a
//
// where pair i of a line at position p has a = p Base^(-2i/Dim) radians (Su et al., arXiv 2104.09864).
// x, of a real floating-point type, is [batch, heads, seq, dim] with positions [seq] or [batch, seq],
// or [heads, total, dim] with positions [total]. Positions are Int32 or Int64, may be negative, and are
// exact up to 2^53. Nil stands for 0, 1, … along seq or total.
//
// Angles, and the cosines and sines of them, are computed in float64: at position 1,000,000 an angle is
// less than 1e-9 off. On the CPU products and their sum are float64 too. The result is rounded once to
// float32 or float64; for a half type it is then rounded from float32 to the type. A GPU does the same
// in one kernel if at most 256 features are rotated. For more it runs plain operations, as Explain
// says: the cosines and sines, and every later step, are rounded to float32, unless x is Float64.
//
// Shapes that do not fit, and a Dim that is odd or exceeds dim, are ErrShape. Other types are ErrDType,
// and invalid options are ErrUnsupported.
func RoPEWith(x, positions *array.Array, opts fused.RoPEOptions) *array.Array {
	return rope(array.NewOperation("RoPEWith", []*array.Array{x}, positions), x, positions, opts)
}

func rope(op *array.Operation, x, positions *array.Array, opts fused.RoPEOptions) *array.Array {
	if err := op.Check(); err != nil {
		return op.Failed(err)
	}
	if opts.Scaling != nil { // the caller may change its own
		scaling := *opts.Scaling
		opts.Scaling = &scaling
	}
	plan := fused.RoPE{X: array.Shown(x), Positions: array.Shown(positions), RoPEOptions: opts}
	if err := plan.Check(); err != nil {
		return op.Failed(err)
	}
	reads := []*array.Array{x}
	if positions != nil {
		reads = append(reads, positions)
	}
	how := plan.Plan(x.Device().Kind()).String()
	return op.Result(x.DType(), x.Shape(), how, reads, func(s *device.Stream, dst device.View, reads []device.View) error {
		r := plan
		if r.Dst, r.X = dst, reads[0]; len(reads) > 1 {
			r.Positions = reads[1]
		}
		return r.Run(s)
	})
}

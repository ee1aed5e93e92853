package layers

import (
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/fused"
	"github.com/gpk-go/gpk/internal/compose"
)

// RMSNormResidual returns sum = x + residual, of one type and shape and rounded to the type, and
// normed = RMSNorm(sum, gamma, eps). The results have the same bits as with the two separate
// operations. gamma may be nil. The work starts immediately. The CPU makes one pass over the lines.
// A GPU runs one kernel if the bytes of a line are a multiple of 16 and at most 64 KiB, and
// otherwise Add and RMSNorm.
func RMSNormResidual(x, residual, gamma *array.Array, eps float64) (sum, normed *array.Array) {
	op := array.NewOperation("RMSNormResidual", []*array.Array{x, residual}, gamma)
	plan := fused.NormResidual{X: array.Shown(x), Residual: array.Shown(residual), Gamma: array.Shown(gamma), Eps: eps}
	reads := []*array.Array{x, residual}
	if gamma != nil {
		reads = append(reads, gamma)
	}
	err := op.Check()
	if err == nil {
		err = plan.Check()
	}
	if err == nil {
		err = op.SameType(reads...)
	}
	if err != nil {
		return op.Failed(err), op.Failed(err)
	}
	if gamma != nil && !plan.Gamma.Layout.IsDense() {
		reads[2] = op.On(gamma).Contiguous() // read with the layout in memory
		defer reads[2].Free()
	}
	dt := x.DType()
	shape := x.Shape()
	how := fused.PlanNormResidual(x.Device().Kind(), dt, shape[len(shape)-1])
	return compose.Pair(op, [2]dtype.DType{dt, dt}, shape, how, reads,
		func(s *device.Stream, dst [2]device.View, reads []device.View) error {
			r := plan
			r.Sum, r.Normed, r.X, r.Residual = dst[0], dst[1], reads[0], reads[1]
			if len(reads) > 2 {
				r.Gamma = reads[2]
			}
			return r.Run(s)
		})
}

package quantum

import (
	"maps"
	"slices"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// In float32 a gate's matrix is not exactly unitary: it changes the length of a state by up
// to 6e-8. If one angle is used in many gates these errors accumulate, to 1.5e-5 of K after
// eight layers of one feature on ten qubits. Dividing every float32 state by its length
// leaves a tenth of that.

// grows reports whether these errors accumulate, which is the case if matrices follow the product of vectors, or if one
// angle is in the vectors of several wires.
func (p *program) grows() bool {
	seen := map[int]bool{}
	for _, l := range p.start {
		own := map[int]bool{}
		for _, q := range l.parts {
			if q.kind == constantFactor {
				continue
			}
			if seen[q.angle] {
				return true
			}
			own[q.angle] = true
		}
		maps.Copy(seen, own)
	}
	return slices.ContainsFunc(p.ops, func(o op) bool { return o.kind == stepLocal || o.kind == stepControlled })
}

// scaled reports whether states are divided by their lengths.
func (d *deviceCode) scaled() bool { return d.grows && d.nAngles > 0 && d.dt == gpk.Float32 }

// norms writes the fourth powers of the lengths of n states, which begin at the address at, to norms from byte `to` on.
// If these are not the first factors, it multiplies norms by them.
func (d *deviceCode) norms(s *device.Stream, n int, states *device.Buffer, at uint64, norms *device.Buffer, to int, first bool) error {
	*d.launches++
	return d.gpu.norms.Launch(s, []*device.Buffer{states}, []*device.Buffer{norms}, normsArgs{
		Type: int32(d.dt), N: int64(n), Width: int64(d.numbers()), State: at, Out: norms.Addr() + uint64(to), First: flagOf(first),
	})
}

// scale divides n states at the address at in dst by their lengths. lengths and factors have room for n float64 and n
// float32 numbers; they reuse the buffers of angles and slots.
func (d *deviceCode) scale(s *device.Stream, n int, dst *device.Buffer, at uint64, lengths, factors *device.Buffer) error {
	width := d.numbers()
	if err := d.norms(s, n, dst, at, lengths, 0, true); err != nil {
		return err
	}
	length := device.View{Buffer: lengths, DType: gpk.Float64, Layout: layout.Dense([]int{n})}
	factor := device.View{Buffer: factors, DType: d.dt, Layout: layout.Dense([]int{n})}
	for _, op := range []expr.Op{expr.Sqrt, expr.Rsqrt} {
		if err := ops.Apply1(s, op, length, length); err != nil {
			return err
		}
	}
	if err := ops.Cast(s, factor, length); err != nil {
		return err
	}
	*d.launches += 4
	states := device.View{Buffer: dst, DType: d.dt, Layout: layout.Dense([]int{n, width})}
	states.Layout.Offset = int(at-dst.Addr()) / d.dt.Size()
	factor.Layout = layout.Layout{Shape: []int{n, width}, Strides: []int{1, 0}}
	return ops.Apply2(s, expr.Mul, states, states, factor)
}

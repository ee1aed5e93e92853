package quantum

import (
	"maps"
	"slices"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// A matrix of float32 is not quite unitary: it makes states longer or shorter by up to
// 6e-8. Where one angle stands in many gates these add up, to 1.5e-5 of K after eight
// layers of one feature on ten qubits. What is left when every state of float32 has
// been divided by its length is a tenth of that.

// grows reports whether that happens: with matrices behind the product of vectors, or
// with one angle in the vectors of several wires.
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

// scale divides n states from the address at in dst on by their lengths. lengths and
// factors have room for n numbers of float64 and of float32: the angles and slots that
// the states were built from.
func (d *deviceCode) scale(s *device.Stream, n int, dst *device.Buffer, at uint64, lengths, factors *device.Buffer) error {
	width := 1 << d.qubits
	if !d.real {
		width *= 2
	}
	// The squares of the squares of lengths.
	err := d.launch(s, []*device.Buffer{dst}, []*device.Buffer{lengths}, func(lib *cutlass.Library, ordinal int, stream uint64) error {
		return lib.QuantumNorms(ordinal, stream, cutlass.QuantumNorms{Type: d.dt, N: n, Width: width, State: at, Out: lengths.Addr(), First: true})
	})
	if err != nil {
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

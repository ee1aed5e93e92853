package fused

import (
	"fmt"
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/cpu"
	"github.com/gpk-go/gpk/layout"
)

// RoPE is a rotary position embedding about to run: see cpu.Rotary for the formula. Dst and
// X are [batch, heads, seq, dim] or [heads, total, dim].
type RoPE struct {
	Dst, X device.View
	// Positions, Int32 or Int64, is [seq] or [batch, seq] beside four axes, and [total]
	// beside three. The zero View stands for 0, 1, … of each sequence.
	Positions device.View
	RoPEOptions
}

// RoPEPath is how a rotary embedding is computed.
type RoPEPath uint8

// The paths.
const (
	RoPELines    RoPEPath = iota // line by line in one pass, on the CPU
	RoPEComposed                 // by plain operations
)

// String names the path.
func (p RoPEPath) String() string {
	if p == RoPELines {
		return "one pass over the lines"
	}
	return "composed of plain operations"
}

// RoPEPlan says how a rotary embedding is computed, and why.
type RoPEPlan struct {
	Path   RoPEPath
	Reason string
}

// String prints the plan in one line.
func (p RoPEPlan) String() string { return p.Path.String() + "; " + p.Reason }

// PlanRoPE chooses the path of a rotary embedding on a kind of device.
func PlanRoPE(kind device.Kind) RoPEPlan {
	if kind == device.CPU {
		return RoPEPlan{RoPELines, "angles and products in float64"}
	}
	return RoPEPlan{RoPEComposed, fmt.Sprintf("%v has no rotary kernel: tables of cosines and sines from float64 angles, then a chain for each half of the pairs", kind)}
}

// Check returns what is wrong with the operands and the options: layout.ErrShape,
// dtype.ErrDType or expr.ErrUnsupported. It looks at types and layouts alone.
func (r *RoPE) Check() error {
	x, p := r.X.Layout.Shape, r.Positions.Layout.Shape
	t := r.Positions.DType
	given := t.Valid()
	switch {
	case !r.X.DType.IsFloat():
		return fmt.Errorf("%w: no rotary embedding of %v; Cast(gpk.Float32)", dtype.ErrDType, r.X.DType)
	case given && t != dtype.Int32 && t != dtype.Int64:
		return fmt.Errorf("%w: the positions are %v, not int32 or int64; Cast(gpk.Int64) them", dtype.ErrDType, t)
	case len(x) != 3 && len(x) != 4:
		return layout.Errorf("x is %v, not [batch, heads, seq, dim] or [heads, total, dim]", x)
	}
	rows := len(x) - 2
	batched := len(x) == 4 && slices.Equal(p, []int{x[0], x[rows]})
	if given && !batched && !slices.Equal(p, x[rows:rows+1]) {
		if len(x) == 4 {
			return layout.Errorf("the positions are %v, not [seq] or [batch, seq] of x %v", p, x)
		}
		return layout.Errorf("the positions are %v, not [total] of x %v", p, x)
	}
	return r.RoPEOptions.check(x[rows+1])
}

// turned is how many features of a line are turned.
func (r *RoPE) turned() int { return r.rotaryDim(r.X.Layout.Shape[len(r.X.Layout.Shape)-1]) }

// Run starts the embedding on s.
func (r *RoPE) Run(s *device.Stream) error {
	if r.Dst.Layout.Size() == 0 {
		return nil
	}
	dev := s.Device()
	if PlanRoPE(dev.Kind()).Path == RoPELines {
		own := *r // what a capture records outlives the call
		return dev.LaunchWork(s, []*device.Buffer{r.X.Buffer, r.Positions.Buffer}, []*device.Buffer{r.Dst.Buffer}, &own)
	}
	return aside(s, r.Dst, func(dst device.View) error {
		to := *r
		to.Dst = dst
		return to.compose(s, composedTable)
	})
}

// Start implements device.Work, on the CPU.
func (r *RoPE) Start(int, uint64) error {
	x := r.X.Layout.Shape
	work := cpu.Rotary{
		Type: r.X.DType, Batch: 1, Frequencies: r.Frequencies(r.turned()), Interleaved: r.Interleaved,
		X: headRows(r.X), Out: headRows(r.Dst), Positions: r.positions(),
	}
	if len(x) == 4 {
		work.Batch, x = x[0], x[1:]
	}
	work.Heads, work.Rows, work.Dim = x[0], x[1], x[2]
	work.Run()
	return nil
}

// positions is where the positions lie.
func (r *RoPE) positions() cpu.Positions {
	p := cpu.Positions{Type: r.Positions.DType}
	if !p.Type.Valid() {
		return p
	}
	s := r.Positions.Layout.Strides
	p.Data, p.Row = r.Positions.Ptr(), s[len(s)-1]
	if len(s) == 2 {
		p.Batch = s[0]
	}
	return p
}

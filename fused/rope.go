package fused

import (
	"fmt"
	"slices"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/cpu"
	"github.com/gpk-go/gpk/layout"
)

// RoPE holds the arguments of a rotary position embedding; see cpu.Rotary for the formula.
// Dst and X are [batch, heads, seq, dim] or [heads, total, dim].
type RoPE struct {
	Dst, X device.View
	// Positions, Int32 or Int64, is [seq] or [batch, seq] if X has four axes, and [total]
	// if it has three. The zero View stands for 0, 1, … along the rows.
	Positions device.View
	RoPEOptions
}

// RoPEPath is one of the implementations of rotary embeddings.
type RoPEPath uint8

// The paths.
const (
	RoPELines    RoPEPath = iota // line by line on the CPU
	RoPEComposed                 // several plain operations
	RoPEKernel                   // one kernel of the library
)

// String names the path.
func (p RoPEPath) String() string {
	switch p {
	case RoPELines:
		return "one pass over the lines"
	case RoPEKernel:
		return "one kernel"
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

// PlanRoPE chooses the path of a rotary embedding that rotates `turned` features of a
// line, on a kind of device.
func PlanRoPE(kind device.Kind, turned int) RoPEPlan {
	switch {
	case kind == device.CPU:
		return RoPEPlan{RoPELines, "angles and products in float64"}
	case turned <= 2*cutlass.RoPEPairs:
		return RoPEPlan{RoPEKernel, "angles and products in float64"}
	}
	return RoPEPlan{RoPEComposed, fmt.Sprintf("the kernel rotates at most %d features, not %d: tables of cosines and sines from float64 angles, then a chain for each half of the pairs", 2*cutlass.RoPEPairs, turned)}
}

// Plan chooses the path of the embedding on a kind of device.
func (r *RoPE) Plan(kind device.Kind) RoPEPlan { return PlanRoPE(kind, r.turned()) }

// Check returns the first problem of the operands and the options: layout.ErrShape,
// dtype.ErrDType or expr.ErrUnsupported. It looks only at types and layouts.
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

// turned returns the number of features of a line that are rotated.
func (r *RoPE) turned() int { return r.rotaryDim(r.X.Layout.Shape[len(r.X.Layout.Shape)-1]) }

// Run starts the embedding on s.
func (r *RoPE) Run(s *device.Stream) error {
	if r.Dst.Layout.Size() == 0 {
		return nil
	}
	dev := s.Device()
	reads, writes := []*device.Buffer{r.X.Buffer, r.Positions.Buffer}, []*device.Buffer{r.Dst.Buffer}
	switch r.Plan(dev.Kind()).Path {
	case RoPELines:
		own := *r // a capture keeps the work after this call
		return dev.LaunchWork(s, reads, writes, &own)
	case RoPEKernel:
		return dev.LaunchWork(s, reads, writes, &ropeKernel{*r, dev})
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

// positions describes the positions to the CPU's kernel.
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

// ropeKernel is the launch of the library's kernel for a RoPE.
type ropeKernel struct {
	r   RoPE
	dev *device.Device
}

// Start implements device.Work.
func (k *ropeKernel) Start(ordinal int, stream uint64) error {
	r := &k.r
	shape := r.X.Layout.Shape
	args := cutlass.RoPE{
		Type: r.X.DType, X: r.X.Addr(), Out: r.Dst.Addr(), Positions: deviceAddress(r.Positions),
		XStrides: fourStrides(r.X), OutStrides: fourStrides(r.Dst), Batch: 1,
		Interleaved: r.Interleaved, WidePositions: r.Positions.DType == dtype.Int64, Frequencies: r.Frequencies(r.turned()),
	}
	if len(shape) == 4 {
		args.Batch, shape = shape[0], shape[1:]
	}
	args.Heads, args.Rows, args.Dim = shape[0], shape[1], shape[2]
	if s := r.Positions.Layout.Strides; len(s) > 0 {
		args.PositionRow = s[len(s)-1]
		if len(s) == 2 {
			args.PositionBatch = s[0]
		}
	}
	return k.dev.Library().RoPE(ordinal, stream, &args)
}

// fourStrides returns the strides of batch, heads, rows and dim. A ragged view has no
// batch.
func fourStrides(v device.View) (strides [4]int) {
	s := v.Layout.Strides
	copy(strides[4-len(s):], s)
	return strides
}

package fused

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/cpu"
	"github.com/gpk-go/gpk/matmul"
)

// Attention holds the arguments of a scaled dot-product attention; see cpu.Attention for
// the formula. Views have the axes [batch, heads, rows, dim]. Those of a ragged batch have
// [heads, rows, dim], and Offsets holds the first row of each sequence and, last, the
// number of rows.
type Attention struct {
	Dst, Q, K, V device.View
	// Mask is broadcast to [batch, heads, queries, keys]. Its type is Bool or that of the
	// computation: Float64 for Float64, else Float32. Without a mask it is the zero View.
	Mask    device.View
	Offsets device.View // dense, Int32; the zero View if the batch is not ragged
	AttentionOptions
	// Fail, if not nil, adds context to the error of invalid offsets that a kernel finds.
	Fail func(error) error
}

// AttentionOptions are the numeric options of an attention.
type AttentionOptions struct {
	Scale     float64 // factor of the scores; 0 stands for 1/sqrt(dim)
	Causal    bool
	Precision matmul.Precision // resolved
	Longest   int              // upper bound of the rows of a sequence of a ragged batch; 0: unknown
}

// AttentionProblem describes an attention for PlanAttention.
type AttentionProblem struct {
	DType          dtype.DType
	Batch          int // number of sequences
	Heads, KVHeads int
	Queries, Keys  int // lengths of one sequence; if ragged, of all sequences together
	Dim, ValueDim  int
	Ragged, Causal bool
	Mask           dtype.DType // Invalid for none
	Precision      matmul.Precision
}

// AttentionPath is one of the implementations of attention.
type AttentionPath uint8

// The paths.
const (
	AttentionBlocks   AttentionPath = iota // online softmax over blocks of keys, on the CPU
	AttentionComposed                      // several plain operations for each sequence
	AttentionKernel                        // one kernel of the library
)

// String names the path.
func (p AttentionPath) String() string {
	switch p {
	case AttentionBlocks:
		return "online softmax over blocks"
	case AttentionKernel:
		return "one kernel"
	}
	return "composed of plain operations"
}

// AttentionPlan says how an attention is computed, and why.
type AttentionPlan struct {
	Path   AttentionPath
	Kernel string // the library's kernel or the CPU's micro-kernel; empty for neither
	Reason string
}

// String prints the plan in one line.
func (p AttentionPlan) String() string {
	s := p.Path.String()
	switch {
	case p.Kernel == "":
	case p.Path == AttentionKernel:
		s += ", " + p.Kernel
	default:
		s += ", micro-kernel " + p.Kernel
	}
	return s + "; " + p.Reason
}

// PlanAttention chooses how an attention is computed on a kind of device. kernel is the
// name of the library's kernel for the problem, empty if the library has none.
func PlanAttention(p AttentionProblem, kind device.Kind, kernel string) AttentionPlan {
	switch {
	case kind == device.CPU:
		return AttentionPlan{Path: AttentionBlocks, Kernel: cpu.KernelName(p.DType), Reason: accumulation(p.DType)}
	case kernel != "":
		return AttentionPlan{Path: AttentionKernel, Kernel: kernel, Reason: kernelPrecision(p)}
	}
	why := fmt.Sprintf("%v has no kernel for %v with heads of %d and %d", kind, p.DType, p.Dim, p.ValueDim)
	return AttentionPlan{Path: AttentionComposed, Reason: why + ": product, scale, mask, softmax and product of each sequence"}
}

// kernelPrecision describes the precision of the library's kernels for a problem.
func kernelPrecision(p AttentionProblem) string {
	switch {
	case p.DType.IsHalf():
		return fmt.Sprintf("scores and sums in float32, weights rounded to %v", p.DType)
	case p.Precision == matmul.TF32:
		return "operands and weights rounded to TF32, sums in float32"
	}
	return "operands and weights as two TF32 numbers each, sums in float32"
}

// Plan chooses the path of the attention on a device.
func (a *Attention) Plan(dev *device.Device) AttentionPlan {
	kernel := ""
	if lib := dev.Library(); dev.Kind() == device.CUDA && lib != nil {
		args := a.arguments()
		kernel = lib.AttentionKernel(dev.Info().Index, &args)
	}
	return PlanAttention(a.Problem(), dev.Kind(), kernel)
}

// accumulation describes the precision of the CPU for a type.
func accumulation(t dtype.DType) string {
	if t == dtype.Float64 {
		return "computed in float64"
	}
	return "computed in float32 with the sums of the weights in float64, rounded once"
}

// Problem describes the attention.
func (a *Attention) Problem() AttentionProblem {
	p := AttentionProblem{DType: a.Q.DType, Ragged: a.ragged(), Causal: a.Causal, Mask: a.Mask.DType, Precision: a.Precision, Batch: 1}
	q, k, v := a.Q.Layout.Shape, a.K.Layout.Shape, a.V.Layout.Shape
	if p.Ragged {
		p.Batch = a.Offsets.Layout.Size() - 1
	} else {
		p.Batch, q, k, v = q[0], q[1:], k[1:], v[1:]
	}
	p.Heads, p.Queries, p.Dim = q[0], q[1], q[2]
	p.KVHeads, p.Keys, p.ValueDim = k[0], k[1], v[2]
	return p
}

// scale returns the factor of the scores.
func (a *Attention) scale() float64 {
	shape := a.Q.Layout.Shape
	if dim := shape[len(shape)-1]; a.Scale == 0 && dim > 0 {
		return 1 / math.Sqrt(float64(dim))
	}
	return a.Scale
}

func (a *Attention) ragged() bool { return a.Offsets.DType.Valid() }

// Run starts the attention on s. Offsets that do not partition the rows are an error that
// wraps layout.ErrShape; nothing is written then. A kernel finds such offsets only when it
// runs: the error is then attached to Dst's buffer (deferred.State.Attach) if the buffer is
// fresh.
func (a *Attention) Run(s *device.Stream) error {
	dev := s.Device()
	switch plan := a.Plan(dev); plan.Path {
	case AttentionBlocks:
		own := *a // a capture keeps the work after this call
		reads := []*device.Buffer{a.Q.Buffer, a.K.Buffer, a.V.Buffer, a.Mask.Buffer, a.Offsets.Buffer}
		return dev.LaunchWork(s, reads, []*device.Buffer{a.Dst.Buffer}, &own)
	case AttentionKernel:
		return a.runKernel(s, plan.Kernel)
	}
	if !a.ragged() {
		return a.composeInto(s, nil)
	}
	if s.Capturing() {
		return fmt.Errorf("%w: a composed ragged Attention in a captured sequence: its offsets are not known before it runs", expr.ErrUnsupported)
	}
	offsets := make([]int32, a.Offsets.Layout.Size())
	if err := dev.CopyToHost(unsafe.Slice((*byte)(unsafe.Pointer(&offsets[0])), 4*len(offsets)), a.Offsets.Buffer, a.Offsets.Start(), s); err != nil {
		return err
	}
	if err := checkOffsets(offsets, a.Problem().Queries); err != nil {
		return err
	}
	return a.composeInto(s, offsets)
}

// Start implements device.Work, on the CPU.
func (a *Attention) Start(int, uint64) error {
	p := a.Problem()
	work := cpu.Attention{
		Type: p.DType, Heads: p.Heads, KVHeads: p.KVHeads, Dim: p.Dim, ValueDim: p.ValueDim, Scale: a.scale(), Causal: a.Causal,
		Batch: p.Batch, Queries: p.Queries, Keys: p.Keys, MaskType: p.Mask,
		Q: headRows(a.Q), K: headRows(a.K), V: headRows(a.V), Out: headRows(a.Dst),
	}
	if p.Mask.Valid() {
		work.Mask = headRows(a.Mask)
	}
	if p.Ragged {
		work.Offsets = unsafe.Slice((*int32)(a.Offsets.Ptr()), a.Offsets.Layout.Size())
		if err := checkOffsets(work.Offsets, p.Queries); err != nil {
			return err
		}
	}
	if a.Dst.Layout.Size() > 0 {
		work.Run()
	}
	return nil
}

// headRows describes the rows of a view to the CPU's kernels. A ragged view has no batch.
func headRows(v device.View) cpu.HeadRows {
	s := v.Layout.Strides
	r := cpu.HeadRows{Data: v.Ptr()}
	if len(s) == 4 {
		r.Batch, s = s[0], s[1:]
	}
	r.Head, r.Row, r.Step = s[0], s[1], s[2]
	return r
}

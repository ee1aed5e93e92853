package matmul

import (
	"fmt"
	"strings"
)

// StepKind is the kind of a step of a plan.
type StepKind uint8

// The steps. Pad, Transpose and Pack copy an operand into workspace with aligned rows:
// Pad keeps its major, Transpose changes it, and Pack copies an operand that is
// contiguous along neither axis, or that must be conjugated. Two pads are one launch.
// Split sums partial products. Launch runs the kernel. ApplyEpilogue applies bias and
// activation after a kernel without an epilogue. CopyOut copies a padded result to D.
// Scale and ScaleSplit make the float16 planes that scaled and split kernels read. Square
// computes the squared modulus if the kernel does not. Mirror writes the other half of a
// symmetric result.
const (
	Pad StepKind = iota
	Pack
	Transpose
	Split
	Launch
	ApplyEpilogue
	CopyOut
	Scale
	ScaleSplit
	Square
	Mirror
)

var stepNames = [...]string{"pad", "pack", "transpose", "split", "kernel", "epilogue", "copy out", "scale", "scale and split", "square", "mirror"}

// Step is one step of a plan. Operand is "A", "B" or "D"; Bytes is the number of
// bytes that the step reads and writes together; Pitch is the row pitch of the
// step's result, in elements.
type Step struct {
	Kind    StepKind
	Operand string
	Detail  string
	Pitch   int
	Bytes   int64
}

// String prints the step: "pad A to pitch 4096 (moves 64.0 MiB)".
func (s Step) String() string {
	var b strings.Builder
	b.WriteString(stepNames[min(int(s.Kind), len(stepNames)-1)])
	if s.Operand != "" {
		b.WriteString(" " + s.Operand)
	}
	if s.Detail != "" {
		b.WriteString(" " + s.Detail)
	}
	if s.Pitch > 0 {
		fmt.Fprintf(&b, " to pitch %d", s.Pitch)
	}
	if s.Bytes > 0 {
		fmt.Fprintf(&b, " (moves %s)", bytesString(s.Bytes))
	}
	return b.String()
}

func bytesString(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}

// Plan says how a product will be computed. Workspace is the number of bytes of the
// copies and planes of operands, of the parts of k, and of a temporary result. Reason
// says why this kernel was chosen, and names the next candidates.
type Plan struct {
	Kernel     string
	Tile       [3]int
	Cluster    [2]int
	SplitK     int
	Steps      []Step
	Workspace  int64
	TensorCore bool
	Reason     string
}

// String prints the plan over several lines.
func (p Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "kernel %s", p.Kernel)
	if p.Tile != [3]int{} {
		fmt.Fprintf(&b, ", tile %dx%dx%d", p.Tile[0], p.Tile[1], p.Tile[2])
	}
	if p.Cluster[0]*p.Cluster[1] > 1 {
		fmt.Fprintf(&b, ", cluster %dx%d", p.Cluster[0], p.Cluster[1])
	}
	if p.SplitK > 1 {
		fmt.Fprintf(&b, ", split-K %d", p.SplitK)
	}
	if p.TensorCore {
		b.WriteString(", tensor cores")
	}
	for i, s := range p.Steps {
		fmt.Fprintf(&b, "\n  step %d: %v", i+1, s)
	}
	if p.Workspace > 0 {
		fmt.Fprintf(&b, "\n  workspace: %s", bytesString(p.Workspace))
	}
	fmt.Fprintf(&b, "\n  reason: %s", p.Reason)
	return b.String()
}

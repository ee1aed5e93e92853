package matmul

import (
	"fmt"
	"strings"

	"github.com/gpk-go/gpk/cutlass"
)

// prep says how an operand is passed to a kernel: without a copy, or copied to a padded
// matrix in the major that the kernel reads.
type prep struct {
	copy  bool
	conj  bool // the copy is the conjugate
	kind  StepKind
	major cutlass.Major
	pitch int // elements
	rows  int // number of lines of the copy, including padding along k
	why   string
}

// copiesLines reports whether the copy keeps the operand's major and values.
func (q prep) copiesLines() bool { return q.copy && q.kind == Pad && !q.conj }

// alignedPitch returns the pitch, in elements, of the lines that a step writes. It is a
// multiple of the kernel's alignment. For long lines it is also a multiple of a cache line:
// TMA copies lines in pieces of 128 bytes, and an unaligned piece touches two cache lines.
func alignedPitch(length, size, need int) int {
	unit := max(need, 16)
	if length*size >= longLine {
		unit = max(unit, cacheLine)
	}
	return alignUp(length, unit/size)
}

const (
	cacheLine = 128 // bytes
	longLine  = 512 // bytes of a line above which rounding up to a cache line costs little
)

func swap(l Layout) Layout {
	switch l {
	case RowMajor:
		return ColMajor
	case ColMajor:
		return RowMajor
	}
	return l
}

func swapMajor(m cutlass.Major) cutlass.Major { return cutlass.ColMajor - m }

func alignUp(n, unit int) int {
	if unit <= 1 {
		return n
	}
	return (n + unit - 1) / unit * unit
}

// prepare returns how an operand of mn x k is passed to the kernel. In have and want,
// RowMajor means that k is contiguous.
func prepare(mn, k, size int, have Layout, want cutlass.Major, align, need int, padK, conj bool) prep {
	q := prep{major: want, conj: conj}
	switch {
	case have == Strided:
		q.kind, q.why = Pack, "(contiguous along neither axis)"
	case (have == RowMajor) != (want == cutlass.RowMajor):
		q.kind, q.why = Transpose, "(the kernel reads the other major)"
	case align%max(need, size) != 0:
		q.kind, q.why = Pad, fmt.Sprintf("(aligned to %d bytes, the kernel needs %d)", align, need)
	case padK:
		q.kind, q.why = Pad, "(k filled up with zeros)"
	case conj:
		q.kind, q.why = Pack, "(conjugated)"
	default:
		return q
	}
	if q.copy = true; conj && q.why != "(conjugated)" {
		q.why = strings.TrimSuffix(q.why, ")") + "; conjugated)"
	}
	line, lines := k, mn
	if want == cutlass.ColMajor {
		line, lines = mn, k
	}
	q.rows, q.pitch = lines, alignedPitch(line, size, need)
	return q
}

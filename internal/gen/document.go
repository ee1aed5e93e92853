package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/gpk-go/gpk/ops"
)

// document returns the text of docs/operations.md.
func document(root string) []byte {
	var b bytes.Buffer
	b.WriteString(`# Operations

Generated from the table in package ops and from package internal/compose by ` + "`go generate ./...`" + `; do not edit.

Every operation is a method of Array and a function of package gpk. Types that are
not listed have no meaning and are dtype.ErrDType; what has no kernel on a device is
ErrUnsupported. Half types are computed in float32 and rounded once. Two arrays must
have one type; a number takes the array's.

The order in which terms meet, of Sum, Mean, Prod and Var, of softmax and the norms, is one
of shape and type: the bits are those of a dense copy, however operands and result lie in memory
and whichever kernel computes them.
`)
	titles := []struct {
		kind  ops.Kind
		title string
	}{
		{ops.Unary, "Element by element"},
		{ops.Binary, "Of two operands, broadcast"},
		{ops.Ternary, "Of three operands, broadcast"},
		{ops.Reduction, "Over axes"},
		{ops.Line, "Along an axis"},
		{ops.Order, "In order along an axis"},
		{ops.Move, "To other places"},
	}
	for _, t := range titles {
		fmt.Fprintf(&b, "\n## %s\n\n| operation | result | types | meaning |\n| --- | --- | --- | --- |\n", t.title)
		for _, r := range ops.Table {
			if r.Kind == t.kind {
				fmt.Fprintf(&b, "| %v | %s | %s | %s |\n", r.Op, result(r), types(r.Types), strings.ReplaceAll(r.Doc, "|", "\\|"))
			}
		}
		b.WriteString(composedRows(root, t.title))
	}
	fmt.Fprintf(&b, "\n## Products of several operands\n\n| operation | result | types | meaning |\n| --- | --- | --- | --- |\n%s", composedRows(root, "Products"))
	b.WriteString(`
## Of several operands, fused

| operation | result | types | meaning |
| --- | --- | --- | --- |
| Attention | the same | floating point | softmax(scale q k^T + mask) v for every head, grouped KV heads, causal, masked or ragged (Vaswani et al., arXiv 1706.03762); a query that sees no key gives 0 |
| RoPE, RoPEWith | the same | floating point | rotary position embedding: pair i of a line at position p is turned by p base^(-2i/dim) radians; in halves or interleaved, of a part of the features, with the scaling of Llama 3 (Su et al., arXiv 2104.09864; Grattafiori et al., arXiv 2407.21783) |
| SwiGLU | the same | floating point | SiLU(gate) up, broadcast (Shazeer, arXiv 2002.05202) |
| GEGLU | the same | floating point | GELU(gate) up, broadcast, with GELU in the erf form (the same) |
| RMSNormResidual | the same, twice | floating point | x + residual, and RMSNorm of it |
| EmbeddingNorm | the same | floating point | LayerNorm of the sum of a row of each table, one to four, which ids select |
| RaggedPool | float32, float64 of it | floating point | the mean of the rows of each sequence of a ragged batch, or the first row, divided by its length where wanted; of no rows zeros |

These are functions of package gpk alone.

Attention is an online softmax over blocks of queries and keys on the CPU
(Milakov and Gimelshein, arXiv 1805.02867; Dao et al., arXiv 2205.14135), rounded once. On a GPU one kernel does
the same for Float32 and the 16-bit types with heads of up to 256 elements; other cases are composed of the plain operations.

RoPE is one pass over the lines on the CPU, with angles and products in float64. A GPU does the same in one kernel, where at most
256 features are turned. More are composed there: tables of cosines and sines, of at most 8 Mi elements each, and a chain for each half of the
pairs.

SwiGLU and GEGLU are chains of two operations, with their bits. RMSNormResidual has the bits of Add and RMSNorm, and EmbeddingNorm those
of Take, Add and LayerNorm. Each is one pass on the CPU, and on a GPU one kernel for lines of whole vectors of 16 bytes, of 64 KiB at most;
other lines are computed by the single operations. RMSNormResidual starts on its line. RaggedPool is one pass on the CPU and one kernel on a GPU, with
sums in float64.
`)
	return b.Bytes()
}

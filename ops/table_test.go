package ops_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/ops"
)

var write = flag.Bool("write", false, "write docs/operations.md instead of comparing with it")

// document is docs/operations.md.
func document() string {
	var b strings.Builder
	b.WriteString(`# Operations

Generated from the table in package ops by ` + "`go test ./ops -run TestDocument -write`" + `; do not edit.

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
	}
	b.WriteString(`
## Of several operands, fused

| operation | result | types | meaning |
| --- | --- | --- | --- |
| Attention | the same | floating point | softmax(scale q k^T + mask) v for every head, grouped KV heads, causal, masked or ragged (Vaswani et al., arXiv 1706.03762); a query that sees no key gives 0 |
| RoPE, RoPEWith | the same | floating point | rotary position embedding: pair i of a line at position p is turned by p base^(-2i/dim) radians; in halves or interleaved, of a part of the features, with the scaling of Llama 3 (Su et al., arXiv 2104.09864; Grattafiori et al., arXiv 2407.21783) |
| SwiGLU | the same | floating point | SiLU(gate) up, broadcast (Shazeer, arXiv 2002.05202) |
| GEGLU | the same | floating point | GELU(gate) up, broadcast, with GELU in the erf form (the same) |
| RMSNormResidual | the same, twice | floating point | x + residual, and RMSNorm of it |

These are functions of package gpk alone.

Attention is an online softmax over blocks of queries and keys on the CPU
(Milakov and Gimelshein, arXiv 1805.02867; Dao et al., arXiv 2205.14135), rounded once. On a GPU it is composed of the plain operations.

RoPE is one pass over the lines on the CPU, with angles and products in float64. On a GPU it is composed: tables of cosines
and sines, of at most 8 Mi elements each, and a chain for each half of the pairs.

SwiGLU and GEGLU are chains of two operations, with their bits. RMSNormResidual has the bits of Add and RMSNorm; it is one pass on the
CPU, and the two operations on a GPU. It starts on its line.
`)
	return b.String()
}

// result says what type the result has.
func result(r ops.Row) string {
	has := func(d dtype.DType) bool {
		for _, t := range r.Types {
			if t == d {
				return true
			}
		}
		return false
	}
	switch of := r.Result; {
	case of(dtype.Float32) == dtype.Bool:
		return "bool"
	case of(dtype.Float32) == dtype.Int64:
		return "int64"
	case has(dtype.Int8) && of(dtype.Int8) == dtype.Int64:
		return "the same; int64 of integers and bool"
	case has(dtype.Complex64) && of(dtype.Complex64) == dtype.Float32:
		return "the same; real of complex"
	}
	return "the same"
}

// types lists element types, groups of them by name.
func types(list []dtype.DType) string {
	in := map[dtype.DType]bool{}
	for _, d := range list {
		in[d] = true
	}
	var out []string
	for _, g := range []struct {
		name string
		of   []dtype.DType
	}{
		{"floating point", []dtype.DType{dtype.Float32, dtype.Float64, dtype.Float16, dtype.BFloat16}},
		{"integers", []dtype.DType{dtype.Int8, dtype.Uint8, dtype.Int32, dtype.Int64}},
		{"bool", []dtype.DType{dtype.Bool}},
		{"complex", []dtype.DType{dtype.Complex64, dtype.Complex128}},
	} {
		n := 0
		for _, d := range g.of {
			if in[d] {
				n++
			}
		}
		if n == len(g.of) {
			out = append(out, g.name)
		} else if n > 0 {
			out = append(out, fmt.Sprint(list))
		}
	}
	if len(out) == 4 {
		return "all"
	}
	return strings.Join(out, ", ")
}

func TestDocument(t *testing.T) {
	const name = "../docs/operations.md"
	want := document()
	if *write {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/operations.md is not what the table says: go test ./ops -run TestDocument -write")
	}
}

// TestTable checks that every operation of package expr has one row, with a meaning
// for a type at least, and every row a name.
func TestTable(t *testing.T) {
	rows := map[expr.Op]int{}
	for _, r := range ops.Table {
		rows[r.Op]++
		if len(r.Types) == 0 || r.Result == nil || r.Doc == "" || strings.HasPrefix(r.Op.String(), "Op(") {
			t.Errorf("%v lacks something: %+v", r.Op, r)
		}
		if ops.Lookup(r.Op) == nil {
			t.Errorf("%v is not found", r.Op)
		}
	}
	for op := expr.Op(1); op < 256; op++ {
		if named := !strings.HasPrefix(op.String(), "Op("); named != (rows[op] == 1) {
			t.Errorf("%v has %d rows", op, rows[op])
		}
	}
}

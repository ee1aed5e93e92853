package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/gpk-go/gpk/ops"
)

//go:embed numpy.txt
var numpyText string

// numpyEntry is a line of numpy.txt.
type numpyEntry struct {
	names                      []string // NumPy's names
	target, code, remark, miss string
}

// numpySection is a section of numpy.txt.
type numpySection struct {
	title, miss string
	entries     []numpyEntry
}

// numpySections reads numpy.txt.
func numpySections(text string) []numpySection {
	var out []numpySection
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			title, miss, _ := strings.Cut(title, " ! ")
			out = append(out, numpySection{title: title, miss: miss})
			continue
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		var e numpyEntry
		line, e.miss, _ = strings.Cut(line, " ! ")
		line, e.remark, _ = strings.Cut(line, " | ")
		line, e.code, _ = strings.Cut(line, " ~ ")
		line, e.target, _ = strings.Cut(line, " = ")
		e.names = strings.Split(line, "/")
		s := &out[len(out)-1]
		s.entries = append(s.entries, e)
	}
	return out
}

// gpkNames holds the exported names of package gpk and related packages, with their
// documentation if a table has it. The key is the name in lower case, prefixed by its
// package and a dot.
type gpkNames map[string]gpkName

type gpkName struct{ name, doc string }

func (n gpkNames) add(pkg, name, doc string) {
	if pkg != "" {
		name = pkg + "." + name
	}
	if old, ok := n[strings.ToLower(name)]; !ok || old.doc == "" {
		n[strings.ToLower(name)] = gpkName{name, doc}
	}
}

// find returns the name in gpk of a NumPy name that differs only in case, underscores and
// the namespace.
func (n gpkNames) find(numpy string) (gpkName, bool) {
	key := strings.ReplaceAll(strings.TrimPrefix(numpy, "random."), "_", "")
	g, ok := n[key]
	return g, ok
}

// gpkNamesIn collects the names from the tables and from the files that are written by hand.
func gpkNamesIn(root string) gpkNames {
	n := gpkNames{}
	for _, r := range ops.Table {
		n.add("", r.Op.String(), r.Doc)
	}
	all, names := composedIn(root)
	for _, name := range names {
		n.add("", name, all[name].row[3])
	}
	for _, dir := range []struct{ pkg, folder string }{{"", "."}, {"", "array"}, {"linalg", "linalg"}, {"fft", "fft"}} {
		paths, err := filepath.Glob(filepath.Join(root, dir.folder, "*.go"))
		if err != nil {
			panic(err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "_gen.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				panic(err)
			}
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Name.IsExported() && (ofArrays(f) || f.Recv == nil && dir.folder != "array") {
					n.add(dir.pkg, f.Name.Name, "")
				}
			}
		}
	}
	return n
}

// ofArrays reports whether f is a method of Array or RNG.
func ofArrays(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return false
	}
	p, ok := f.Recv.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	id, ok := p.X.(*ast.Ident)
	return ok && (id.Name == "Array" || id.Name == "RNG")
}

// look returns the name of an entry in gpk. It reports false if there is none.
func (n gpkNames) look(e numpyEntry) (gpkName, bool) {
	if e.target != "" {
		g, ok := n[strings.ToLower(e.target)]
		return g, ok
	}
	for _, name := range e.names {
		if g, ok := n.find(name); ok {
			return g, true
		}
	}
	return gpkName{}, false
}

// numpyDocument returns the text of docs/numpy.md.
func numpyDocument(root string) []byte {
	names := gpkNamesIn(root)
	var b bytes.Buffer
	b.WriteString(numpyHead)
	used := map[string]bool{}
	mention := func(text string) {
		for _, name := range exportedName.FindAllString(text, -1) {
			used[name] = true
		}
	}
	mention(numpyHead)
	var missing []string
	for _, s := range numpySections(numpyText) {
		var rows strings.Builder
		for _, e := range s.entries {
			mention(e.remark)
			title := cell("`" + strings.Join(e.names, "`, `") + "`")
			g, ok := names.look(e)
			switch {
			case ok:
				used[g.name] = true
				remark := e.remark
				if remark == "" {
					remark = g.doc
				}
				fmt.Fprintf(&rows, "| %s | `%s` | %s |\n", title, g.name, cell(remark))
			case e.code != "":
				fmt.Fprintf(&rows, "| %s | %s | %s |\n", title, cell(e.code), cell(e.remark))
			default:
				reason := e.miss
				if reason == "" {
					reason = s.miss
				}
				missing = append(missing, fmt.Sprintf("| %s | %s |\n", title, cell(reason)))
			}
		}
		if rows.Len() > 0 {
			fmt.Fprintf(&b, "\n## %s\n\n| NumPy | gpk | remark |\n| --- | --- | --- |\n%s", s.title, rows.String())
		}
	}
	if len(missing) > 0 {
		fmt.Fprintf(&b, "\n## What is missing\n\n| NumPy | instead, or why |\n| --- | --- |\n%s", strings.Join(missing, ""))
	}
	b.WriteString(numpyLonger)
	var own []string
	for _, r := range ops.Table {
		if name := r.Op.String(); !used[name] {
			own = append(own, "`"+name+"`")
		}
	}
	all, composedNames := composedIn(root)
	for _, name := range composedNames {
		if !used[name] && all[name].row[0] != "" {
			own = append(own, "`"+name+"`")
		}
	}
	slices.Sort(own)
	fmt.Fprintf(&b, "\n## What NumPy has no function for\n\n%s. [operations.md](operations.md) says what each does.\n", strings.Join(own, ", "))
	b.Write(standardDocument(root))
	return b.Bytes()
}

// exportedName matches the names that a remark mentions. NumPy has what they stand for, as an argument
// of a function or as an index.
var exportedName = regexp.MustCompile(`\b[A-Z]\w+`)

// cell returns the text of a table's cell.
func cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, `\|`, "|"), "|", `\|`)
}

const numpyHead = `# NumPy → gpk

Generated from the tables of operations, internal/gen/numpy.txt, internal/gen/standard.txt and the calls in gpktest/standard_*_test.go by ` + "`go generate ./...`" + `; do not edit.

` + "`import numpy as np`" + ` is ` + "`import \"github.com/gpk-go/gpk\"`" + `. Operations are methods (` + "`a.Exp()`" + `) and functions (` + "`gpk.Exp(a)`" + `). An
error travels with the array and is returned by ToSlice, Item and Eval. NumPy's ` + "`a[1:3]`" + ` is ` + "`a.Slice(0, 1, 3)`" + `,
` + "`a[2]`" + ` is ` + "`a.At(2)`" + `, ` + "`a[1:3] = x`" + ` is ` + "`a.Slice(0, 1, 3).CopyFrom(x)`" + `, ` + "`a[2:, :, 3]`" + ` is
` + "`a.Index(gpk.Range(2, gpk.End), gpk.All, 3)`" + `, ` + "`a[mask] = x`" + ` is ` + "`a.MaskedSet(mask, x)`" + `,
and ` + "`a += x`" + ` is ` + "`a.AddInPlace(x)`" + `. In the tables below, dt is a type, and axis, i, j, k, m and n
are ints. TestNumPyStandard in package gpktest compares the expressions with NumPy, with NaN, infinities and -0 where NumPy takes them.

Whole programs, written for both libraries under the same names: [benchmark/peers/programs.py](../benchmark/peers/programs.py) and benchmark/program_*.go.

## What differs by decision

| NumPy | gpk |
| --- | --- |
| ` + "`float32 + float64`" + ` gives float64 | two arrays of different type are ErrDType, with the Cast that would help; a number takes the array's type |
| ` + "`astype`" + ` of integers wraps, of NaN is undefined | Cast saturates, and NaN becomes 0 |
| ` + "`a == 0.5`" + ` for an integer array is False | a number that the type cannot hold is ErrDType, in comparisons too |
| integers divide to float64; means of integers are float64 | Div, Mean and Var of integers are ErrDType; Cast first |
| a product of Bool arrays is Bool | ErrDType: Cast says what it should count in |
| int8 products are int8 | MatMul of two Int8 or two Uint8 gives Int32; MatMul, Einsum, TensorDot and VecDot of Int16, Uint16, Uint32 and Uint64 are ErrDType: Cast to Int64 |
| sums of uint8 are uint64 | Sum, Prod, CumSum and CumProd of Uint8 give Int64, as of the signed types and Bool; of Uint16, Uint32 and Uint64 they give Uint64, as in NumPy |
| float32 products have float32's error | TF32 by default, with an error of about 2^-11; gpk.FullPrecision asks for float32's |
| views see writes | the same; a result of an earlier line keeps its values, even if it is computed after the write |
| warnings for 0/0 | IEEE results, no warnings |
`

// numpyLonger are expressions of several lines; they stand in gpktest/standard_rows_test.go and
// gpktest/standard_row_numbers_test.go too.
const numpyLonger = `
## Longer expressions

` + "`np.gradient(a, axis=0)`" + `, for an axis of n > 1 elements:

` + "```go" + `
inner := a.Slice(0, 2, n).Sub(a.Slice(0, 0, n-2)).Div(2)
g := gpk.Concat(0, a.Slice(0, 0, 2).Diff(1, 0), inner, a.Slice(0, n-2, n).Diff(1, 0))
` + "```" + `

` + "`np.unwrap(a, axis=axis)`" + `, for an axis of n elements; a jump of exactly an odd multiple of pi may go the other way:

` + "```go" + `
turns := a.Diff(1, axis).Div(2 * math.Pi).Round().CumSum(axis)
u := gpk.Concat(axis, a.Slice(axis, 0, 1), a.Slice(axis, 1, n).Sub(turns.Mul(2*math.Pi)))
` + "```" + `
`

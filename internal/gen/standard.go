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
	"strconv"
	"strings"
)

//go:embed standard.txt
var standardText string

// standardRow is a function of the array API standard, as standard.txt describes it.
type standardRow struct {
	section, name      string
	code, remark, miss string // miss is the reason why gpk lacks the function
	same               string // the name of another function that does the same
}

// standardRows reads standard.txt.
func standardRows(text string) []standardRow {
	var out []standardRow
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = title
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		r := standardRow{section: section}
		line, r.miss, _ = strings.Cut(line, " ! ")
		line, r.remark, _ = strings.Cut(line, " | ")
		line, r.code, _ = strings.Cut(line, " ~ ")
		r.name, r.same, _ = strings.Cut(line, " = ")
		out = append(out, r)
	}
	return out
}

// tested returns the expressions in the tables of gpktest that TestNumPyStandard calls, by the
// names of the standard.
func tested(root string) map[string]string {
	paths, err := filepath.Glob(filepath.Join(root, "gpktest/standard_*_test.go"))
	if err != nil || len(paths) == 0 {
		panic(fmt.Sprint("no tables gpktest/standard_*_test.go: ", err))
	}
	out := map[string]string{}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			panic(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			pair, ok := n.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			key, isKey := pair.Key.(*ast.BasicLit)
			f, isCall := pair.Value.(*ast.FuncLit)
			if !isKey || !isCall {
				return true
			}
			name, err := strconv.Unquote(key.Value)
			if strings.HasPrefix(name, "np.") { // the standard has no such function
				return false
			}
			result, ok := f.Body.List[0].(*ast.ReturnStmt)
			if err != nil || !ok || len(result.Results) != 1 {
				panic(fmt.Sprintf("%s: the call of %s is not a single return statement", path, key.Value))
			}
			out[name] = shown(source(result.Results[0]))
			return false
		})
	}
	return out
}

var argument = regexp.MustCompile(`\bp\.(\w)(\w*)`)

// shown returns an expression of a test as the document shows it, with variables in place of the
// test's arguments.
func shown(code string) string {
	code = strings.ReplaceAll(code, "p.Dt.DType", "p.Dt")
	code = regexp.MustCompile(`float64\((p\.\w+)\)`).ReplaceAllString(code, "$1")
	code = argument.ReplaceAllStringFunc(code, func(s string) string { return strings.ToLower(s[2:3]) + s[3:] })
	if inner, ok := strings.CutPrefix(code, "list("); ok {
		code = strings.TrimSuffix(inner, ")")
	}
	return code
}

// standardShare returns the number of functions of the standard that gpk has, and the number of all.
func standardShare(root string) (works, all int) {
	calls := tested(root)
	for _, r := range standardRows(standardText) {
		all++
		if calls[r.name] != "" || r.same != "" && calls[r.same] != "" {
			works++
		}
	}
	return works, all
}

// standardDocument writes the part of docs/numpy.md about the array API standard.
func standardDocument(root string) []byte {
	calls := tested(root)
	var b, missing bytes.Buffer
	works, all := standardShare(root)
	fmt.Fprintf(&b, `
## The array API standard

Of the %d functions of the [array API standard](https://data-apis.org/array-api/2024.12/API_specification), version 2024.12, with
its extensions linalg and fft, %d work: %.1f %%. TestNumPyStandard in package gpktest compares the expression of each row with
NumPy, on 200 random calls for each type. A function counts if gpk has it for at least one type of the standard; the remarks name
the types and arguments that are missing. gpk has the types of [operations.md](operations.md), all of the standard's among them.
Two arrays of different types do not mix. keepdims=True is gpk.KeepDims among the axes.
`, all, works, 100*float64(works)/float64(all))
	section := ""
	for _, r := range standardRows(standardText) {
		code := calls[r.name]
		if r.same != "" {
			code = calls[r.same]
		}
		if code == "" {
			fmt.Fprintf(&missing, "| `%s` | %s |\n", r.name, cell(r.miss))
			continue
		}
		if r.section != section {
			section = r.section
			fmt.Fprintf(&b, "\n### %s\n\n| standard | gpk | remark |\n| --- | --- | --- |\n", section)
		}
		code = "`" + code + "`"
		if r.code != "" {
			code = r.code
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.name, cell(code), cell(r.remark))
	}
	fmt.Fprintf(&b, "\n### Missing functions\n\n| standard | why, or what instead |\n| --- | --- |\n%s", missing.Bytes())
	return b.Bytes()
}

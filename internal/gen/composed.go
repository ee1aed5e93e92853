package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// composed is an exported function of package internal/compose. A method and a function of
// package gpk are generated from it.
type composed struct {
	name    string
	comment string // with its slashes
	method  bool   // its first operand is the receiver
	draws   bool   // it becomes only a method of RNG
	params  []composedParam
	result  string
	row     [4]string // section, result, types and meaning in docs/operations.md; empty for none
}

// composedParam is a parameter. Its type is written for a package in which Array is in scope.
type composedParam struct {
	name, typ string
	operand   bool // an array
	variadic  bool
}

// composedIn reads the functions of package internal/compose of the repository at root, by
// name.
func composedIn(root string) (map[string]composed, []string) {
	paths, err := filepath.Glob(filepath.Join(root, "internal/compose/*.go"))
	if err != nil || len(paths) == 0 {
		panic(fmt.Sprint("no package internal/compose: ", err))
	}
	out := map[string]composed{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			panic(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.IsExported() && f.Recv == nil && f.Type.TypeParams != nil && !isStep(f) {
				out[f.Name.Name] = composedOf(f)
			}
		}
	}
	names := make([]string, 0, len(out))
	for name := range out {
		names = append(names, name)
	}
	slices.Sort(names)
	return out, names
}

// isStep reports whether a function is only for other packages of this module.
func isStep(f *ast.FuncDecl) bool {
	return slices.ContainsFunc(f.Doc.List, func(line *ast.Comment) bool { return line.Text == "//gpk:step" })
}

// composedOf reads a declaration: its type parameter is A, and its first parameter the
// operation.
func composedOf(f *ast.FuncDecl) composed {
	c := composed{name: f.Name.Name}
	for _, line := range f.Doc.List {
		if row, ok := strings.CutPrefix(line.Text, "//gpk:row "); ok {
			cells := strings.SplitN(row, " | ", 4)
			if len(cells) != 4 {
				panic(c.name + ": a row has section | result | types | meaning")
			}
			copy(c.row[:], cells)
			continue
		}
		c.comment += line.Text + "\n"
	}
	c.comment = strings.TrimSuffix(c.comment, "//\n")
	for i, field := range f.Type.Params.List {
		if i == 0 {
			continue
		}
		typ := source(field.Type)
		for _, name := range field.Names {
			c.params = append(c.params, composedParam{
				name: name.Name, typ: typ,
				operand:  strings.HasSuffix(typ, "*Array"),
				variadic: strings.HasPrefix(typ, "..."),
			})
		}
	}
	c.method = len(c.params) > 0 && c.params[0].name == "a" && c.params[0].typ == "*Array"
	if c.draws = len(c.params) > 0 && c.params[0].typ == "Draws"; c.draws {
		c.params[0].typ = "*RNG"
	}
	switch list := f.Type.Results.List; {
	case len(list) == 1 && len(list[0].Names) == 0:
		c.result = source(list[0].Type)
	default:
		var parts []string
		for _, field := range list {
			names := make([]string, len(field.Names))
			for i, name := range field.Names {
				names[i] = name.Name
			}
			parts = append(parts, strings.Join(names, ", ")+" "+source(field.Type))
		}
		c.result = "(" + strings.Join(parts, ", ") + ")"
	}
	return c
}

// source prints a type, with *Array for the type parameter A.
func source(typ ast.Expr) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, token.NewFileSet(), typ); err != nil {
		panic(err)
	}
	text := b.String()
	text = strings.ReplaceAll(text, "[A]", "[*Array]")
	at := len(text) - 1
	if text[at] == 'A' && (at == 0 || text[at-1] == ']' || text[at-1] == '.') {
		return text[:at] + "*Array"
	}
	return text
}

// call prints the call of the function in a package that refers to package array by prefix.
func (c composed) call(prefix string) string {
	single, many := []string{}, ""
	args := make([]string, len(c.params))
	for i, p := range c.params {
		args[i] = p.name
		switch {
		case p.operand && p.variadic:
			many = p.name
		case p.operand:
			single = append(single, p.name)
		}
		if p.variadic {
			args[i] += "..."
		}
	}
	operands := "nil"
	switch {
	case many != "" && len(single) == 0:
		operands = many
	case many != "":
		operands = "append([]*Array{" + strings.Join(single, ", ") + "}, " + many + "...)"
	case len(single) > 0:
		operands = "[]*Array{" + strings.Join(single, ", ") + "}"
	}
	instance, operation := "", fmt.Sprintf("%sNewOperation(%q, %s)", prefix, c.name, operands)
	switch {
	case operands == "nil":
		instance = "[*Array]"
	case prefix == "" && c.method && many == "":
		operation = fmt.Sprintf("a.op(%s)", strings.Join(append([]string{strconv.Quote(c.name)}, single[1:]...), ", "))
	case prefix == "" && c.method && len(single) == 1:
		operation = fmt.Sprintf("a.op(%q, %s...)", c.name, many)
	}
	return fmt.Sprintf("compose.%s%s(%s, %s)", c.name, instance, operation, strings.Join(args, ", "))
}

// list prints parameters. Consecutive parameters of one type are printed together.
func list(params []composedParam) string {
	var parts []string
	for i, p := range params {
		text := p.name
		if i+1 == len(params) || params[i+1].typ != p.typ {
			text += " " + p.typ
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// composedMethods returns the text of array/composed_gen.go.
func composedMethods(root string) []byte {
	return methodsOf(root, "array", "", func(c composed) bool { return c.method })
}

// randomMethods returns the text of internal/random/random_gen.go, the methods of RNG.
func randomMethods(root string) []byte {
	return methodsOf(root, "random", "array.", func(c composed) bool { return c.draws })
}

// methodsOf prints the methods for a package that refers to package array by prefix.
func methodsOf(root, pkg, prefix string, has func(composed) bool) []byte {
	all, names := composedIn(root)
	var body bytes.Buffer
	for _, name := range names {
		if c := all[name]; has(c) {
			receiver := c.params[0]
			fmt.Fprintf(&body, "\n%sfunc (%s %s) %s(%s) %s { return %s }\n", c.comment, receiver.name, receiver.typ, name, list(c.params[1:]), c.result, c.call(prefix))
		}
	}
	return composedFile(pkg, body.Bytes())
}

// composedFunctions returns the text of composed_gen.go.
func composedFunctions(root string) []byte {
	all, names := composedIn(root)
	var body bytes.Buffer
	for _, name := range names {
		c := all[name]
		if c.draws {
			continue
		}
		call := c.call("array.")
		if c.method {
			args := make([]string, 0, len(c.params))
			for _, p := range c.params[1:] {
				if p.variadic {
					p.name += "..."
				}
				args = append(args, p.name)
			}
			call = fmt.Sprintf("a.%s(%s)", name, strings.Join(args, ", "))
		}
		fmt.Fprintf(&body, "\n%sfunc %s(%s) %s { return %s }\n", c.comment, name, list(c.params), c.result, call)
	}
	return composedFile("gpk", body.Bytes())
}

// composedFile adds the beginning of a file.
func composedFile(pkg string, body []byte) []byte {
	var b bytes.Buffer
	b.WriteString("// Code generated by internal/gen from package internal/compose. DO NOT EDIT.\n\npackage " + pkg + "\n\nimport (\n")
	for _, path := range []string{"array", "dtype", "internal/compose", "layout"} {
		if bytes.Contains(body, []byte(filepath.Base(path)+".")) {
			fmt.Fprintf(&b, "\t\"github.com/gpk-go/gpk/%s\"\n", path)
		}
	}
	b.WriteString(")\n")
	b.Write(body)
	return formatted(b.Bytes())
}

// composedRows are the rows of a section of docs/operations.md.
func composedRows(root, section string) string {
	all, names := composedIn(root)
	var b strings.Builder
	for _, name := range names {
		if r := all[name].row; r[0] == section {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, r[1], r[2], strings.ReplaceAll(r[3], "|", "\\|"))
		}
	}
	return b.String()
}

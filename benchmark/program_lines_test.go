package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mostLines is the largest allowed ratio of a program's lines to those of its twin, the NumPy program
// of the same name in peers/programs.py.
const mostLines = 1.2

// longer lists the programs that are not held to mostLines: Jacobi's method, which handles the
// error of Into, and the older forms of two programs.
var longer = []string{jacobiProgram.name, kmeansProgram.name, attentionProgram.name}

// TestProgramLines counts the lines that a user writes. For a program in Go these are the lines
// inside its function, and all lines of the other functions that userProgram.body names. For the
// twin they are the lines inside run, and all lines of the twin's other functions. Inputs, imports,
// constants, blank lines and comments do not count; closing braces do.
func TestProgramLines(t *testing.T) {
	bodies := goBodies(t)
	text, err := os.ReadFile(filepath.Join("peers", "programs.py"))
	if err != nil {
		t.Fatal(err)
	}
	here, there := 0, 0
	for _, g := range programs {
		ours := 0
		for i, name := range g.body {
			f, ok := bodies[name]
			if !ok {
				t.Fatalf("%s: no function %s", g.name, name)
			}
			if i == 0 {
				ours += f.inside
			} else {
				ours += f.whole
			}
		}
		twins := twinLines(string(text), g.name)
		if len(g.body) == 0 || twins == 0 {
			t.Fatalf("%s: %d functions, and %d lines in the twin", g.name, len(g.body), twins)
		}
		ratio := float64(ours) / float64(twins)
		t.Logf("%-20s %2d lines, the twin %2d: %.2f", g.name, ours, twins, ratio)
		here, there = here+ours, there+twins
		if ratio > mostLines && !slices.Contains(longer, g.name) {
			t.Errorf("%s has %d lines, its twin %d: above %v", g.name, ours, twins, mostLines)
		}
	}
	t.Logf("%-20s %2d lines, the twins %d: %.2f", "all", here, there, float64(here)/float64(there))
}

// functionLines holds the number of all lines of a function, and of those between its first line and
// its closing brace. For a function of one line both are 1.
type functionLines struct{ whole, inside int }

// goBodies counts the lines of each function of the programs' files.
func goBodies(t *testing.T) map[string]functionLines {
	t.Helper()
	paths, err := filepath.Glob("program_*.go")
	if err != nil {
		t.Fatal(err)
	}
	bodies := map[string]functionLines{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				first, last := files.Position(f.Body.Lbrace).Line, files.Position(f.Body.Rbrace).Line
				if first == last {
					bodies[f.Name.Name] = functionLines{1, 1}
					continue
				}
				inside := codeLines(lines[first:last-1], "//")
				bodies[f.Name.Name] = functionLines{inside + 2, inside}
			}
		}
	}
	return bodies
}

// codeLines counts the lines that are neither blank nor a comment.
func codeLines(lines []string, comment string) (n int) {
	for _, line := range lines {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, comment) {
			n++
		}
	}
	return n
}

// twinLines counts the lines of a program in programs.py. It returns 0 if there is none.
func twinLines(text, name string) (n int) {
	_, text, found := strings.Cut(text, "\ndef "+name+"(n, T):\n")
	if !found {
		return 0
	}
	text, _, _ = strings.Cut(text, "\n\n\n")
	inside := false // a function
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "    def run():"):
			inside = true
		case strings.HasPrefix(line, "    def "):
			inside = true
			n++
		case strings.TrimSpace(line) == "":
		case !strings.HasPrefix(line, "     "):
			inside = false
		case inside:
			n += codeLines([]string{line}, "#")
		}
	}
	return n
}

// TestCodeLines counts the lines of small programs.
func TestCodeLines(t *testing.T) {
	const twin = "\ndef f(n, T):\n    x = 1\n    def g(x): return x\n    def run():\n        a = 1\n\n        # why\n        return a\n    return 2\n\n\ndef h(n, T):\n"
	if n := twinLines(twin, "f"); n != 3 {
		t.Errorf("%d lines, want 3", n)
	}
	if n := twinLines(twin, "missing"); n != 0 {
		t.Errorf("%d lines of no program", n)
	}
	if n := codeLines([]string{"\ta := 1 // one", "", "\t// why", "\t}"}, "//"); n != 2 {
		t.Errorf("%d lines, want 2", n)
	}
}

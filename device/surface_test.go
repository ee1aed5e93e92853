package device

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// maxSurface is the maximum number of exported functions and methods of this package (ADR
// 20). Functions that only gpk's own packages call belong into internal/deviceapi.
const maxSurface = 80

// TestSurface counts the functions and methods that `go doc -all` prints.
func TestSurface(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{} // a file for another system may define it again
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.IsExported() {
				if of, ok := receiver(fn); ok {
					seen[of+"."+fn.Name.Name] = true
				}
			}
		}
	}
	if len(seen) < 50 {
		t.Fatalf("found %d functions and methods: the count is wrong", len(seen))
	}
	if len(seen) > maxSurface {
		t.Errorf("package device exports %d functions and methods, more than %d", len(seen), maxSurface)
	}
}

// receiver returns the name of a method's type, "" for a function, and false for a method
// of a type that is not exported.
func receiver(fn *ast.FuncDecl) (name string, exported bool) {
	if fn.Recv == nil {
		return "", true
	}
	x := fn.Recv.List[0].Type
	if p, ok := x.(*ast.StarExpr); ok {
		x = p.X
	}
	id, ok := x.(*ast.Ident)
	return id.Name, ok && id.IsExported()
}

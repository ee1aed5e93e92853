// Package niltest calls the exported functions and methods of a package with degenerate
// operands: methods on nil and on zero values, and arguments that are nil, zero, or the most
// extreme numbers of their type. An error is a correct answer; a panic is not.
package niltest

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// Package lists the exported API of a package under test.
type Package struct {
	// Values has, for every exported type with exported methods, a function that makes a
	// valid value: a pointer if the methods have pointer receivers. If a value cannot be
	// made in this environment, the function returns a typed nil.
	Values []func() any
	// Functions are the exported functions, by name.
	Functions map[string]any
	// Except gives the reason why a method ("Type.Method") or function is not called. It
	// may also name types ("Type") and generic functions.
	Except map[string]string
}

// Run calls everything in p, and checks that the package in the test's folder exports
// nothing else.
func Run(t *testing.T, p Package) {
	types, methods, functions := exported(t)
	if len(types)+len(functions) == 0 {
		t.Fatal("there is no package in this folder")
	}
	seen := map[string]bool{}
	for _, value := range p.Values {
		typ := reflect.TypeOf(value())
		name := baseName(typ)
		seen[name] = true
		for i := range typ.NumMethod() {
			m := typ.Method(i)
			full := name + "." + m.Name
			if !methods[full] { // promoted from a type of another package
				continue
			}
			if _, ok := p.Except[full]; ok {
				seen[full] = true
				continue
			}
			for what, receiver := range receivers(typ, m.Name, value) {
				each(t, full+" of a "+what+" value", m.Type, m.Func, receiver)
			}
		}
	}
	for name, f := range p.Functions {
		seen[name] = true
		each(t, name, reflect.TypeOf(f), reflect.ValueOf(f), nil)
	}
	for name := range p.Except {
		if strings.Contains(name, ".") && !seen[name] {
			t.Errorf("the exception %s is not there", name)
		}
		seen[name] = true
	}
	for _, name := range slices.Concat(types, functions) {
		if !seen[name] {
			t.Errorf("%s is exported and not called here", name)
		}
	}
}

// baseName returns the name of a type or of the type that it points to, without type
// arguments.
func baseName(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name, _, _ := strings.Cut(t.Name(), "[")
	return name
}

// receivers returns the receivers on which a method of a type is called, by name.
func receivers(typ reflect.Type, method string, value func() any) map[string]func() reflect.Value {
	r := map[string]func() reflect.Value{"working": func() reflect.Value { return reflect.ValueOf(value()) }}
	if typ.Kind() == reflect.Pointer {
		if _, ok := typ.Elem().MethodByName(method); !ok { // otherwise Go itself panics
			r["nil"] = func() reflect.Value { return reflect.Zero(typ) }
		}
		r["zero"] = func() reflect.Value { return reflect.New(typ.Elem()) }
	} else {
		r["zero"] = func() reflect.Value { return reflect.Zero(typ) }
	}
	return r
}

// each calls f with all kinds of arguments after the receiver, if there is one.
func each(t *testing.T, name string, typ reflect.Type, f reflect.Value, receiver func() reflect.Value) {
	for _, k := range kinds {
		var in []reflect.Value
		if receiver != nil {
			in = append(in, receiver())
		}
		for i := len(in); i < typ.NumIn(); i++ {
			if typ.IsVariadic() && i == typ.NumIn()-1 {
				if k.many {
					in = append(in, k.argument(typ.In(i).Elem()))
				}
				continue
			}
			in = append(in, k.argument(typ.In(i)))
		}
		call(t, fmt.Sprintf("%s with %s arguments", name, k.name), f, in)
		if typ.NumIn() == len(in) && receiver != nil && typ.NumIn() == 1 {
			return // f has no arguments to vary
		}
	}
}

// call calls f and checks its results.
func call(t *testing.T, name string, f reflect.Value, in []reflect.Value) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("%s: panic: %v\n%s", name, r, debug.Stack())
		}
	}()
	for _, out := range f.Call(in) {
		if x, ok := out.Interface().(interface{ Err() error }); ok && !out.IsZero() {
			if err := x.Err(); err != nil {
				_ = err.Error()
			}
		}
		switch x := out.Interface().(type) {
		case fmt.Formatter, fmt.Stringer, error:
			if s := fmt.Sprint(x); strings.Contains(s, "(PANIC=") {
				t.Errorf("%s: printing the result: %s", name, s)
			}
		}
	}
}

// kind is a choice of arguments.
type kind struct {
	name    string
	pointer func(reflect.Type) reflect.Value
	number  int64
	many    bool // one variadic argument, and one element in each slice
}

var kinds = []kind{
	{"nil", reflect.Zero, 0, false},
	{"zero", func(t reflect.Type) reflect.Value { return reflect.New(t.Elem()) }, 1, true},
	{"nil and negative", reflect.Zero, -1, true},
	{"huge", func(t reflect.Type) reflect.Value { return reflect.New(t.Elem()) }, math.MaxInt64, true},
	{"hugely negative", reflect.Zero, math.MinInt64, true},
}

var contextType = reflect.TypeFor[context.Context]()

// argument returns an argument of type t.
func (k kind) argument(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch {
	case t == contextType && k.many: // kind nil passes a nil context
		v.Set(reflect.ValueOf(context.Background()))
	case t.Kind() == reflect.Pointer:
		v.Set(k.pointer(t))
	case t.Kind() == reflect.Func && k.many:
		v.Set(reflect.MakeFunc(t, func([]reflect.Value) []reflect.Value { return zeroResults(t) }))
	case t.Kind() == reflect.Slice && k.many:
		v.Set(reflect.Append(v, k.argument(t.Elem())))
	case t.Kind() == reflect.Array:
		for i := range t.Len() {
			v.Index(i).Set(k.argument(t.Elem()))
		}
	case t.Kind() == reflect.Interface && t.NumMethod() == 0 && k.many:
		v.Set(reflect.ValueOf(k.number))
	case v.CanInt():
		v.SetInt(saturate(k.number, t.Bits()))
	case v.CanUint():
		v.SetUint(uint64(k.number) & (1<<t.Bits() - 1))
	case v.CanFloat():
		v.SetFloat(float64(k.number))
	}
	return v
}

// zeroResults are the results of a function of type t, all zero.
func zeroResults(t reflect.Type) (out []reflect.Value) {
	for i := range t.NumOut() {
		out = append(out, reflect.Zero(t.Out(i)))
	}
	return out
}

// saturate returns the number nearest to n that fits the given number of bits.
func saturate(n int64, bits int) int64 {
	most := int64(1)<<(bits-1) - 1
	return min(max(n, -most-1), most)
}

// exported lists the exported types with exported methods, these methods ("Type.Method")
// and the exported functions of the package in the test's folder.
func exported(t *testing.T) (types []string, methods map[string]bool, functions []string) {
	t.Helper()
	methods = map[string]bool{}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range files {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() {
				continue
			}
			if f.Recv == nil {
				functions = append(functions, f.Name.Name)
			} else if name := receiverName(f.Recv.List[0].Type); ast.IsExported(name) {
				types = append(types, name)
				methods[name+"."+f.Name.Name] = true
			}
		}
	}
	slices.Sort(types)
	slices.Sort(functions)
	return slices.Compact(types), methods, slices.Compact(functions)
}

func receiverName(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.StarExpr:
		return receiverName(x.X)
	case *ast.IndexExpr:
		return receiverName(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

package callsite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/matmul"
)

// line returns the file and line of its caller, from the runtime.
func line() string {
	_, file, n, _ := runtime.Caller(1)
	return filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(file) + ":" + fmt.Sprint(n)
}

// inlined is small enough to be inlined and then has no frame.
func inlined(x *array.Array, b any) *array.Array { return x.Add(b) }

// deep calls f below n large frames, so that the stack grows.
//
//go:noinline
func deep(n int, f func()) {
	var room [1 << 10]byte
	if n > 0 {
		deep(n-1, f)
	} else {
		f()
	}
	runtime.KeepAlive(&room)
}

type adder interface{ Add(b any) *array.Array }

type embedding struct{ *array.Array }

// TestCallers checks that for every form of a call, an array's error names the line that
// the runtime reports.
func TestCallers(t *testing.T) {
	bad := array.FromSlice(make([]float32, 2))
	x := array.FromSlice(make([]float32, 3))
	at := func(err error) string {
		var oe *array.OpError
		if !errors.As(err, &oe) {
			t.Fatalf("%v is no OpError", err)
		}
		return oe.Site
	}
	shapes := map[string]func() (want string, got error){
		"method":   func() (string, error) { return line(), x.Add(bad).Err() },
		"function": func() (string, error) { return line(), array.Binary(expr.Add, x, bad).Err() },
		"generic":  func() (string, error) { _, err := array.ToSlice[int8](x); return line(), err },
		"into":     func() (string, error) { return line(), array.Into(x, bad) },
		"reduction": func() (string, error) {
			return line(), x.Sum(7).Err()
		},
		"product": func() (string, error) { return line(), x.MatMul(bad).Err() },
		"linear":  func() (string, error) { return line(), array.Linear(x, bad, nil, matmul.GELU).Err() },
		"in place": func() (string, error) {
			return line(), array.FromSlice(make([]float32, 3)).AddInPlace(bad)
		},
		"method value": func() (string, error) {
			f := x.Add
			runtime.KeepAlive(&f)
			return line(), f(bad).Err()
		},
		"method expression": func() (string, error) {
			f := (*array.Array).Add
			runtime.KeepAlive(&f)
			return line(), f(x, bad).Err()
		},
		"interface": func() (string, error) {
			var f adder = x
			runtime.KeepAlive(&f)
			return line(), f.Add(bad).Err()
		},
		"embedded": func() (string, error) {
			f := adder(embedding{x})
			runtime.KeepAlive(&f)
			return line(), f.Add(bad).Err()
		},
		"function value": func() (string, error) {
			f := array.Binary
			runtime.KeepAlive(&f)
			return line(), f(expr.Add, x, bad).Err()
		},
		"closure": func() (string, error) {
			f := func() (string, error) { return line(), x.Add(bad).Err() }
			return f()
		},
		"deferred": func() (want string, got error) {
			defer func() { want, got = line(), x.Add(bad).Err() }()
			return "", nil
		},
		"panicking": func() (want string, got error) {
			defer func() {
				_ = recover()
				want, got = line(), x.Add(bad).Err()
			}()
			panic("a panic")
		},
		"goroutine": func() (want string, got error) {
			done := make(chan struct{})
			go func() { defer close(done); want, got = line(), x.Add(bad).Err() }()
			<-done
			return want, got
		},
		"grown stack": func() (want string, got error) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				deep(200, func() { want, got = line(), x.Add(bad).Err() })
			}()
			<-done
			return want, got
		},
		"inlined caller": func() (string, error) {
			got := inlined(x, bad).Err()
			// inlined is the user's function, so the place is its line.
			f := runtime.FuncForPC(reflect.ValueOf(inlined).Pointer())
			_, n := f.FileLine(f.Entry())
			return fmt.Sprint("callsite/array_test.go:", n), got
		},
	}
	for name, f := range shapes {
		if want, got := f(); at(got) != want {
			t.Errorf("%s: %s, the runtime says %s", name, at(got), want)
		}
	}
}

// TestDeferredMethodValue: the runtime calls a deferred method value. The place is the
// function that deferred it.
func TestDeferredMethodValue(t *testing.T) {
	if os.Getenv("GPK_EAGER") == "1" {
		t.Skip("GPK_EAGER=1 stores y, and no error names the line of Free")
	}
	x, dst := array.FromSlice(make([]float32, 3)), array.FromSlice(make([]float32, 3))
	y := x.Add(1)
	if err := errors.Join(array.Eval(x, dst), array.Into(dst, y)); err != nil {
		t.Fatal(err)
	}
	func() {
		free := x.Free
		for range 2 { // in a loop, so that it is not a plain call at the function's end
			defer free()
		}
	}()
	if err := array.Eval(y); err == nil || !strings.Contains(err.Error(), "by Free at callsite/array_test.go:") {
		t.Errorf("%v: does not say that Free was called in this file", err)
	}
}

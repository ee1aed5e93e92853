package array

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/dtype"
)

// line is the place of its caller, by the runtime's own walk.
func line() string {
	_, file, n, _ := runtime.Caller(1)
	return filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(file) + ":" + fmt.Sprint(n)
}

// inlined is small enough to lose its frame; deep is not.
func inlined(x *Array, b any) *Array { return x.Add(b) }

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

type adder interface{ Add(b any) *Array }

type embedding struct{ *Array }

// TestCallers: whatever the shape of the call, an error names the line that the
// runtime's own walk finds.
func TestCallers(t *testing.T) {
	bad := Zeros(dtype.Float32, 2)
	x := Zeros(dtype.Float32, 3)
	at := func(err error) string {
		var oe *OpError
		if !errors.As(err, &oe) {
			t.Fatalf("%v is no OpError", err)
		}
		return oe.Site
	}
	shapes := map[string]func() (want string, got error){
		"method":   func() (string, error) { return line(), x.Add(bad).Err() },
		"function": func() (string, error) { return line(), Add(x, bad).Err() },
		"generic":  func() (string, error) { _, err := ToSlice[int8](x); return line(), err },
		"into":     func() (string, error) { return line(), Into(x, bad) },
		"reduction": func() (string, error) {
			return line(), x.Sum(7).Err()
		},
		"product": func() (string, error) { return line(), x.MatMul(bad).Err() },
		"linear":  func() (string, error) { return line(), LinearBiasGELU(x, bad, nil).Err() },
		"in place": func() (string, error) {
			return line(), Zeros(dtype.Float32, 3).AddInPlace(bad).Err()
		},
		"method value": func() (string, error) {
			f := x.Add
			runtime.KeepAlive(&f)
			return line(), f(bad).Err()
		},
		"method expression": func() (string, error) {
			f := (*Array).Add
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
			f := Add
			runtime.KeepAlive(&f)
			return line(), f(x, bad).Err()
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
			// inlined is the user's function: its line, far above, is the place.
			f := runtime.FuncForPC(reflect.ValueOf(inlined).Pointer())
			_, n := f.FileLine(f.Entry())
			return fmt.Sprint("array/site_test.go:", n), got
		},
	}
	for name, f := range shapes {
		if want, got := f(); at(got) != want {
			t.Errorf("%s: %s, the runtime says %s", name, at(got), want)
		}
	}
}

// TestCallersBound: the walk ends with the goroutine's stack, and leaves alone
// what it does not fill.
func TestCallersBound(t *testing.T) {
	var s site
	done := make(chan struct{})
	go func() {
		defer close(done)
		s = here()
	}()
	<-done
	if s[0] == 0 || s[siteDepth-1] != 0 {
		t.Errorf("%x: not the two or three frames of a goroutine's first function", s)
	}
}

// TestDeferredMethodValue: the runtime calls it, for the function that deferred
// it.
func TestDeferredMethodValue(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	x, dst := Ones(dtype.Float32, 3), Ones(dtype.Float32, 3)
	y := x.Add(1)
	if err := errors.Join(Eval(x, dst), Into(dst, y)); err != nil {
		t.Fatal(err)
	}
	func() {
		free := x.Free
		for range 2 { // in a loop it is no plain call at the function's end
			defer free()
		}
	}()
	if err := Eval(y); !errors.Is(err, ErrStale) || !strings.Contains(err.Error(), "by Free at array/site_test.go:") {
		t.Errorf("%v: not ErrStale by Free in this file", err)
	}
}

func BenchmarkHere(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		here()
	}
}

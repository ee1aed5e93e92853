package array

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/gpk-go/gpk/dtype"
)

// ErrStale is the error of an open array whose inputs were written or freed
// after it had been computed into another place.
var ErrStale = errors.New("stale")

// ErrNonFinite is the error of an operation that needs finite values.
var ErrNonFinite = errors.New("not finite")

// OpError says which operation failed, on what, and where the program asked
// for it. The cause is one of the package's sentinel errors, wrapped.
type OpError struct {
	Op     string
	Shapes [][]int
	DTypes []dtype.DType
	Site   string // file:line of the first frame outside packages gpk and array
	Err    error
}

// Error prints "MatMul([2 3] float32, [4 5] float32) at main.go:12: …".
func (e *OpError) Error() string {
	var b strings.Builder
	b.WriteString("gpk: " + e.Op)
	if len(e.Shapes) > 0 {
		b.WriteString("(")
		for i, s := range e.Shapes {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprint(&b, s)
			if i < len(e.DTypes) {
				fmt.Fprintf(&b, " %v", e.DTypes[i])
			}
		}
		b.WriteString(")")
	}
	if e.Site != "" {
		b.WriteString(" at " + e.Site)
	}
	b.WriteString(": " + e.Err.Error())
	return b.String()
}

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// site is a place in the user's program, kept as program counters and looked
// up only when an error is made. Between what is exported here and the user
// stands at most one frame, gpk's function of the same name.
type site [2]uintptr

// here records the callers of the exported function that calls it.
func here() (s site) {
	runtime.Callers(3, s[:])
	return s
}

const modulePath = "github.com/gpk-go/gpk"

// String returns file:line of the first frame outside packages gpk and array.
// A test file is the user's even inside these packages.
func (s site) String() string {
	n := 0
	for n < len(s) && s[n] != 0 {
		n++
	}
	if n == 0 {
		return ""
	}
	frames := runtime.CallersFrames(s[:n])
	var last runtime.Frame
	for {
		f, more := frames.Next()
		last = f
		if !inside(f) || !more {
			return fmt.Sprintf("%s:%d", filepath.Base(filepath.Dir(last.File))+"/"+filepath.Base(last.File), last.Line)
		}
	}
}

func inside(f runtime.Frame) bool {
	if strings.HasSuffix(f.File, "_test.go") {
		return false
	}
	return strings.HasPrefix(f.Function, modulePath+".") || strings.HasPrefix(f.Function, modulePath+"/array.")
}

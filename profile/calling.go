package profile

import (
	"path"
	"runtime"
	"strconv"
	"strings"
)

// caller is the function that called the library, and the dir/file.go:line of the call.
type caller struct{ name, line string }

// inside lists the packages whose functions are part of an operation, and not its caller.
var inside = []string{"device.", "device/kernels.", "ops.", "fused.", "matmul.", "array.", "profile.", "internal/"}

// calling returns the innermost function outside of the packages in inside: a function of
// the program or of package quantum. It takes some microseconds.
func calling() caller {
	var room [48]uintptr
	frames := runtime.CallersFrames(room[:runtime.Callers(3, room[:])])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if f.Function != "" && !isInside(&f) {
			return caller{shortName(f.Function), path.Base(path.Dir(f.File)) + "/" + path.Base(f.File) + ":" + strconv.Itoa(f.Line)}
		}
	}
	return caller{name: "work"}
}

// isInside reports whether a frame belongs to the library. Its tests do not.
func isInside(f *runtime.Frame) bool {
	name, ok := strings.CutPrefix(f.Function, "github.com/gpk-go/gpk/")
	if strings.HasSuffix(f.File, "_test.go") {
		return false
	}
	if !ok {
		return strings.HasPrefix(f.Function, "github.com/gpk-go/gpk.") || strings.HasPrefix(f.Function, "runtime.")
	}
	for _, p := range inside {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// shortName returns package.Type.method for a function's full name, without the numbers
// of function literals: "quantum.cudaGram.tile".
func shortName(function string) string {
	name := path.Base(function)
	name = strings.NewReplacer("(*", "", ")", "", "[...]", "").Replace(name)
	name, _, _ = strings.Cut(name, ".func")
	return name
}

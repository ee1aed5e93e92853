package quantum

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/gpk-go/gpk"
)

// site is a place in the user's program, kept as program counters and looked
// up only when an error is made.
type site [4]uintptr

// here records the callers of the function that calls it.
func here() (s site) {
	runtime.Callers(3, s[:])
	return s
}

const packagePath = "github.com/gpk-go/gpk/quantum"

// String returns file:line of the first frame outside this package; a test
// file is the user's even inside it.
func (s site) String() string {
	n := 0
	for n < len(s) && s[n] != 0 {
		n++
	}
	if n == 0 {
		return ""
	}
	frames := runtime.CallersFrames(s[:n])
	for {
		f, more := frames.Next()
		inside := strings.HasPrefix(f.Function, packagePath+".") && !strings.HasSuffix(f.File, "_test.go")
		if !inside || !more {
			return fmt.Sprintf("%s/%s:%d", filepath.Base(filepath.Dir(f.File)), filepath.Base(f.File), f.Line)
		}
	}
}

// fail makes the error of what the program asked for at s.
func (s site) fail(op string, err error) error {
	return &gpk.OpError{Op: "quantum." + op, Site: s.String(), Err: err}
}

// Package callsite records the line of the user's program that called the library.
//
// Here is cheap enough for every operation. The recorded addresses are looked up
// only when an error is made.
//
// What belongs here: walking the stack, and which packages are the library's own.
// What does not: the errors that print the line.
package callsite

import (
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// Site is a place in the user's program. It holds return addresses: the first is in an exported function
// of the library, and each further one is in the caller of the previous one. Unused entries are 0.
//
// A few entries are enough. Between the exported function and the user's frame there are usually at most the
// function of package gpk with the same name and the wrapper that the compiler makes for a method value.
// Layers of package nn call each other through more frames. Then the first entry is left out, and the last one is
// the user's frame. Nothing is lost with the first entry: the second one is the line that called its function.
type Site [depth]uintptr

const module = "github.com/gpk-go/gpk"

// String returns dir/file.go:line of the first frame outside the packages in the list own, or "" for the zero
// Site. Test files count as the user's, even those of these packages.
func (s Site) String() string { return s.Outside() }

// Outside is String for a library package above gpk, such as quantum. Frames of the packages with the
// given import paths are skipped too.
func (s Site) Outside(packages ...string) string {
	n := slices.Index(s[:], 0)
	if n < 0 {
		n = len(s)
	}
	if n == 0 {
		return ""
	}
	// The last address is passed twice, because CallersFrames reports the functions that were inlined
	// around an address only if another address follows it.
	frames := runtime.CallersFrames(append(s[:n:n], s[n-1]))
	var at runtime.Frame
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if generated(f) {
			continue
		}
		at = f
		if isUser(f, packages) {
			break
		}
	}
	return filepath.Base(filepath.Dir(at.File)) + "/" + filepath.Base(at.File) + ":" + strconv.Itoa(at.Line)
}

// Search walks the stack of its caller upwards and returns the first frame outside
// the packages in the list own and the given ones. It returns the zero Site if the nearest 32
// frames have none. To print the line, call Outside with the same packages.
//
// Search is for functions that the user may reach through any number of frames, as
// fmt reaches a Formatter. It takes microseconds; Here takes nanoseconds.
func Search(packages ...string) (s Site) {
	var callers [32]uintptr
	for _, pc := range callers[:runtime.Callers(2, callers[:])] {
		frames := runtime.CallersFrames([]uintptr{pc, pc})
		for more := true; more; {
			var f runtime.Frame
			if f, more = frames.Next(); isUser(f, packages) {
				s[0] = pc
				return s
			}
		}
	}
	return s
}

// far is the number of frames in which extend looks for one of the user's program.
const far = 32

// reachesUser reports whether s holds a frame of the user's program or the end of the stack.
func (s *Site) reachesUser() bool {
	// The last entry comes first, because it is the user's unless the stack or the user's function is short.
	for i := range s {
		if pc := s[depth-1-i]; pc == 0 || userAt(pc) {
			return true
		}
	}
	return false
}

// extend replaces the first entry by the nearest frame of the user's program, which becomes the last one. If the
// nearest frames have none, it changes nothing.
//
//go:noinline
func (s *Site) extend() {
	var all [far]uintptr
	above(&all)
	for _, pc := range all[2:] { // without extend and Here
		if pc == 0 {
			return
		}
		if userAt(pc) {
			copy(s[:], s[1:])
			s[depth-1] = pc
			return
		}
	}
}

// seen holds the addresses that userAt was last asked about, each times 2, plus 1 if it is in the user's program.
var seen [1 << 11]atomic.Uint64

// userAt reports whether the function at a return address, or one that is inlined there, is the user's.
func userAt(pc uintptr) bool {
	entry := &seen[(pc^pc>>11)%uintptr(len(seen))]
	e := entry.Load()
	if e>>1 != uint64(pc) {
		e = uint64(pc) << 1
		frames := runtime.CallersFrames([]uintptr{pc, pc}) // twice, as in Outside
		for more := true; more; {
			var f runtime.Frame
			if f, more = frames.Next(); isUser(f, nil) {
				e |= 1
			}
		}
		entry.Store(e)
	}
	return e&1 == 1
}

// isUser reports whether f is a frame of the user's program: it is not a frame of
// gpk, of one of the packages in own, of the given packages, of the runtime or of a package that prints or encodes.
func isUser(f runtime.Frame, packages []string) bool {
	if f.Function == "" || generated(f) {
		return false
	}
	// The runtime calls a deferred method value. The others call Format, String, and the methods that encode and decode.
	for _, p := range [...]string{"runtime.", "fmt.", "log.", "log/slog.", "testing.(*common).", "encoding/json", "encoding/gob.", "reflect."} {
		if strings.HasPrefix(f.Function, p) {
			return false
		}
	}
	if strings.HasSuffix(f.File, "_test.go") {
		return true
	}
	return !slices.ContainsFunc(own[:], func(p string) bool { return inPackage(f, module+p) }) &&
		!slices.ContainsFunc(packages, func(p string) bool { return inPackage(f, p) })
}

// own lists the packages of this module whose frames are never the user's.
var own = [...]string{"", "/array", "/internal/layers", "/internal/compose", "/internal/random", "/internal/userkernel", "/linalg", "/fft", "/dist", "/nn", "/nn/bert", "/serve/unified", "/serve/worker"}

func inPackage(f runtime.Frame, path string) bool {
	rest, ok := strings.CutPrefix(f.Function, path)
	return ok && strings.HasPrefix(rest, ".")
}

// generated reports whether the compiler made the function, as it does for a method
// that is promoted or used as a value.
func generated(f runtime.Frame) bool { return f.File == "<autogenerated>" }

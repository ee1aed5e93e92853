package device

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/internal/dynlib"
	"github.com/gpk-go/gpk/internal/nvrtc"
)

// Code is CUDA C++ to be compiled at run time for the device's compute capability.
type Code struct {
	Source  string
	Kernel  string   // the __global__ function: its extern "C" name, or a C++ name with its arguments, as in "scale<float>"
	File    string   // the source's name in messages; "" is "kernel.cu"
	Options []string // compiler options, besides the architecture
	Headers bool     // CUDA's own headers can be included, if they are installed beside the compiler
}

// key identifies the code within a process.
func (c *Code) key() [sha256.Size]byte {
	h := sha256.New()
	for _, s := range append([]string{c.Source, c.Kernel, c.File, fmt.Sprint(c.Headers)}, c.Options...) {
		fmt.Fprintf(h, "%d\n%s", len(s), s)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

func (c *Code) file() string {
	if c.File == "" {
		return "kernel.cu"
	}
	return c.File
}

// binaryImage is compiled code: a cubin, and the name of its kernel in it.
type binaryImage struct {
	name  string
	image []byte
}

// compiler is a library that compiles CUDA C++.
type compiler interface {
	// version is 13000 for 13.0.
	version() int
	// archs lists the compute capabilities that it supports.
	archs() []int
	// headers is the folder of CUDA's headers, "" if there is none.
	headers() string
	// compile also returns the compiler's log. An error in the source is errSource.
	compile(c *Code, options []string) (b binaryImage, log string, err error)
}

// errSource means that the source does not compile.
var errSource = errors.New("the source does not compile")

// CompileError reports that CUDA C++ did not compile: the compiler's log, and the first
// source line that it names. It is an ErrDevice.
type CompileError struct {
	Kernel string // the requested function
	Line   int    // line of the source, from 1; 0 if the compiler names none
	Text   string // that line
	Log    string // the compiler's whole output
}

// Error prints the log after the line that it names first.
func (e *CompileError) Error() string {
	if e == nil {
		return "a kernel that does not compile"
	}
	s := "kernel " + e.Kernel + " does not compile"
	if e.Line > 0 {
		s += fmt.Sprintf(": line %d: %s", e.Line, strings.TrimSpace(e.Text))
	}
	return s + "\n" + strings.TrimSpace(e.Log)
}

// Is makes the error an ErrDevice.
func (e *CompileError) Is(target error) bool { return target == ErrDevice }

// newCompileError finds the first line that the log names.
func newCompileError(c *Code, log string) *CompileError {
	e := &CompileError{Kernel: c.Kernel, Log: log}
	for line := range strings.Lines(log) {
		rest, ok := strings.CutPrefix(line, c.file()+"(")
		number, rest, closed := strings.Cut(rest, ")")
		n, err := strconv.Atoi(number)
		if !ok || !closed || err != nil || !strings.Contains(rest, "error") {
			continue
		}
		if lines := strings.Split(c.Source, "\n"); n >= 1 && n <= len(lines) {
			e.Line, e.Text = n, strings.TrimSuffix(lines[n-1], "\r")
		}
		break
	}
	return e
}

// compilerSearch searches for the run-time compiler, once.
type compilerSearch struct {
	candidates func() []cutlass.Candidate
	load       func(path string) (compiler, error)

	once  sync.Once
	found compiler
	tried []cutlass.Attempt
	err   error
}

func newCompilerSearch() *compilerSearch {
	return &compilerSearch{candidates: compilerPath, load: loadCompiler}
}

// compiler returns the first usable compiler. If there is none, the error is a nvrtc.Error.
func (s *compilerSearch) compiler() (compiler, error) {
	s.once.Do(func() {
		if err := cutlass.Built(); err != nil && s.found == nil {
			s.err = &nvrtc.Error{Err: err}
			return
		}
		for _, c := range s.candidates() {
			found, err := s.try(c)
			s.tried = append(s.tried, cutlass.Attempt{Path: c.Path, From: c.From, Err: err})
			if err == nil {
				s.found = found
				return
			}
		}
		s.err = &nvrtc.Error{Tried: s.tried}
	})
	return s.found, s.err
}

func (s *compilerSearch) try(c cutlass.Candidate) (compiler, error) {
	if c.Err != nil {
		return nil, c.Err
	}
	path, err := dynlib.Resolve(c.Path)
	if err != nil {
		return nil, err
	}
	return s.load(path)
}

// explain reports what was found and where, one fact per line.
func (s *compilerSearch) explain() (lines []string) {
	found, err := s.compiler()
	var missing *nvrtc.Error
	switch {
	case errors.As(err, &missing) && missing.Err != nil:
		return []string{"run-time compiler: " + missing.Err.Error()}
	case err != nil:
		lines = append(lines, "run-time compiler: none; chains of operations run one operation at a time")
	default:
		lines = append(lines, fmt.Sprintf("run-time compiler: NVRTC %d.%d", found.version()/1000, found.version()%1000/10))
	}
	for _, a := range s.tried {
		lines = append(lines, "run-time compiler: "+a.String())
	}
	return lines
}

// compilerNames are NVRTC's file names, of CUDA 13 and of CUDA 12. The first one that
// exists in a folder is used.
var compilerNames = []string{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}

// compilerPath lists the places to search for NVRTC, in order: GPK_NVRTC (a file or its
// folder), then the places of dynlib.Library. NVRTC is never opened by its bare name.
func compilerPath() []cutlass.Candidate {
	l := dynlib.Library{Name: "NVRTC", Files: compilerNames, Env: "GPK_NVRTC", Wheels: "cuda"}
	return l.Candidates()
}

// runtimeCompiler returns the file and version (13.0) of the library that compiles CUDA C++
// at run time. If there is none, the error says why and lists every place that was
// searched.
func runtimeCompiler() (path, version string, err error) { return current.compiler.describe() }

func (s *compilerSearch) describe() (path, version string, err error) {
	found, err := s.compiler()
	if err != nil {
		return "", "", err
	}
	if n := len(s.tried); n > 0 {
		path = s.tried[n-1].Path
	}
	return path, fmt.Sprintf("%d.%d", found.version()/1000, found.version()%1000/10), nil
}

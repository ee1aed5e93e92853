package dynlib

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/gpk-go/gpk/cutlass"
)

// Library says by which names a library is known, and where it is looked for.
type Library struct {
	Name   string   // as messages call it: cuFFT
	Files  []string // file names; of those in one folder the first counts
	Env    string   // the variable that names a file or its folder
	Wheels string   // the set of wheels that `gpk setup` unpacks for it
}

// Candidates lists where the library is looked for, in order: Env, beside the executable, the
// wheels that `gpk setup` unpacked, CUDA_HOME and CUDA_PATH, /usr/local/cuda*, the system's library
// folders. Every path is absolute.
func (l *Library) Candidates() []cutlass.Candidate {
	var list []cutlass.Candidate
	folder := func(from string, asked bool, dirs ...string) {
		for _, dir := range dirs {
			if abs, err := filepath.Abs(dir); err == nil {
				list = append(list, cutlass.Candidate{Path: l.in(abs), From: from, Asked: asked})
			}
		}
	}
	if p := os.Getenv(l.Env); l.Env != "" && p != "" {
		if abs, err := filepath.Abs(p); err == nil {
			p = abs
		}
		if IsFile(p) {
			list = append(list, cutlass.Candidate{Path: p, From: l.Env, Asked: true})
		} else {
			folder(l.Env, true, p)
		}
	}
	if exe, err := os.Executable(); err == nil {
		if exe, err = filepath.EvalSymlinks(exe); err == nil {
			folder("beside the executable", false, filepath.Dir(exe))
		}
	}
	if cache, err := cutlass.CacheDir(); err == nil {
		dirs, _ := filepath.Glob(filepath.Join(cache, "wheels", l.Wheels+"-*", "nvidia", "*", "lib"))
		if len(dirs) == 0 {
			dirs = []string{filepath.Join(cache, "wheels", l.Wheels, "lib")} // to say where
		}
		folder("the wheels of gpk setup", false, dirs...)
	} else {
		list = append(list, cutlass.Candidate{From: "the wheels of gpk setup", Err: err})
	}
	for _, name := range []string{"CUDA_HOME", "CUDA_PATH"} {
		if p := os.Getenv(name); p != "" {
			folder(name, false, filepath.Join(p, "lib64"))
		}
	}
	dirs, _ := filepath.Glob("/usr/local/cuda-*/lib64")
	slices.Sort(dirs)
	slices.Reverse(dirs) // newer ones first
	folder("the CUDA toolkit", false, append([]string{"/usr/local/cuda/lib64"}, dirs...)...)
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	folder("the system's libraries", false, "/usr/lib/"+machine+"-linux-gnu", "/usr/lib64", "/usr/lib")
	return list
}

// in returns the path of the library's first file that is in a folder, or that of its first name.
func (l *Library) in(dir string) string {
	for _, name := range l.Files {
		if p := filepath.Join(dir, name); IsFile(p) {
			return p
		}
	}
	return filepath.Join(dir, l.Files[0])
}

// Find calls load with the path of every candidate that is a whole library, until load returns nil.
// The error is a *NotFoundError.
func (l *Library) Find(load func(path string) error) error {
	if err := cutlass.Built(); err != nil {
		return &NotFoundError{Library: l, Err: err}
	}
	var tried []cutlass.Attempt
	for _, c := range l.Candidates() {
		err := c.Err
		if err == nil {
			err = try(c.Path, load)
		}
		if err == nil {
			return nil
		}
		tried = append(tried, cutlass.Attempt{Path: c.Path, From: c.From, Err: err})
	}
	return &NotFoundError{Library: l, Tried: tried}
}

func try(path string, load func(path string) error) error {
	resolved, err := Resolve(path)
	if err != nil {
		return err
	}
	return load(resolved)
}

// Resolve returns the file behind the links of a path, if it is a whole shared library of this machine.
func Resolve(path string) (resolved string, err error) {
	resolved, err = filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("not there")
	}
	if err != nil {
		return "", err
	}
	return resolved, Check(resolved)
}

// NotFoundError says why a library cannot be used: where it was looked for, and what was wrong
// there.
type NotFoundError struct {
	Library *Library
	Tried   []cutlass.Attempt
	Err     error // where it is not the search that failed
}

// Error lists the places that have the library, or says that none has.
func (e *NotFoundError) Error() string {
	if e == nil {
		return "no library"
	}
	if e.Err != nil {
		return "no " + e.Library.Name + ": " + e.Err.Error()
	}
	var reasons []string
	for _, a := range e.Tried {
		if a.Err != nil && a.Err.Error() != "not there" {
			reasons = append(reasons, a.String())
		}
	}
	s := e.Library.Name + " was not found"
	if len(reasons) > 0 {
		s = e.Library.Name + " cannot be used: " + strings.Join(reasons, "; ")
	}
	return fmt.Sprintf("%s; `gpk setup -with %s` installs it, %s names one that is elsewhere", s, e.Library.Wheels, e.Library.Env)
}

// Unwrap returns the reasons.
func (e *NotFoundError) Unwrap() []error {
	if e == nil {
		return nil
	}
	errs := []error{}
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	for _, a := range e.Tried {
		if a.Err != nil {
			errs = append(errs, a.Err)
		}
	}
	return errs
}

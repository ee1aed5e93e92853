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

// Library describes a library: its file names, and the places to search.
type Library struct {
	Name   string   // as messages call it: cuFFT
	Files  []string // file names; of those in one folder the first counts
	Env    string   // the variable that names a file or its folder
	Wheels string   // the set of wheels that `gpk setup` unpacks for it
}

// Candidates lists the places where the library is searched for, in order: Env, beside the executable,
// the wheels that `gpk setup` unpacked, CUDA_HOME and CUDA_PATH, /usr/local/cuda*, the system's library
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
			dirs = []string{filepath.Join(cache, "wheels", l.Wheels, "lib")} // listed so that the error names this place
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

// in returns the path of the library's first file that exists in a folder. If none exists, it returns
// the path of the first name.
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

// Resolve returns the path with links resolved, if it is a complete shared library for this machine.
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

// NotFoundError lists the places that were searched for a library, and the error of each.
type NotFoundError struct {
	Library *Library
	Tried   []cutlass.Attempt
	Err     error // set if the error is not that of the search
}

// Error lists the places that contain the library, or says that none does.
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

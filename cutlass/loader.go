package cutlass

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// OpenOptions are the options of Open. The zero value is the usual search.
type OpenOptions struct {
	Candidates []Candidate  // nil: SearchPath()
	Logger     *slog.Logger // nil: slog.Default()
}

// Candidate is a possible location of the library.
type Candidate struct {
	Path  string // the library's file
	From  string // the rule that names it: "GPK_LIB", "the user's cache", …
	Asked bool   // set by the user: a warning reports its absence too
	Err   error  // the reason why the location is unknown; Path is then empty

	Embedded *Prebuilt // kernels in the program; Path is then the module's path
}

// Attempt is a candidate that Open tried; Err is nil for the one that was loaded.
type Attempt struct {
	Path, From string
	Err        error
}

// String returns one line: path, rule and result.
func (a Attempt) String() string {
	what := "used"
	if a.Err != nil {
		what = reason(a.Err)
	}
	if a.Path == "" {
		return a.From + ": " + what
	}
	return fmt.Sprintf("%s (%s): %s", a.Path, a.From, what)
}

// reason returns an attempt's error without the path, which is printed beside it.
func reason(err error) string {
	if e, ok := errors.AsType[*LibraryError](err); ok {
		return e.Reason
	}
	return err.Error()
}

// NotFoundError is Open's error if no library can be used. It wraps ErrNoLibrary and every
// attempt's error.
type NotFoundError struct{ Tried []Attempt }

func (e *NotFoundError) Error() string {
	var b strings.Builder
	b.WriteString(ErrNoLibrary.Error())
	for _, a := range e.Tried {
		b.WriteString("; ")
		b.WriteString(a.String())
	}
	b.WriteString("; build it with `gpk setup`")
	return b.String()
}

// Unwrap returns ErrNoLibrary and the attempts' errors.
func (e *NotFoundError) Unwrap() []error {
	errs := []error{ErrNoLibrary}
	for _, a := range e.Tried {
		errs = append(errs, a.Err)
	}
	return errs
}

// Open loads the first usable library of the search path. If there is none, the error is a
// NotFoundError; in a program without CUDA parts, ErrNotBuilt. A library that exists but
// cannot be used is skipped with one warning.
func Open(opt OpenOptions) (*Library, error) {
	if err := Built(); err != nil {
		return nil, err
	}
	log := opt.Logger
	if log == nil {
		log = slog.Default()
	}
	candidates := opt.Candidates
	if candidates == nil {
		candidates = SearchPath()
	}
	var tried []Attempt
	for _, c := range candidates {
		lib, err := c.open()
		tried = append(tried, Attempt{Path: c.Path, From: c.From, Err: err})
		switch {
		case err == nil:
			lib.tried = tried
			if lib.kernelSet != KernelSetHash() {
				log.Warn("gpk: the kernel library was built from other sources than this program's; `gpk setup` builds the right one",
					"path", lib.path, "library", lib.kernelSet, "program", KernelSetHash())
			}
			return lib, nil
		case c.Path != "" && (c.Asked || !errors.Is(err, fs.ErrNotExist)):
			log.Warn("gpk: kernel library passed over", "path", c.Path, "from", c.From, "reason", reason(err))
		}
	}
	return nil, &NotFoundError{Tried: tried}
}

// SearchPath lists the places where Open looks, in order: GPK_LIB (a file or its folder),
// beside the executable, kernels in the program (Register), the user's cache, the system's
// library folders.
func SearchPath() []Candidate {
	var list []Candidate
	if p := os.Getenv("GPK_LIB"); p != "" {
		c := Candidate{Path: p, From: "GPK_LIB", Asked: true}
		if abs, err := filepath.Abs(p); err == nil {
			c.Path = abs // dlopen would search the system's folders for a name without a slash
		}
		if info, err := os.Stat(c.Path); err == nil && info.IsDir() {
			c.Path = filepath.Join(c.Path, LibraryName)
		}
		list = append(list, c)
	}
	list = append(list, beside("beside the executable", func() (string, error) {
		exe, err := os.Executable()
		if err != nil {
			return "", err
		}
		if exe, err = filepath.EvalSymlinks(exe); err != nil {
			return "", err
		}
		return filepath.Dir(exe), nil
	}))
	list = append(list, embedded()...)
	list = append(list, beside("the user's cache", LibraryDir))
	for _, dir := range []string{"/usr/local/lib/gpk", "/usr/lib/gpk", "/usr/local/lib", "/usr/lib"} {
		list = append(list, Candidate{Path: filepath.Join(dir, LibraryName), From: "the system's libraries"})
	}
	return list
}

func beside(from string, folder func() (string, error)) Candidate {
	dir, err := folder()
	if err != nil {
		return Candidate{From: from, Err: err}
	}
	return Candidate{Path: filepath.Join(dir, LibraryName), From: from}
}

// CacheDir returns gpk's cache folder: GPK_CACHE, otherwise gpk in the user's cache folder.
// It may not exist.
func CacheDir() (string, error) {
	if dir := os.Getenv("GPK_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache folder: %w; set GPK_CACHE", err)
	}
	return filepath.Join(dir, "gpk"), nil
}

// LibraryDir returns the folder in CacheDir for the library with this program's ABI and
// kernel set.
func LibraryDir() (string, error) {
	dir, err := CacheDir()
	if err != nil {
		return "", err
	}
	return LibraryDirIn(dir), nil
}

// LibraryDirIn is LibraryDir for a given cache folder.
func LibraryDirIn(cache string) string {
	return filepath.Join(cache, "lib", fmt.Sprintf("abi%d-%s", ABI, KernelSetHash()))
}

// open checks the candidate, loads it, and checks the properties that it reports.
func (c Candidate) open() (*Library, error) {
	if c.Err != nil {
		return nil, c.Err
	}
	if c.Embedded != nil {
		return c.Embedded.open()
	}
	path, sidecar, err := Check(c.Path)
	if err != nil {
		return nil, err
	}
	lib, err := load(path)
	if err != nil {
		return nil, err
	}
	lib.path, lib.sidecar = path, sidecar
	if err := lib.matches(SidecarName + " beside it"); err != nil {
		return nil, err
	}
	return lib, nil
}

// matches compares the properties that the library reports with its description.
func (l *Library) matches(description string) error {
	if l.kernelSet != l.sidecar.KernelSet || l.cuda != l.sidecar.CUDA {
		return &LibraryError{l.path, fmt.Sprintf("the library says kernel set %s and CUDA %d, %s %s and %d; run `gpk setup`",
			l.kernelSet, l.cuda, description, l.sidecar.KernelSet, l.sidecar.CUDA), ErrDamaged}
	}
	return nil
}

// Check examines a library without loading it: it has to be a shared library for this
// machine, complete and unaltered since setup wrote it, and of this program's ABI. It
// returns the path with links resolved (setup's description is beside the file itself). Its
// errors are *LibraryError.
func Check(path string) (resolved string, s Sidecar, err error) {
	return check(path, described{
		at:  func(resolved string) string { return filepath.Join(filepath.Dir(resolved), SidecarName) },
		abi: ABI, remedy: "run `gpk setup`", copy: "run `gpk setup`, or copy the file along with the library",
	})
}

// described specifies where a library's description is, and the remedies for a library that
// does not match it.
type described struct {
	at           func(resolved string) string // the file of the description
	abi          int
	remedy, copy string // if the library, or its description, is at fault
}

func check(path string, d described) (resolved string, s Sidecar, err error) {
	fail := func(kind error, format string, args ...any) (string, Sidecar, error) {
		return "", Sidecar{}, &LibraryError{path, fmt.Sprintf(format, args...), kind}
	}
	resolved, err = filepath.EvalSymlinks(path)
	if err != nil {
		if _, lerr := os.Lstat(path); lerr == nil {
			return fail(ErrForeign, "a link that leads nowhere: %v", err)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return fail(fs.ErrNotExist, "not there")
		}
		return fail(err, "%v", err)
	}
	info, err := os.Stat(resolved)
	if err != nil {
		return fail(err, "%v", err)
	}
	if !info.Mode().IsRegular() { // opening a pipe would block
		return fail(ErrForeign, "not a file but %s", info.Mode().Type())
	}
	file, err := os.Open(resolved)
	if err != nil {
		return fail(err, "%v", err)
	}
	defer file.Close()
	if why := foreign(file); why != "" {
		return fail(ErrForeign, "%s", why)
	}
	sidecar := d.at(resolved)
	if s, err = readSidecar(sidecar); err != nil {
		return fail(ErrSidecar, "%v; %s", err, d.copy)
	}
	sidecar = filepath.Base(sidecar)
	if s.ABI != d.abi {
		return fail(ErrABI, "built for version %d of the kernel ABI, this program needs %d; %s of this version", s.ABI, d.abi, d.remedy)
	}
	if info.Size() != s.Size {
		return fail(ErrDamaged, "%d bytes long where %s says %d: incomplete or replaced; %s", info.Size(), sidecar, s.Size, d.remedy)
	}
	sum, err := hash(file)
	if err != nil {
		return fail(err, "%v", err)
	}
	if sum != s.SHA256 {
		return fail(ErrDamaged, "SHA-256 %s where %s says %s: damaged or replaced; %s", sum, sidecar, s.SHA256, d.remedy)
	}
	return resolved, s, nil
}

// foreign returns the reason why the file is not a 64-bit shared library for this machine,
// or "" if it is one. It reads the header of section 4 of the ELF specification: magic,
// class and byte order, then at 16 type and at 18 machine.
func foreign(file io.ReaderAt) string {
	header := make([]byte, 20)
	if n, err := io.ReadFull(io.NewSectionReader(file, 0, 20), header); err != nil {
		return fmt.Sprintf("not a shared library: only %d bytes long", n)
	}
	want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
	if string(header[:4]) != elf.ELFMAG {
		return "not a shared library (no ELF header)"
	}
	if c := elf.Class(header[4]); c != elf.ELFCLASS64 {
		return fmt.Sprintf("a library of another machine (%s)", c)
	}
	if d := elf.Data(header[5]); d != elf.ELFDATA2LSB {
		return fmt.Sprintf("a library of another machine (%s)", d)
	}
	machine := elf.Machine(uint16(header[18]) | uint16(header[19])<<8)
	if machine != want {
		return fmt.Sprintf("a library of another machine: %s, this program is %s", machine, want)
	}
	if t := elf.Type(uint16(header[16]) | uint16(header[17])<<8); t != elf.ET_DYN {
		return fmt.Sprintf("not a shared library but %s", t)
	}
	return ""
}

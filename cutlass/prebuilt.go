package cutlass

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"strings"
	"sync"
)

// ErrKernelSet is the error for prebuilt kernels that were made from other sources than
// those of this program.
var ErrKernelSet = errors.New("kernels of another gpk version")

// Prebuilt is a kernel library with its companions and their descriptions, as stored in a
// kernel module.
type Prebuilt struct {
	Module      string // the module's path, for messages
	Library     string // libgpk.so, compressed by gzip
	Description string // a Sidecar as JSON
	Companions  []PrebuiltCompanion
}

// PrebuiltCompanion is the library of a companion.
type PrebuiltCompanion struct{ Name, Library, Description string }

// The files of libgpk.so in a kernel module.
const (
	PrebuiltLibrary     = LibraryName + ".gz"
	PrebuiltDescription = SidecarName
)

// PrebuiltCompanionFiles returns the files of a companion in a kernel module.
func PrebuiltCompanionFiles(name string) (library, description string) {
	file := CompanionLibrary(name)
	return file + ".gz", KernelLibrarySidecar(file)
}

// PrebuiltModule returns the path of the module with the kernels for one target (80, 86,
// 89, 90a) and this machine's architecture: amd64, or arm64 with a suffix.
func PrebuiltModule(arch string) string {
	path := "github.com/gpk-go/gpk-kernels/sm" + arch
	if runtime.GOARCH != "amd64" {
		path += "-" + runtime.GOARCH
	}
	return path
}

// PrebuiltVersion returns the version of the kernel modules that match this program. It
// contains the ABI and the hash of the kernel set, so that kernels from other sources have
// another version.
func PrebuiltVersion() string { return fmt.Sprintf("v0.%d.0-k%s", ABI, KernelSetHash()) }

var registered struct {
	sync.Mutex
	list []Prebuilt
}

// Register adds kernels that are part of the program to the places where Open looks. Kernel
// modules call it when they are imported. Register checks nothing: Open does, and skips
// kernels that cannot be used.
func Register(p Prebuilt) {
	registered.Lock()
	defer registered.Unlock()
	registered.list = append(registered.list, p)
}

// embedded lists the registered kernels as candidates.
func embedded() []Candidate {
	registered.Lock()
	defer registered.Unlock()
	var list []Candidate
	for i := range registered.list {
		p := registered.list[i]
		list = append(list, Candidate{Path: p.Module, From: "in the program", Asked: true, Embedded: &p})
	}
	return list
}

// Unpack decompresses libgpk.so and checks it: it has to be complete and unaltered, of
// this program's ABI and kernel set, and a shared library for this machine. Its errors are
// *LibraryError.
func (p Prebuilt) Unpack() ([]byte, Sidecar, error) {
	return p.unpack(p.Library, p.Description, ABI)
}

const compileHere = "run `gpk setup -compile` to build the kernels here"

// UnpackCompanion is Unpack for a companion, whose ABI is KernelsABI.
func (p Prebuilt) UnpackCompanion(name string) ([]byte, Sidecar, error) {
	for _, c := range p.Companions {
		if c.Name == name {
			return p.unpack(c.Library, c.Description, KernelsABI)
		}
	}
	return nil, Sidecar{}, &LibraryError{p.Module, fmt.Sprintf("it lacks %s; %s", CompanionLibrary(name), compileHere), fs.ErrNotExist}
}

// unpack decompresses and checks one library.
func (p Prebuilt) unpack(packed, description string, abi int) ([]byte, Sidecar, error) {
	fail := func(kind error, format string, args ...any) ([]byte, Sidecar, error) {
		return nil, Sidecar{}, &LibraryError{p.Module, fmt.Sprintf(format, args...), kind}
	}
	var s Sidecar
	err := json.Unmarshal([]byte(description), &s)
	if err == nil {
		err = s.valid()
	}
	if err != nil {
		return fail(ErrSidecar, "its description cannot be used: %v; %s", err, compileHere)
	}
	if s.ABI != abi || s.KernelSet != KernelSetHash() {
		return fail(ErrKernelSet, "it holds kernel set %s (ABI %d), this program needs %s (ABI %d); take version %s of the module, or %s",
			s.KernelSet, s.ABI, KernelSetHash(), abi, PrebuiltVersion(), compileHere)
	}
	if s.Size > maxPrebuilt {
		return fail(ErrDamaged, "its description says %d bytes, more than the %d that a library may have; %s", s.Size, int64(maxPrebuilt), compileHere)
	}
	z, err := gzip.NewReader(strings.NewReader(packed))
	if err != nil {
		return fail(ErrDamaged, "the library in it is damaged: %v; %s", err, compileHere)
	}
	library, err := io.ReadAll(io.LimitReader(z, s.Size+1))
	if err != nil {
		return fail(ErrDamaged, "the library in it is damaged: %v; %s", err, compileHere)
	}
	if n := int64(len(library)); n != s.Size {
		return fail(ErrDamaged, "the library in it has not the %d bytes of its description: incomplete or replaced; %s", s.Size, compileHere)
	}
	sum, err := hash(bytes.NewReader(library))
	if err != nil {
		return fail(err, "%v", err)
	}
	if sum != s.SHA256 {
		return fail(ErrDamaged, "the library in it has SHA-256 %s, its description says %s: damaged or replaced; %s", sum, s.SHA256, compileHere)
	}
	if why := foreign(bytes.NewReader(library)); why != "" {
		return fail(ErrForeign, "%s; %s", why, compileHere)
	}
	return library, s, nil
}

// maxPrebuilt bounds the memory that an embedded library may take.
const maxPrebuilt = 1 << 30

// open checks registered kernels and loads them from memory.
func (p Prebuilt) open() (*Library, error) {
	bytes, s, err := p.Unpack()
	if err != nil {
		return nil, err
	}
	path, err := inMemory(LibraryName, bytes)
	if err != nil {
		return nil, &LibraryError{p.Module, fmt.Sprintf("the library cannot be put into memory: %v; `gpk setup` puts it into the cache", err), ErrLoad}
	}
	lib, err := load(path)
	if err != nil {
		return nil, &LibraryError{p.Module, reason(err), err}
	}
	lib.path, lib.sidecar, lib.prebuilt = p.Module, s, &p
	if err := lib.matches("its description"); err != nil {
		return nil, err
	}
	return lib, nil
}

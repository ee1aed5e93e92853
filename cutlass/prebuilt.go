package cutlass

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
)

// ErrKernelSet is the error for prebuilt kernels that were made from other sources than
// those of this program.
var ErrKernelSet = errors.New("kernels of another gpk version")

// Prebuilt is a kernel library with its description, as stored in a kernel module.
type Prebuilt struct {
	Module      string // the module's path, for messages
	Library     string // libgpk.so, compressed by gzip
	Description string // a Sidecar as JSON
}

// The files of a kernel module.
const (
	PrebuiltLibrary     = LibraryName + ".gz"
	PrebuiltDescription = SidecarName
)

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

// Unpack decompresses the library and checks it: it has to be complete and unaltered, of
// this program's ABI and kernel set, and a shared library for this machine. Its errors are
// *LibraryError.
func (p Prebuilt) Unpack() ([]byte, Sidecar, error) {
	fail := func(kind error, format string, args ...any) ([]byte, Sidecar, error) {
		return nil, Sidecar{}, &LibraryError{p.Module, fmt.Sprintf(format, args...), kind}
	}
	const compile = "run `gpk setup -compile` to build the kernels here"
	var s Sidecar
	err := json.Unmarshal([]byte(p.Description), &s)
	if err == nil {
		err = s.valid()
	}
	if err != nil {
		return fail(ErrSidecar, "its description cannot be used: %v; %s", err, compile)
	}
	if s.ABI != ABI || s.KernelSet != KernelSetHash() {
		return fail(ErrKernelSet, "it holds kernel set %s (ABI %d), this program needs %s (ABI %d); take version %s of the module, or %s",
			s.KernelSet, s.ABI, KernelSetHash(), ABI, PrebuiltVersion(), compile)
	}
	if s.Size > maxPrebuilt {
		return fail(ErrDamaged, "its description says %d bytes, more than the %d that a library may have; %s", s.Size, int64(maxPrebuilt), compile)
	}
	z, err := gzip.NewReader(strings.NewReader(p.Library))
	if err != nil {
		return fail(ErrDamaged, "the library in it is damaged: %v; %s", err, compile)
	}
	library, err := io.ReadAll(io.LimitReader(z, s.Size+1))
	if err != nil {
		return fail(ErrDamaged, "the library in it is damaged: %v; %s", err, compile)
	}
	if n := int64(len(library)); n != s.Size {
		return fail(ErrDamaged, "the library in it has not the %d bytes of its description: incomplete or replaced; %s", s.Size, compile)
	}
	sum, err := hash(bytes.NewReader(library))
	if err != nil {
		return fail(err, "%v", err)
	}
	if sum != s.SHA256 {
		return fail(ErrDamaged, "the library in it has SHA-256 %s, its description says %s: damaged or replaced; %s", sum, s.SHA256, compile)
	}
	if why := foreign(bytes.NewReader(library)); why != "" {
		return fail(ErrForeign, "%s; %s", why, compile)
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
	path, err := inMemory(bytes)
	if err != nil {
		return nil, &LibraryError{p.Module, fmt.Sprintf("the library cannot be put into memory: %v; `gpk setup` puts it into the cache", err), ErrLoad}
	}
	lib, err := load(path)
	if err != nil {
		return nil, &LibraryError{p.Module, reason(err), err}
	}
	lib.path, lib.sidecar = p.Module, s
	if err := lib.matches("its description"); err != nil {
		return nil, err
	}
	return lib, nil
}

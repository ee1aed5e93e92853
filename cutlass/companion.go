package cutlass

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Companion is a library of kernels that belongs to the kernel set besides libgpk.so. It has
// the interface of device/kernels/gpk_kernels.h. Another package has its sources and launches
// its kernels; `gpk setup` compiles it along with libgpk.so and puts it into the same folder.
type Companion struct {
	Name    string            // quantum: the library is libgpk_quantum.so, and its entries begin with quantum_
	Sources map[string]string // texts by file name; those ending in .cu are its units. They may include the headers of src
	WGMMA   map[string]int    // by unit: how many of its kernels have wgmma instructions on sm_90a
}

// Units lists the companion's translation units by name. Each is for every requested target.
func (c Companion) Units() []Unit {
	var us []Unit
	for _, f := range slices.Sorted(maps.Keys(c.Sources)) {
		if name, ok := strings.CutSuffix(f, path.Ext(f)); ok && path.Ext(f) == ".cu" {
			us = append(us, Unit{Name: c.Name + "_" + name, File: f, Companion: c.Name, text: c.Sources[f]})
		}
	}
	return us
}

// Digest identifies the sources: the first 16 hexadecimal digits of SHA-256 over names and
// texts.
func (c Companion) Digest() string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(c.Sources)) {
		fmt.Fprintf(h, "%s %d\n%s", name, len(c.Sources[name]), c.Sources[name])
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// companions lists the companions of the kernel set, one a line: name and digest. It is part
// of KernelSetHash, so that a folder of the cache belongs to one state of all sources. A
// program has it without the sources themselves, which packages above this one own. go
// generate writes it.
//
//go:embed companions.txt
var companions string

// Companions returns the names of the companions of the kernel set.
func Companions() []string {
	var names []string
	for line := range strings.Lines(companions) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		names = append(names, name)
	}
	return names
}

// CompanionDigest returns the digest of a companion in the kernel set, or "" if the set has no
// such companion.
func CompanionDigest(name string) string {
	for line := range strings.Lines(companions) {
		if digest, ok := strings.CutPrefix(strings.TrimSpace(line), name+" "); ok {
			return digest
		}
	}
	return ""
}

// CompanionLibrary returns the file name of a companion's library: libgpk_quantum.so.
func CompanionLibrary(name string) string { return "libgpk_" + name + ".so" }

// CheckCompanion is Check for the library of a companion, whose ABI is KernelsABI.
func CheckCompanion(path string) (resolved string, s Sidecar, err error) {
	resolved, s, err = check(path, described{
		at: KernelLibrarySidecar, abi: KernelsABI, remedy: "run `gpk setup`", copy: "run `gpk setup`, or copy the file along with the library",
	})
	if errors.Is(err, fs.ErrNotExist) {
		why := "not there; run `gpk setup`, which builds it beside " + LibraryName + " in the cache, or copy both libraries and their descriptions from there"
		if name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "libgpk_"), ".so"); !slices.Contains(Companions(), name) {
			why = fmt.Sprintf("not there, and the kernel set has no companion %q; it has: %s", name, strings.Join(Companions(), ", "))
		}
		err = &LibraryError{path, why, fs.ErrNotExist}
	}
	return resolved, s, err
}

// OpenCompanion loads a companion of the kernel set from the folder of l, or from the kernels
// in the program if l is one of them. The companion has to be complete and unaltered, of this
// program's kernel set, and of the same build as l. Its errors are *LibraryError, which names
// the file and the remedy; in a program without CUDA parts, ErrNotBuilt.
func (l *Library) OpenCompanion(name string) (*KernelLibrary, error) {
	if err := Built(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if c, ok := l.opened[name]; ok {
		return c.library, c.err
	}
	open := l.openCompanionFile
	if l.prebuilt != nil {
		open = l.openPrebuiltCompanion
	}
	k, err := open(name)
	if err == nil || l.prebuilt != nil { // a file may be repaired, the program's own bytes may not
		if l.opened == nil {
			l.opened = map[string]openedCompanion{}
		}
		l.opened[name] = openedCompanion{k, err}
	}
	return k, err
}

// openedCompanion is the result of an OpenCompanion that is not repeated.
type openedCompanion struct {
	library *KernelLibrary
	err     error
}

// openCompanionFile loads a companion from the folder of l.
func (l *Library) openCompanionFile(name string) (*KernelLibrary, error) {
	if name != filepath.Base(name) {
		return nil, &LibraryError{l.path, fmt.Sprintf("%q is no name of a companion; there are: %s", name, strings.Join(Companions(), ", ")), fs.ErrNotExist}
	}
	file, s, err := CheckCompanion(filepath.Join(filepath.Dir(l.path), CompanionLibrary(name)))
	if err != nil {
		return nil, err
	}
	const remedy = "run `gpk setup`, or copy both libraries and their descriptions from one build"
	if err := l.sameBuild(file, s, remedy); err != nil {
		return nil, err
	}
	if s.KernelSet != KernelSetHash() { // the structures of arguments may differ
		return nil, &LibraryError{file, fmt.Sprintf("built from other sources (kernel set %s) than this program (%s); %s", s.KernelSet, KernelSetHash(), remedy), ErrKernelSet}
	}
	return loadKernelLibrary(file)
}

// openPrebuiltCompanion loads a companion from memory.
func (l *Library) openPrebuiltCompanion(name string) (*KernelLibrary, error) {
	library, s, err := l.prebuilt.UnpackCompanion(name)
	if err != nil {
		return nil, err
	}
	if err := l.sameBuild(l.path, s, "take all of it from one version of the module"); err != nil {
		return nil, err
	}
	file := CompanionLibrary(name)
	at, err := inMemory(file, library)
	if err != nil {
		return nil, &LibraryError{l.path, fmt.Sprintf("%s cannot be put into memory: %v; `gpk setup` puts it into the cache", file, err), ErrLoad}
	}
	k, err := loadKernelLibrary(at)
	if err != nil {
		return nil, &LibraryError{l.path, file + ": " + reason(err), err}
	}
	k.path = l.path
	return k, nil
}

// sameBuild compares the description of a companion at path with that of l.
func (l *Library) sameBuild(path string, s Sidecar, remedy string) error {
	if s.SameBuild(l.sidecar) {
		return nil
	}
	return &LibraryError{path, fmt.Sprintf("kernel set %s, CUDA %d, for %s, where %s has %s, %d, %s: they come from different builds; %s", s.KernelSet, s.CUDA,
		strings.Join(s.Archs, " "), l.path, l.kernelSet, l.cuda, strings.Join(l.sidecar.Archs, " "), remedy), ErrDamaged}
}

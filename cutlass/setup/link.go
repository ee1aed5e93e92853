package setup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gpk-go/gpk/cutlass"
)

// linkFlags: the library contains cudart and the C++ library and exports only the symbols
// of exports. A kernel that no unit defines is an error at link time, not when a user opens
// the library.
var linkFlags = []string{
	"-shared", "-cudart=static",
	"-Xlinker=--exclude-libs", "-Xlinker=ALL", "-Xlinker=-z", "-Xlinker=defs", "-Xlinker=--strip-all",
}

// exports returns the linker's version script for the library of a companion ("": libgpk.so). It
// keeps inline functions of the C++ library, which are visible in every object, from being
// resolved to another copy in the process.
func exports(companion string) string {
	global := "gpk_*"
	if companion != "" {
		global = "gpk_kernels_*; " + companion + "_*"
	}
	return "{ global: " + global + "; local: *; };\n"
}

// linkAll links the companions and libgpk.so, and then gives them their names in the cache,
// libgpk.so last. A failed link changes nothing there, and a run that is killed between the
// renames in an empty cache leaves no libgpk.so without its companions.
func (b *builder) linkAll(ctx context.Context, units []cutlass.Unit, res *Result) error {
	registry := &text{
		name: "registry", source: cutlass.RegistrySource(units), work: 1,
		flags: slices.Concat(baseFlags, []string{"-DGPK_KERNEL_SET=" + cutlass.KernelSetHash()}),
	}
	if err := b.compileAll(ctx, []*text{registry}); err != nil {
		return err
	}
	var all []*linked
	for _, c := range b.Companions {
		all = append(all, &linked{library: companionFile(b.Cache, c.Name), companion: c.Name})
	}
	res.Library = filepath.Join(cutlass.LibraryDirIn(b.Cache), cutlass.LibraryName)
	core := &linked{library: res.Library, objects: []string{registry.object}}
	all = append(all, core)
	for _, l := range all {
		if err := b.link(ctx, l, res.Units); err != nil {
			return err
		}
	}
	res.Current = true
	for _, l := range all {
		if l.current {
			continue
		}
		res.Current = false
		if err := b.place(l.temp, l.library, l.companion, l.sidecar); err != nil {
			return err
		}
	}
	res.Sidecar = core.sidecar
	return nil
}

// linked is a library that link makes.
type linked struct {
	library   string   // its file in the cache
	companion string   // its name; "" for libgpk.so
	objects   []string // besides those of its units

	sidecar cutlass.Sidecar
	current bool   // the cache already has it
	temp    string // the file before it is placed
}

// companionFile returns the file of a companion's library in a cache.
func companionFile(cache, name string) string {
	return filepath.Join(cutlass.LibraryDirIn(cache), cutlass.CompanionLibrary(name))
}

// checkLibrary is cutlass.Check for the library of a companion, or for libgpk.so.
func checkLibrary(library, companion string) (s cutlass.Sidecar, err error) {
	check := cutlass.Check
	if companion != "" {
		check = cutlass.CheckCompanion
	}
	_, s, err = check(library)
	return s, err
}

// link makes a library of its objects and units, and its description, unless the cache already
// has it. place gives it its name.
func (b *builder) link(ctx context.Context, l *linked, units []UnitResult) error {
	flags, exports, objects := linkFlags, exports(l.companion), l.objects
	if hasStaticLibrary(ctx) {
		flags = append(slices.Clone(flags), "-Xcompiler=-static-libstdc++,-static-libgcc")
	}
	sidecar := cutlass.Sidecar{ABI: cutlass.ABI, KernelSet: cutlass.KernelSetHash(), CUDA: b.tools.cuda, Archs: b.Archs}
	if l.companion != "" {
		sidecar.ABI = cutlass.KernelsABI
	}
	for _, u := range units {
		if u.Unit.Companion == l.companion {
			objects = append(objects, u.Object)
			sidecar.Units = append(sidecar.Units, u.Unit.Name)
		}
	}
	sum := sha256.New()
	for _, o := range objects {
		fmt.Fprintln(sum, filepath.Base(o))
	}
	fmt.Fprint(sum, strings.Join(flags, "\n"), exports)
	sidecar.Inputs = hex.EncodeToString(sum.Sum(nil))

	if old, err := checkLibrary(l.library, l.companion); err == nil && old.Inputs == sidecar.Inputs {
		l.sidecar, l.current = old, true
		return nil
	}
	b.progress.say("linking %s", l.library)
	l.temp = filepath.Join(b.temp, filepath.Base(l.library))
	script := filepath.Join(b.temp, "exports.txt")
	if err := os.WriteFile(script, []byte(exports), 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, b.tools.nvcc, slices.Concat(flags, []string{"-Xlinker=--version-script=" + script, "-o", l.temp}, objects)...)
	cmd.Env = b.environment()
	if out, err := output(cmd); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return b.compileError(filepath.Base(l.library), out, err)
	}
	if err := os.Chmod(l.temp, 0o700); err != nil {
		return err
	}
	if err := sidecar.Measure(l.temp); err != nil {
		return err
	}
	l.sidecar = sidecar
	return nil
}

// place gives a complete library and its description their names in the cache.
func (b *builder) place(temp, library, companion string, sidecar cutlass.Sidecar) error {
	description, err := json.MarshalIndent(sidecar, "", "  ")
	if err != nil {
		return err
	}
	tempSidecar := cutlass.KernelLibrarySidecar(temp)
	if err := os.WriteFile(tempSidecar, append(description, '\n'), 0o600); err != nil {
		return err
	}
	// Between the two renames, library and description do not match. Then the library
	// cannot be opened, and the next run makes both again.
	if err := finish(temp, library); err != nil {
		return err
	}
	if err := finish(tempSidecar, cutlass.KernelLibrarySidecar(library)); err != nil {
		return err
	}
	if _, err = checkLibrary(library, companion); err != nil {
		return fmt.Errorf("the library just made: %w", err)
	}
	return nil
}

// hasStaticLibrary reports whether g++ has a static C++ library, which some distributions
// package separately.
func hasStaticLibrary(ctx context.Context) bool {
	out, err := exec.CommandContext(ctx, "g++", "-print-file-name=libstdc++.a").Output()
	return err == nil && filepath.IsAbs(strings.TrimSpace(string(out)))
}

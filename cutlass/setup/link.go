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

// exports is the linker's version script. It keeps inline functions of the C++ library,
// which are visible in every object, from being resolved to another copy in the process.
const exports = "{ global: gpk_*; local: *; };\n"

// link makes the library of all units, with its description, unless the cache already has
// it.
func (b *builder) link(ctx context.Context, units []cutlass.Unit, res *Result) error {
	registry := &text{
		name: "registry", source: cutlass.RegistrySource(units), work: 1,
		flags: slices.Concat(baseFlags, []string{"-DGPK_KERNEL_SET=" + cutlass.KernelSetHash()}),
	}
	if err := b.compileAll(ctx, []*text{registry}); err != nil {
		return err
	}
	flags := linkFlags
	if hasStaticLibrary(ctx) {
		flags = append(slices.Clone(flags), "-Xcompiler=-static-libstdc++,-static-libgcc")
	}
	objects := []string{registry.object}
	sidecar := cutlass.Sidecar{ABI: cutlass.ABI, KernelSet: cutlass.KernelSetHash(), CUDA: b.tools.cuda, Archs: b.Archs}
	for _, u := range res.Units {
		objects = append(objects, u.Object)
		sidecar.Units = append(sidecar.Units, u.Unit.Name)
	}
	sum := sha256.New()
	for _, o := range objects {
		fmt.Fprintln(sum, filepath.Base(o))
	}
	fmt.Fprint(sum, strings.Join(flags, "\n"), exports)
	sidecar.Inputs = hex.EncodeToString(sum.Sum(nil))

	library := filepath.Join(cutlass.LibraryDirIn(b.Cache), cutlass.LibraryName)
	res.Library = library
	if _, old, err := cutlass.Check(library); err == nil && old.Inputs == sidecar.Inputs {
		res.Sidecar, res.Current = old, true
		return nil
	}
	b.progress.say("linking %s", library)
	temp, script := filepath.Join(b.temp, cutlass.LibraryName), filepath.Join(b.temp, "exports.txt")
	if err := os.WriteFile(script, []byte(exports), 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, b.tools.nvcc, slices.Concat(flags, []string{"-Xlinker=--version-script=" + script, "-o", temp}, objects)...)
	cmd.Env = b.environment()
	if out, err := output(cmd); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return b.compileError(cutlass.LibraryName, out, err)
	}
	if err := os.Chmod(temp, 0o700); err != nil {
		return err
	}
	if err := sidecar.Measure(temp); err != nil {
		return err
	}
	if err := b.place(temp, library, sidecar); err != nil {
		return err
	}
	res.Sidecar = sidecar
	return nil
}

// place gives a complete library and its description their names in the cache.
func (b *builder) place(temp, library string, sidecar cutlass.Sidecar) error {
	description, err := json.MarshalIndent(sidecar, "", "  ")
	if err != nil {
		return err
	}
	tempSidecar := filepath.Join(b.temp, cutlass.SidecarName)
	if err := os.WriteFile(tempSidecar, append(description, '\n'), 0o600); err != nil {
		return err
	}
	// Between the two renames, library and description do not match. Then the library
	// cannot be opened, and the next run makes both again.
	if err := finish(temp, library); err != nil {
		return err
	}
	if err := finish(tempSidecar, filepath.Join(filepath.Dir(library), cutlass.SidecarName)); err != nil {
		return err
	}
	if _, _, err = cutlass.Check(library); err != nil {
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

package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gpk-go/gpk/cutlass"
)

// Options says what Run builds. The zero value is the usual build.
type Options struct {
	Archs     []string  // 80, 86, 89, 90a; nil: those of the GPUs here, else 90a
	Units     []string  // compile only these, and link no library; nil: all for Archs
	Cache     string    // "": cutlass.CacheDir()
	WheelsDir string    // a folder that has every wheel: no network is used
	NVCC      string    // the compiler; "": the one found, else NVIDIA's wheels
	Jobs      int       // compilers at once; 0: DefaultJobs()
	With      []string  // libraries to install beside the kernels: see Extras
	Compile   bool      // take no prebuilt kernels
	CheckSASS bool      // disassemble the wgmma units and count their HGMMA instructions
	Progress  io.Writer // a bar on a terminal, else lines; nil: silent
}

// Result is what Run did.
type Result struct {
	Library  string // the library; "" when Options.Units left parts out
	Sidecar  cutlass.Sidecar
	Current  bool   // the library was there already, made of the same parts
	Module   string // the module that the library was taken from, with its version; "": compiled
	NVCC     string
	CUDA     string // nvcc's version: 13.0
	Archs    []string
	Units    []UnitResult // in the manifest's order
	SASS     []SASS       // with Options.CheckSASS
	Duration time.Duration
}

// UnitResult is one compiled translation unit.
type UnitResult struct {
	Unit     cutlass.Unit
	Object   string        // its object in the cache
	Cached   bool          // it was there already
	Duration time.Duration // of the compiler
}

// builder is one Run.
type builder struct {
	Options
	temp     string // this run's own folder, removed at the end
	tools    toolchain
	progress *progress
}

// Run brings the kernel library into the cache: prebuilt where a release has it,
// else compiled. Prebuilt kernels that are there and cannot be used are an error.
// Cancelling ctx stops the compilers and returns ctx's error.
func Run(ctx context.Context, opt Options) (res Result, _ error) {
	start := time.Now()
	if runtime.GOOS != "linux" || (runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64") {
		return res, fmt.Errorf("the kernel library is built on Linux, amd64 or arm64; this is %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	b := builder{Options: opt, progress: newProgress(opt.Progress)}
	defer b.progress.stop()
	if err := b.setDefaults(ctx); err != nil {
		return res, err
	}
	res.Archs = b.Archs
	units, err := b.units()
	if err != nil {
		return res, err
	}
	if err := os.MkdirAll(b.Cache, 0o700); err != nil {
		return res, err
	}
	unlock, err := lock(ctx, filepath.Join(b.Cache, "setup.lock"), func() {
		b.progress.say("another gpk setup is at work in %s: waiting for it", b.Cache)
	})
	if err != nil {
		return res, err
	}
	defer unlock()
	if err := b.makeTemp(); err != nil {
		return res, err
	}
	defer os.RemoveAll(b.temp)
	if err := b.installExtras(ctx); err != nil {
		return res, err
	}

	why := b.mustCompile()
	if why == "" {
		if err := b.takePrebuilt(ctx, &res); errors.Is(err, errNoPrebuilt) {
			why = err.Error()
		} else if err != nil {
			return res, err
		}
	}
	if why != "" {
		b.progress.say("compiling: %s", why)
		if err := b.compileLibrary(ctx, units, &res); err != nil {
			return res, err
		}
	}
	res.Duration = time.Since(start)
	return res, nil
}

// setDefaults replaces the options that were left out.
func (b *builder) setDefaults(ctx context.Context) (err error) {
	if b.Jobs <= 0 {
		b.Jobs = DefaultJobs()
	}
	if b.Cache == "" {
		if b.Cache, err = cutlass.CacheDir(); err != nil {
			return err
		}
	}
	if b.Cache, err = filepath.Abs(b.Cache); err != nil {
		return err
	}
	b.Archs, err = resolveArchs(ctx, b.Archs)
	return err
}

// compileLibrary compiles the units, checks their machine code if asked to, and links the
// library unless units were left out.
func (b *builder) compileLibrary(ctx context.Context, units []cutlass.Unit, res *Result) (err error) {
	if b.tools, err = b.toolchain(ctx); err != nil {
		return err
	}
	res.NVCC, res.CUDA = b.tools.nvcc, b.tools.version
	b.progress.say("nvcc %s (%s), CUTLASS %s, targets %s, %d at once", b.tools.version, b.tools.nvcc, cutlassVersion, strings.Join(b.Archs, " "), b.Jobs)
	if res.Units, err = b.compile(ctx, units); err != nil {
		return err
	}
	if b.CheckSASS {
		if res.SASS, err = b.checkSASS(ctx, res.Units); err != nil {
			return err
		}
	}
	if len(b.Options.Units) > 0 {
		return nil
	}
	return b.link(ctx, units, res)
}

// units picks the translation units for the wanted targets and names.
func (b *builder) units() ([]cutlass.Unit, error) {
	all := cutlass.Units()
	if len(b.Options.Units) == 0 {
		return slices.DeleteFunc(all, func(u cutlass.Unit) bool { return gencode(u.SM, b.Archs) == nil }), nil
	}
	var picked []cutlass.Unit
	for _, name := range b.Options.Units {
		i := slices.IndexFunc(all, func(u cutlass.Unit) bool { return u.Name == name })
		if i < 0 {
			var names []string
			for _, u := range all {
				names = append(names, u.Name)
			}
			return nil, fmt.Errorf("no translation unit %q; there are %s", name, strings.Join(names, ", "))
		}
		if gencode(all[i].SM, b.Archs) == nil {
			return nil, fmt.Errorf("the unit %s is not for the targets %s", name, strings.Join(b.Archs, " "))
		}
		picked = append(picked, all[i])
	}
	return picked, nil
}

// makeTemp removes what killed runs left, which the lock makes safe, and makes
// this run's folder. A process that outlived its run may still write to an old
// one, so folders are never shared and a failed removal does no harm.
func (b *builder) makeTemp() error {
	parent := filepath.Join(b.Cache, "tmp")
	os.RemoveAll(parent)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return err
	}
	var err error
	b.temp, err = os.MkdirTemp(parent, "run-")
	return err
}

// finish makes a complete file or folder durable and gives it its name.
func finish(temp, name string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	if err := syncPath(temp); err != nil {
		return err
	}
	if err := os.Rename(temp, name); err != nil {
		return err
	}
	return syncPath(filepath.Dir(name))
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

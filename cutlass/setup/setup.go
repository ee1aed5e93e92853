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

// Options are the options of Run. The zero value is the usual build.
type Options struct {
	Archs     []string  // 80, 86, 89, 90a; nil: those of this machine's GPUs, otherwise 90a
	Units     []string  // compile only these, and do not link; nil: all for Archs
	Cache     string    // "": cutlass.CacheDir()
	WheelsDir string    // a folder with every wheel: the network is not used
	NVCC      string    // the compiler; "": the one that is found, otherwise NVIDIA's wheels
	Jobs      int       // compilers at once; 0: DefaultJobs()
	With      []string  // libraries to install besides the kernels: see Extras
	Compile   bool      // do not use prebuilt kernels
	CheckSASS bool      // disassemble the wgmma units and count their HGMMA instructions
	Progress  io.Writer // a bar on a terminal, otherwise lines; nil: silent

	Companions []cutlass.Companion // the other libraries of the kernel set
}

// Result is the result of Run.
type Result struct {
	Library  string // libgpk.so, beside which the companions are; "" if Options.Units omitted parts
	Sidecar  cutlass.Sidecar
	Current  bool   // all libraries already existed, made from the same inputs
	Module   string // the module from which the library was taken, with its version; "": compiled
	NVCC     string
	CUDA     string // nvcc's version: 13.0
	Archs    []string
	Units    []UnitResult // in the order of the manifest, then those of the companions
	SASS     []SASS       // with Options.CheckSASS
	Duration time.Duration
}

// UnitResult is one compiled translation unit.
type UnitResult struct {
	Unit     cutlass.Unit
	Object   string        // its object in the cache
	Cached   bool          // it already existed
	Duration time.Duration // time of the compilation
}

// builder is the state of one Run.
type builder struct {
	Options
	temp     string // this run's folder, removed at the end
	tools    toolchain
	progress *progress
}

// Run brings the kernel library and its companions into the cache: prebuilt if a release has it, otherwise
// compiled. Prebuilt kernels that exist but cannot be used are an error. Cancelling ctx
// stops the compilers and returns ctx's error.
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

// setDefaults sets the options that were omitted.
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

// compileLibrary compiles the units, checks their machine code if requested, and links the
// libraries unless units were omitted.
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
	return b.linkAll(ctx, units, res)
}

// units selects the translation units for the requested targets and names.
func (b *builder) units() ([]cutlass.Unit, error) {
	all := cutlass.Units()
	for _, c := range b.Companions {
		all = append(all, c.Units()...)
	}
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

// makeTemp removes the folders of killed runs, which is safe under the lock, and makes this
// run's folder. A process that outlived its run may still write to an old folder, so
// folders are never shared and a failed removal does no harm.
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

// finish makes a complete file or folder durable and renames it to its final name.
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

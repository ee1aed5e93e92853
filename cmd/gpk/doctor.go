package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/cutlass/setup"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/cufft"
	"github.com/gpk-go/gpk/internal/cusolver"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/internal/nccl"
	"github.com/gpk-go/gpk/internal/nvrtc"
)

// check is one condition for using a GPU.
type check struct {
	name   string
	detail string // what was found
	err    error  // the reason why the condition is not met
	fix    string // the command or step that fixes it, unless err names it
	note   bool   // the GPU can be used even if the condition is not met
}

// machine holds the functions by which doctor examines the machine. Tests replace them.
type machine struct {
	built      func() error
	devices    func() []device.Info
	library    func() (*cutlass.Library, error)
	companions func(*cutlass.Library) error // the error of the first companion of the library that cannot be used
	tools      func() []setup.Tool
	cache      func() (string, error)
	nvrtc      func() (path, version string, err error)
	cufft      func() (version string, err error)
	solver     func() (version string, err error)
	nccl       func() (version string, err error)
	open       func(name string) error // opens a device and checks a product on it
	chosen     func() (string, error)  // returns the name of the default device
}

// doctor examines this machine.
func doctor(ctx context.Context, args []string, std streams) error {
	flags := flag.NewFlagSet("doctor", flag.ContinueOnError)
	if err := parse(flags, args, std); err != nil {
		return err
	}
	if err := noArguments(flags); err != nil {
		return err
	}
	quiet := slog.New(slog.DiscardHandler)
	m := machine{
		built: cutlass.Built, devices: device.List,
		library:    func() (*cutlass.Library, error) { return cutlass.Open(cutlass.OpenOptions{Logger: quiet}) },
		companions: openCompanions,
		tools:      func() []setup.Tool { return setup.Tools(ctx, "", "") },
		cache:      cutlass.CacheDir,
		nvrtc:      deviceapi.RuntimeCompiler,
		cufft:      func() (string, error) { err := cufft.Load(); return cufft.Version(), err },
		solver: func() (string, error) {
			err := cusolver.Load()
			return cusolver.Version() + ", " + cusolver.Path(), err
		},
		nccl:   func() (string, error) { err := nccl.Load(); return nccl.Version() + ", " + nccl.Path(), err },
		open:   try,
		chosen: defaultDevice,
	}
	old := slog.Default()
	slog.SetDefault(quiet) // report prints the reasons
	defer slog.SetDefault(old)
	if !report(std.out, m.examine()) {
		return errFailed
	}
	return nil
}

// chosenCheck is the name of the check of the default device. If it fails, every program fails.
const chosenCheck = "default device"

// examine returns the results of all checks. It leaves out a check if another one that it
// depends on has failed.
func (m machine) examine() []check {
	program := check{name: "program", detail: "has its CUDA parts", err: m.built()}
	program.fix = "install a C compiler (apt-get install gcc libc6-dev), build with CGO_ENABLED=1 and without -tags nocuda, on Linux"
	checks := []check{program}

	driver := check{name: "driver and GPU", fix: "install NVIDIA's driver, 580 or newer, so that `nvidia-smi` lists the GPU (in a container: docker run --gpus all)"}
	var gpus []device.Info
	for _, d := range m.devices() {
		if d.Kind == device.CUDA {
			gpus = append(gpus, d)
		}
	}
	if len(gpus) > 0 {
		names := make([]string, len(gpus))
		for i, g := range gpus {
			names[i] = g.String()
		}
		driver.detail = strings.Join(names, "; ")
	} else if program.err == nil {
		driver.err = m.open(device.CUDA.String())
		if driver.err == nil {
			driver.err = errors.New("the driver lists no GPU")
		}
	}
	if program.err == nil {
		checks = append(checks, driver)
	}

	cache, err := m.cache()
	if err == nil {
		err = writable(cache)
	}
	checks = append(checks, check{name: "cache", detail: cache, err: err, fix: "set GPK_CACHE to a folder that can be written", note: true})

	if program.err == nil {
		lib, err := m.library()
		checks = append(checks, m.libraryCheck(lib, err), m.compilerCheck(),
			optionalCheck("libcufft", "transforms on a GPU are computed on the CPU", m.cufft),
			optionalCheck("libcusolver", "the CPU factors the panels of QR of matrices on a GPU, and computes their eigenvalues and singular values", m.solver),
			optionalCheck("libnccl", "arrays of ranks on several GPUs are copied through the host", m.nccl))
		for _, t := range m.tools() {
			checks = append(checks, check{name: "setup: " + t.Name, detail: t.Detail, err: t.Err, note: true})
		}
		for _, g := range gpus {
			if err != nil {
				break
			}
			checks = append(checks, m.gpuCheck(g, lib.CUDAVersion()))
		}
	}
	name, err := m.chosen()
	return append(checks, check{name: chosenCheck, detail: name, err: err, fix: "unset GPK_DEVICE and GPK_MEMORY_LIMIT, or set them to what is there"})
}

func (m machine) libraryCheck(lib *cutlass.Library, err error) check {
	c := check{name: "kernel library", err: err, fix: invocation("setup")}
	switch missing, ok := errors.AsType[*cutlass.NotFoundError](err); {
	case ok:
		reasons := make([]string, len(missing.Tried))
		for i, a := range missing.Tried {
			reasons[i] = a.String()
		}
		c.err = fmt.Errorf("none that can be used\n%s", strings.Join(reasons, "\n"))
	case err == nil:
		c.detail = fmt.Sprintf("%s, for %s, CUDA %s", lib.Path(), strings.Join(lib.Describe().Archs, " "), cudaVersion(lib.CUDAVersion()))
		if lib.KernelSet() != cutlass.KernelSetHash() {
			c.err = fmt.Errorf("%s was built from other sources (%s) than this program's (%s)", lib.Path(), lib.KernelSet(), cutlass.KernelSetHash())
		}
		c.err = errors.Join(c.err, m.companions(lib))
		c.note = c.err != nil // arrays work all the same
	}
	return c
}

// compilerCheck looks for NVRTC, which compiles kernels for chains of operations and users'
// kernels. Everything else works without it.
func (m machine) compilerCheck() check {
	path, version, err := m.nvrtc()
	c := check{name: "NVRTC", detail: fmt.Sprintf("run-time compiler %s, %s", version, path), err: err, note: true}
	if missing, ok := errors.AsType[*nvrtc.Error](err); ok && missing.Err == nil {
		reasons := make([]string, len(missing.Tried))
		for i, a := range missing.Tried {
			reasons[i] = a.String()
		}
		c.err = fmt.Errorf("none: on a GPU, chains of operations run one operation at a time, and gpk.Kernel does not work\n%s", strings.Join(reasons, "\n"))
		c.fix = invocation("setup") + ", which unpacks NVIDIA's wheels where it finds no nvcc; or GPK_NVRTC, with the path of libnvrtc.so"
	}
	return c
}

// optionalCheck looks for a library that speeds up some work. without says what happens in its
// absence. The error of load says how to get the library.
func optionalCheck(name, without string, load func() (version string, err error)) check {
	version, err := load()
	if err != nil {
		err = fmt.Errorf("%w\nwithout it, %s", err, without)
	}
	return check{name: name, detail: version, err: err, note: true}
}

// gpuCheck opens a GPU and checks a product on it. cuda is the CUDA version that the kernel
// library was built with.
func (m machine) gpuCheck(g device.Info, cuda int) check {
	name := fmt.Sprintf("%v:%d", g.Kind, g.Index)
	c := check{name: name, detail: "a product on it is right", err: m.open(name), fix: invocation("setup")}
	if c.err != nil && g.CUDA/1000 < cuda/1000 {
		c.fix = fmt.Sprintf("install NVIDIA driver %d or newer; or build with the nvcc of an older CUDA, 12.4 to 12.9 (driver %d or newer): %s",
			cutlass.MinDriver(cuda), cutlass.MinDriver(12040), invocation("setup -nvcc /usr/local/cuda-12.9/bin/nvcc"))
	}
	return c
}

// try opens a device and checks a small product on it.
func try(name string) error {
	d, err := device.Open(name)
	if err != nil {
		return err
	}
	const n = 64
	ones := gpk.Ones(gpk.Float32, n, n).To(d)
	got, err := gpk.ToSlice[float32](ones.MatMul(ones))
	if err != nil {
		return err
	}
	for i, v := range got {
		if v != n {
			return fmt.Errorf("a product on %s is wrong: element %d is %v, not %d", name, i, v, n)
		}
	}
	return nil
}

// writable returns an error if files cannot be created in a folder. If the folder does not
// exist, writable tests its nearest parent that does.
func writable(dir string) error {
	for {
		_, err := os.Stat(dir)
		if up := filepath.Dir(dir); errors.Is(err, fs.ErrNotExist) && up != dir {
			dir = up
			continue
		}
		break
	}
	f, err := os.CreateTemp(dir, "doctor-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// report prints the checks and says whether a GPU can be used.
func report(out io.Writer, checks []check) bool {
	usable, broken := false, false
	for _, c := range checks {
		state := "ok"
		detail := c.detail
		if c.err != nil {
			state, detail = "missing", c.err.Error()
			if c.note {
				state = "note"
			}
		}
		fmt.Fprintf(out, "%-8s %-16s %s\n", state, c.name, strings.ReplaceAll(detail, "\n", "\n"+strings.Repeat(" ", 26)))
		if c.err != nil && c.fix != "" {
			fmt.Fprintf(out, "%-8s to fix it: %s\n", "", c.fix)
		}
		usable = usable || (c.err == nil && strings.HasPrefix(c.name, device.CUDA.String()+":"))
		broken = broken || (c.err != nil && c.name == chosenCheck)
	}
	switch {
	case broken:
		fmt.Fprintln(out, "programs fail: the default device, which the environment chooses, cannot be used")
	case usable:
		fmt.Fprintln(out, "a GPU can be used")
	default:
		fmt.Fprintln(out, "no GPU can be used; programs run on the CPU")
	}
	return usable && !broken
}

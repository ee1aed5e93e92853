package device

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/internal/bytesize"
)

// system is the set of devices of this machine and the way to find them. Tests replace it.
type system struct {
	getenv  func(string) string
	load    func() (driver, error) // loads the GPU driver
	library func() (*cutlass.Library, error)
	usable  func(*cutlass.Library, Info) error
	host    backend

	compiler *compilerSearch // compiles CUDA C++ at run time

	chosen    atomic.Pointer[Device] // the default device
	collector *collector

	mu     sync.Mutex
	cpu    *Device
	gpus   gpus
	kernel struct {
		opened bool
		lib    *cutlass.Library
		err    error
	}
}

// gpus caches the GPU driver's answer.
type gpus struct {
	probed  bool
	driver  driver
	err     error // the reason why there is no GPU
	list    []Info
	devices []*Device // nil: not opened yet
	errs    []error   // the reasons why a GPU cannot be opened
	pinned  *ranges
}

func newSystem() *system {
	return &system{
		getenv: os.Getenv, load: loadDriver, library: openLibrary, usable: usable, host: &hostBackend{},
		compiler:  newCompilerSearch(),
		collector: newCollector(),
	}
}

// current is the system that the package's functions use.
var current = newSystem()

// List describes every device of this machine: the CPU, which always exists, then the GPUs
// that the driver reports, usable or not (Explain says which).
func List() []Info { return current.list() }

// Open returns the device with a name: "cpu", "cuda" (the first usable GPU), "cuda:1". The
// same name gives the same device. If there is no usable GPU, the error is ErrNoGPU with
// all reasons. An unknown name or number, or a GPU of an unknown compute capability, is
// ErrDevice.
func Open(name string) (*Device, error) { return current.open(name) }

// Default returns the device for new arrays: that of SetDefault, otherwise the one that
// GPK_DEVICE names, otherwise the first usable GPU, otherwise the CPU. If GPK_DEVICE cannot
// be opened, every use of the returned device returns that error (see Err).
func Default() *Device { return current.defaultDevice() }

// SetDefault makes d the default device and returns the previous one, nil if none had been
// chosen yet. After SetDefault(nil) the next Default chooses anew.
func SetDefault(d *Device) (old *Device) { return current.chosen.Swap(d) }

func (s *system) list() []Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Info{s.hostDevice().info}, s.probe().list...)
}

func (s *system) open(name string) (*Device, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind, number, numbered := strings.Cut(strings.ToLower(strings.TrimSpace(name)), ":")
	index := 0
	if numbered {
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 {
			return nil, badName(name)
		}
		index = n
	}
	switch {
	case kind == CPU.String() && index == 0:
		d := s.hostDevice()
		return d, d.err
	case kind == CUDA.String() && numbered:
		return s.openGPU(index)
	case kind == CUDA.String():
		return s.firstGPU()
	}
	return nil, badName(name)
}

func badName(name string) error {
	return errorf("%q names no device; there are cpu, cuda, cuda:0, cuda:1, …", name)
}

func (s *system) defaultDevice() *Device {
	if d := s.chosen.Load(); d != nil {
		return d
	}
	s.chosen.CompareAndSwap(nil, s.choose())
	if d := s.chosen.Load(); d != nil {
		return d
	}
	return s.defaultDevice() // after a concurrent SetDefault(nil)
}

func (s *system) choose() *Device {
	if name := s.getenv("GPK_DEVICE"); name != "" {
		d, err := s.open(name)
		if err != nil {
			return brokenDevice(name, fmt.Errorf("GPK_DEVICE=%s: %w", name, err))
		}
		return d
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if d, err := s.firstGPU(); err == nil {
		return d
	}
	return s.hostDevice()
}

// hostDevice returns the CPU. If its settings are invalid, it is a broken device; mu is
// held.
func (s *system) hostDevice() *Device {
	if s.cpu == nil {
		info := Info{Name: hostName(), Kind: CPU, MultiProcessors: runtime.NumCPU()}
		_, info.TotalMemory, _ = s.host.memory()
		limit, err := s.settings()
		var d *Device
		if err == nil {
			d, err = newDevice(info, s.host, nil, nil, s.collector, limit)
		}
		if err != nil {
			d = brokenDevice("cpu", err)
			d.info = info
		}
		s.cpu = d
	}
	return s.cpu
}

// probe queries the driver once for the GPUs; mu is held.
func (s *system) probe() *gpus {
	g := &s.gpus
	if g.probed {
		return g
	}
	g.probed = true
	if g.driver, g.err = s.load(); g.err != nil {
		return g
	}
	if g.list, g.err = g.driver.devices(); g.err == nil && len(g.list) == 0 {
		g.err = errors.New("the NVIDIA driver names no GPU (CUDA_VISIBLE_DEVICES hides those that it does not list)")
	}
	g.devices, g.errs = make([]*Device, len(g.list)), make([]error, len(g.list))
	g.pinned = &ranges{}
	return g
}

// firstGPU opens the first usable GPU; mu is held.
func (s *system) firstGPU() (*Device, error) {
	g := s.probe()
	if g.err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoGPU, g.err)
	}
	reasons := []any{ErrNoGPU}
	for i := range g.list {
		d, err := s.openGPU(i)
		if err == nil {
			return d, nil
		}
		reasons = append(reasons, err)
	}
	return nil, fmt.Errorf("%w"+strings.Repeat("; %w", len(reasons)-1), reasons...)
}

// openGPU opens one GPU, once; mu is held.
func (s *system) openGPU(i int) (*Device, error) {
	g := s.probe()
	switch {
	case g.err != nil:
		return nil, fmt.Errorf("%w: %w", ErrNoGPU, g.err)
	case i >= len(g.list):
		return nil, errorf("there is no cuda:%d; the driver names %d", i, len(g.list))
	case g.devices[i] == nil && g.errs[i] == nil:
		g.devices[i], g.errs[i] = s.startGPU(g, g.list[i])
	}
	return g.devices[i], g.errs[i]
}

func (s *system) startGPU(g *gpus, info Info) (*Device, error) {
	if CapabilitiesOf(info.SM).SM == 0 {
		return nil, errorf("%s (%s) has compute capability %d.%d, which this version of gpk does not know", info.label(), info.Name, info.SM/10, info.SM%10)
	}
	lib, err := s.kernels()
	if err == nil {
		err = s.usable(lib, info)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s (%s) was found, but %w", ErrNoGPU, info.label(), info.Name, err)
	}
	limit, err := s.settings()
	if err != nil {
		return nil, err
	}
	b, err := g.driver.open(info.Index)
	if err != nil {
		return nil, fmt.Errorf("%w: %s (%s): %w", ErrNoGPU, info.label(), info.Name, err)
	}
	d, err := newDevice(info, b, lib, g.pinned, s.collector, limit)
	if err != nil {
		return nil, err
	}
	d.codes.search = s.compiler
	return d, nil
}

// kernels opens the kernel library once; mu is held.
func (s *system) kernels() (*cutlass.Library, error) {
	if k := &s.kernel; !k.opened {
		k.opened = true
		k.lib, k.err = s.library()
	}
	return s.kernel.lib, s.kernel.err
}

// settings checks the environment, and returns the memory limit that it sets; 0 for none.
func (s *system) settings() (limit int64, err error) {
	if err := s.checkSwitches(); err != nil {
		return 0, err
	}
	text := s.getenv("GPK_MEMORY_LIMIT")
	if text == "" {
		return 0, nil
	}
	n, err := bytesize.Parse(text)
	if err != nil {
		return 0, fmt.Errorf("GPK_MEMORY_LIMIT: %w", errorf("%w", err))
	}
	return n, nil
}

// Explain reports the search for the driver and the libraries, and why a GPU is or is not
// used: one fact per line.
func Explain() string { return current.explain() }

func (s *system) explain() string {
	def := s.defaultDevice()
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }

	if err := def.Err(); err != nil {
		add("default device: none: %v", err)
	} else {
		add("default device: %v", def)
	}
	for _, name := range []string{"GPK_DEVICE", "GPK_MEMORY_LIMIT", "GPK_LIB"} {
		if v := s.getenv(name); v != "" {
			add("%s: %s", name, v)
		} else {
			add("%s: not set", name)
		}
	}
	add("%v", s.hostDevice().info)
	g := s.probe()
	if g.err != nil {
		add("GPU driver: %v", g.err)
		add("kernel library: not looked for, as there is no GPU")
		add("run-time compiler: not looked for, as there is no GPU")
		return strings.Join(lines, "\n") + "\n"
	}
	add("GPU driver: %s", g.list[0].Driver)
	for i, info := range g.list {
		what := "works"
		if _, err := s.openGPU(i); err != nil {
			what = err.Error()
		}
		add("%v: %s", info, what)
	}
	lib, err := s.kernels()
	switch missing, ok := errors.AsType[*cutlass.NotFoundError](err); {
	case ok:
		for _, a := range missing.Tried {
			add("kernel library: %v", a)
		}
	case err != nil:
		add("kernel library: %v", err)
	case lib != nil:
		for _, a := range lib.Tried() {
			add("kernel library: %v", a)
		}
	}
	lines = append(lines, s.compiler.explain()...)
	return strings.Join(slices.Compact(lines), "\n") + "\n"
}

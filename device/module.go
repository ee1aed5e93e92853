package device

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// Function is a kernel that was compiled at run time and loaded on one device. It remains
// loaded until the program ends.
type Function struct {
	dev    *Device
	name   string
	handle uint64
	info   functionInfo

	started int // Shared of the largest launch so far, plus one; guarded by dev.mu

	mu        sync.Mutex
	occupancy map[int][2]int // cache, by dynamic shared memory
}

// functionInfo has the driver's attributes of a function.
type functionInfo struct {
	maxThreads   int // threads per block
	staticShared int // bytes
	params       []Param
	known        bool // params is valid
}

// Param is the position of a parameter in a kernel's parameter buffer, in bytes.
type Param struct{ Offset, Size int }

// Launch is the launch configuration of a kernel.
type Launch struct {
	Grid, Block [3]int // at least 1 each
	Shared      int    // bytes of dynamic shared memory
	// Dependent lets the kernel start while the previous one on the stream still runs: the
	// kernel itself waits for that one (griddepcontrol.wait) before it accesses memory.
	Dependent bool
}

// moduleBackend is a backend that runs code compiled at run time. As in backend, every
// method sets the device first.
type moduleBackend interface {
	// loadFunction loads an image and finds a function in it.
	loadFunction(image []byte, name string) (handle uint64, info functionInfo, err error)
	// occupancy returns the block size with the highest occupancy, and the least grid that
	// fills the device with such blocks.
	occupancy(function uint64, shared int) (block, grid int, err error)
	// launchFunction starts a function. params has the layout of the function's parameters.
	launchFunction(function, stream uint64, l Launch, params []byte) error
}

// parameters returns the function's parameters, and false if the driver is too old to
// report them (before 550).
func (f *Function) parameters() ([]Param, bool) {
	if f == nil {
		return nil, false
	}
	return f.info.params, f.info.known
}

// launchSize returns the block size with the highest occupancy for the given bytes of
// dynamic shared memory, and the least grid that fills the device with such blocks.
func (f *Function) launchSize(shared int) (block, grid int, err error) {
	if f == nil || f.dev == nil {
		return 0, 0, errNoFunction
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if o, ok := f.occupancy[shared]; ok {
		return o[0], o[1], nil
	}
	// The query sets the function's shared memory limit, as a launch does, so the lock
	// keeps launches out.
	d := f.dev
	d.mu.Lock()
	d.submission.queue.Drain()
	block, grid, err = d.backend.(moduleBackend).occupancy(f.handle, shared)
	d.mu.Unlock()
	if err != nil {
		return 0, 0, err
	}
	if f.occupancy == nil {
		f.occupancy = map[int][2]int{}
	}
	f.occupancy[shared] = [2]int{block, grid}
	return block, grid, nil
}

// The limits of grids and blocks for all compute capabilities since 3.0.
var (
	maxGrid  = [3]int{1<<31 - 1, 1<<16 - 1, 1<<16 - 1}
	maxBlock = [3]int{1024, 1024, 64}
)

// check returns the reason why a launch is invalid, or nil.
func (f *Function) check(l Launch) error {
	if f == nil || f.dev == nil {
		return errNoFunction
	}
	threads := 1
	for i := range 3 {
		if l.Grid[i] < 1 || l.Grid[i] > maxGrid[i] {
			return errorf("kernel %s: a grid of %v; the largest is %v", f.name, l.Grid, maxGrid)
		}
		if l.Block[i] < 1 || l.Block[i] > maxBlock[i] {
			return errorf("kernel %s: a block of %v; the largest is %v", f.name, l.Block, maxBlock)
		}
		threads *= l.Block[i]
	}
	if threads > f.info.maxThreads {
		return errorf("kernel %s: a block of %d threads; it can have %d", f.name, threads, f.info.maxThreads)
	}
	if most := f.dev.info.SharedMemoryPerBlock - int64(f.info.staticShared); l.Shared < 0 || int64(l.Shared) > most {
		return errorf("kernel %s: %d bytes of dynamic shared memory; there are %d", f.name, l.Shared, most)
	}
	return nil
}

// Fit returns a launch with complete grid and block, which check accepts. A block of zeros
// becomes the one that launchSize returns. A grid of zeros becomes one row of blocks with a
// thread for each element; for 0 elements the row fills the device. Any other length of 0
// becomes 1.
func (f *Function) Fit(l Launch, elements int) (Launch, error) {
	if l.Block == ([3]int{}) || l.Grid == ([3]int{}) {
		if l.Shared < 0 {
			return l, errorf("a launch with %d bytes of dynamic shared memory; the size must not be negative", l.Shared)
		}
		block, grid, err := f.launchSize(l.Shared)
		if err != nil {
			return l, err
		}
		if l.Block == ([3]int{}) {
			l.Block[0] = block
		}
		ones(&l.Block)
		if l.Grid == ([3]int{}) {
			if threads := l.Block[0] * l.Block[1] * l.Block[2]; elements > 0 && threads > 0 {
				grid = (elements-1)/threads + 1
			}
			l.Grid[0] = grid
		}
	}
	ones(&l.Block)
	ones(&l.Grid)
	return l, f.check(l)
}

// ones replaces zero lengths by 1.
func ones(n *[3]int) {
	for i := range n {
		if n[i] == 0 {
			n[i] = 1
		}
	}
}

// Start puts the kernel on a stream, given as the driver's number. It is for Work.Start,
// and does no ordering. params has the layout that parameters describes.
func (f *Function) Start(stream uint64, l Launch, params []byte) error {
	if f == nil || f.dev == nil {
		return errNoFunction
	}
	return f.dev.backend.(moduleBackend).launchFunction(f.handle, stream, l, params)
}

// Work returns the kernel's launch as Work for LaunchWork. l and params are those of Start.
func (f *Function) Work(l Launch, params []byte) Work { return &functionWork{f, l, params} }

// functionWork implements Queued.
type functionWork struct {
	f      *Function
	launch Launch
	params []byte
}

func (w *functionWork) Start(_ int, stream uint64) error {
	return w.f.Start(stream, w.launch, w.params)
}

func (w *functionWork) Enqueue(_ int, stream uint64) (bool, error) {
	return true, w.f.Enqueue(stream, w.launch, w.params)
}

// FakeCode replaces the run-time compiler of a device made by newFakeWithCode.
type FakeCode struct {
	// Compile replaces the compiler. It returns the sizes of the kernel's parameters, or
	// the compiler's log if the code does not compile.
	Compile func(c Code) (sizes []int, log string)
	// Start replaces a launch of the kernel. The device's memory is the host's.
	Start func(kernel string, l Launch, params []byte) error
}

// newFakeWithCode is newFake for a device that can compile CUDA C++ at run time by calling
// the functions of code. Nothing is stored on disk.
func newFakeWithCode(info Info, c Capabilities, code FakeCode) *Device {
	b := &fakeCodeBackend{code: code}
	d, err := newDevice(info, b, nil, &ranges{}, newCollector(), 0)
	if err != nil {
		return brokenDevice(info.label(), err)
	}
	d.caps = c
	d.codes.search = &compilerSearch{found: b}
	d.codes.search.once.Do(func() {})
	d.codes.folder = ""
	return d
}

// fakeCodeBackend uses a function's name as its compiled code.
type fakeCodeBackend struct {
	fakeBackend
	code FakeCode
	full atomic.Bool // loading fails

	codeMu    sync.Mutex
	functions []string
	sizes     map[string][]int
}

func (*fakeCodeBackend) version() int { return 13000 }

func (*fakeCodeBackend) archs() []int { return []int{80, 90} }

func (*fakeCodeBackend) headers() string { return "" }

func (b *fakeCodeBackend) compile(c *Code, _ []string) (binaryImage, string, error) {
	sizes, log := b.code.Compile(*c)
	if log != "" {
		return binaryImage{}, log, errSource
	}
	b.codeMu.Lock()
	defer b.codeMu.Unlock()
	if b.sizes == nil {
		b.sizes = map[string][]int{}
	}
	b.sizes[c.Kernel] = sizes
	return binaryImage{name: c.Kernel, image: []byte(c.Kernel)}, "", nil
}

func (b *fakeCodeBackend) loadFunction(image []byte, name string) (uint64, functionInfo, error) {
	b.codeMu.Lock()
	defer b.codeMu.Unlock()
	if b.full.Load() {
		return 0, functionInfo{}, ErrOutOfMemory
	}
	if string(image) != name {
		return 0, functionInfo{}, fmt.Errorf("no function %s in the image", name)
	}
	b.functions = append(b.functions, name)
	info := functionInfo{maxThreads: 1024, known: true}
	end := 0
	for _, n := range b.sizes[name] {
		end = alignUp(end, min(n, 8))
		info.params = append(info.params, Param{end, n})
		end += n
	}
	return uint64(len(b.functions)), info, nil
}

func (*fakeCodeBackend) occupancy(uint64, int) (block, grid int, err error) { return 256, 264, nil }

func (b *fakeCodeBackend) launchFunction(function, _ uint64, l Launch, params []byte) error {
	b.codeMu.Lock()
	name := b.functions[function-1]
	b.codeMu.Unlock()
	return b.code.Start(name, l, slices.Clone(params))
}

func alignUp(n, to int) int {
	if to <= 1 {
		return n
	}
	return (n + to - 1) / to * to
}

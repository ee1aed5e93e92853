package device

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// Function is a kernel that was compiled at run time, loaded on one device. It
// stays loaded as long as the program runs.
type Function struct {
	dev    *Device
	name   string
	handle uint64
	info   functionInfo

	started int // one more than the most Shared that it was started with; guarded by dev.mu

	mu        sync.Mutex
	occupancy map[int][2]int // by dynamic shared memory
}

// functionInfo is what the driver says of a function.
type functionInfo struct {
	maxThreads   int // of a block
	staticShared int // bytes
	params       []Param
	known        bool // params are the function's
}

// Param is where a parameter of a kernel lies among its parameters, in bytes.
type Param struct{ Offset, Size int }

// Launch is how a kernel starts.
type Launch struct {
	Grid, Block [3]int // at least 1 each
	Shared      int    // bytes of dynamic shared memory
	// Dependent lets the kernel start while the one before it on the stream
	// still runs: it waits for that one itself (griddepcontrol.wait), before it
	// touches memory.
	Dependent bool
}

// moduleBackend is a backend that runs code which was compiled at run time. As
// in backend, every method sets the device itself.
type moduleBackend interface {
	// loadFunction loads an image and finds a function in it.
	loadFunction(image []byte, name string) (handle uint64, info functionInfo, err error)
	// occupancy returns the block that keeps most threads of a multiprocessor
	// busy and the least grid that fills the device with it.
	occupancy(function uint64, shared int) (block, grid int, err error)
	// launchFunction starts a function. The parameters lie as the function's parameters lie.
	launchFunction(function, stream uint64, l Launch, params []byte) error
}

// parameters returns the function's parameters, and false where the driver is too
// old to say (before 550).
func (f *Function) parameters() ([]Param, bool) {
	if f == nil {
		return nil, false
	}
	return f.info.params, f.info.known
}

// launchSize returns the block that keeps most threads of a multiprocessor busy,
// with so many bytes of dynamic shared memory, and the least grid that fills
// the device.
func (f *Function) launchSize(shared int) (block, grid int, err error) {
	if f == nil || f.dev == nil {
		return 0, 0, errNoFunction
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if o, ok := f.occupancy[shared]; ok {
		return o[0], o[1], nil
	}
	// Asking sets how much the function may have, as starting it does: nothing is
	// started meanwhile.
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

// The limits of a grid and a block, of every compute capability since 3.0.
var (
	maxGrid  = [3]int{1<<31 - 1, 1<<16 - 1, 1<<16 - 1}
	maxBlock = [3]int{1024, 1024, 64}
)

// check says why a launch is not possible.
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

// Fit returns a launch whose grid and block are complete, so that check accepts it. A block
// of all zeros becomes the one that launchSize returns. A grid of all zeros becomes one row
// of blocks with a thread for each element; for 0 elements the row fills the device. Any
// other length of 0 becomes 1.
func (f *Function) Fit(l Launch, elements int) (Launch, error) {
	if l.Block == ([3]int{}) || l.Grid == ([3]int{}) {
		if l.Shared < 0 {
			return l, errorf("%d bytes of shared memory", l.Shared)
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

// ones makes lengths that were not given 1.
func ones(n *[3]int) {
	for i := range n {
		if n[i] == 0 {
			n[i] = 1
		}
	}
}

// Start puts the kernel on a stream, given as the driver knows it: it is for
// Work.Start, and orders nothing. params holds the parameters as parameters places
// them.
func (f *Function) Start(stream uint64, l Launch, params []byte) error {
	if f == nil || f.dev == nil {
		return errNoFunction
	}
	return f.dev.backend.(moduleBackend).launchFunction(f.handle, stream, l, params)
}

// Work returns the start of the kernel, with a launch and parameters as Start takes them,
// for LaunchWork.
func (f *Function) Work(l Launch, params []byte) Work { return &functionWork{f, l, params} }

// functionWork is Queued.
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

// FakeCode is run-time compilation for a device of newFakeWithCode.
type FakeCode struct {
	// Compile answers for a compiler: nil, or what the compiler writes. It returns
	// the sizes of the kernel's parameters.
	Compile func(c Code) (sizes []int, log string)
	// Start answers for a launch of the kernel. The device's memory is the
	// host's.
	Start func(kernel string, l Launch, params []byte) error
}

// newFakeWithCode is newFake, of a device for which CUDA C++ can be compiled at
// run time: code says what comes of it. Nothing is kept on disk.
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

// fakeCodeBackend compiles a function to its name.
type fakeCodeBackend struct {
	fakeBackend
	code FakeCode
	full atomic.Bool // nothing can be loaded

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

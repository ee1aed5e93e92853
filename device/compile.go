package device

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/nvrtc"
)

// Limits of background compilation.
const (
	maxCompiling = 2    // compilations at the same time
	maxKept      = 2048 // chain kernels per device; beyond that, no more are compiled
)

// codes holds the code that was compiled at run time for one device.
type codes struct {
	dev    *Device
	search *compilerSearch // nil: there is no compiler
	folder string          // folder of the cache; "": no cache on disk

	mu      sync.Mutex
	made    map[[sha256.Size]byte]*compilation
	queue   []*compilation
	workers int
}

// compilation is code that is being compiled or has been compiled to a function.
type compilation struct {
	of   *codes
	code Code
	done chan struct{}
	f    *Function // set when done
	err  error

	asked atomic.Uint32 // number of calls of Again
}

// Function returns the function without waiting. ready reports whether it is available; err
// reports why it never will be.
func (c *compilation) Function() (f *Function, ready bool, err error) {
	if c == nil || c.done == nil {
		return nil, false, errNoCompilation
	}
	select {
	case <-c.done:
		return c.f, c.err == nil, c.err
	default:
		return nil, false, nil
	}
}

// wait waits for the function, or until ctx ends.
func (c *compilation) wait(ctx context.Context) (*Function, error) {
	if c == nil || c.done == nil {
		return nil, errNoCompilation
	}
	if ctx == nil {
		return nil, errNoContext
	}
	select {
	case <-c.done:
		return c.f, c.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Now is wait without waiting for other queued code: if the code has not been started, it
// is compiled here.
func (c *compilation) Now(ctx context.Context) (*Function, error) {
	if c != nil && c.of != nil {
		s := c.of
		s.mu.Lock()
		i := slices.Index(s.queue, c)
		if i >= 0 {
			s.queue = slices.Delete(s.queue, i, i+1)
		}
		s.mu.Unlock()
		if i >= 0 {
			s.run(c)
		}
	}
	return c.wait(ctx)
}

// Again reports whether the caller should retry loading a function, which may have failed
// for lack of memory. It is true once in retryInterval calls.
func (c *compilation) Again() bool {
	return c != nil && c.passing() && c.asked.Add(1)%retryInterval == 0
}

// retryInterval is the number of uses of a function that could not be loaded before it is loaded
// again.
const retryInterval = 64

// passing reports whether the compilation ended with an error that may not recur, because it
// was caused neither by the source nor by the compiler.
func (c *compilation) passing() bool {
	_, _, err := c.Function()
	if err == nil || c.of == nil {
		return false
	}
	_, source := errors.AsType[*CompileError](err)
	_, missing := errors.AsType[*nvrtc.Error](err)
	return !source && !missing
}

// Compile returns a kernel, compiled for the device and loaded; the same code gives the
// same function. If the source does not compile, the error is a *CompileError; if the
// machine has no compiler, it is expr.ErrUnsupported.
func (d *Device) Compile(code Code) (*Function, error) {
	if err := d.Err(); err != nil {
		return nil, err
	}
	c, made := d.codes.compilation(code)
	if made {
		d.codes.run(c)
	}
	return c.wait(context.Background())
}

// compileLater compiles a kernel in the background, unless it is compiled or queued already.
func (d *Device) compileLater(code Code) *compilation {
	if err := d.Err(); err != nil {
		return failedCompilation(err)
	}
	s := d.codes
	if s.full() {
		return failedCompilation(fmt.Errorf("%w: %d kernels were compiled for %v already", expr.ErrUnsupported, maxKept, d))
	}
	c, made := s.compilation(code)
	if !made {
		return c
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, c)
	if s.workers < maxCompiling {
		s.workers++
		go s.work()
	}
	return c
}

// compilerVersion returns the version of the device's compiler, 13000 for 13.0, or a
// *nvrtc.Error that says why there is none.
func (d *Device) compilerVersion() (int, error) {
	if err := d.Err(); err != nil {
		return 0, err
	}
	c, err := d.codes.compiler()
	if err != nil {
		return 0, err
	}
	return c.version(), nil
}

// awaitCompiled waits until all compilations for the device have ended, or until ctx ends.
func (d *Device) awaitCompiled(ctx context.Context) error {
	if err := d.Err(); err != nil {
		return err
	}
	if ctx == nil {
		return errNoContext
	}
	s := d.codes
	s.mu.Lock()
	var under []*compilation
	for _, c := range s.made {
		select {
		case <-c.done:
		default:
			under = append(under, c)
		}
	}
	s.mu.Unlock()
	for _, c := range under {
		// A compilation error is reported to the user of the kernel, not here.
		if _, err := c.wait(ctx); err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

func failedCompilation(err error) *compilation {
	c := &compilation{done: make(chan struct{}), err: err}
	close(c.done)
	return c
}

func (s *codes) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.made) >= maxKept
}

// compilation returns the compilation of a code. made reports that it is new and that the
// caller has to start it.
func (s *codes) compilation(code Code) (c *compilation, made bool) {
	key := code.key()
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.made[key]; ok && !c.passing() {
		return c, false
	}
	c = &compilation{of: s, code: code, done: make(chan struct{})}
	if s.made == nil {
		s.made = map[[sha256.Size]byte]*compilation{}
	}
	s.made[key] = c
	return c, true
}

// work compiles the queued code, and returns when the queue is empty.
func (s *codes) work() {
	for {
		s.mu.Lock()
		if len(s.queue) == 0 {
			s.workers--
			s.mu.Unlock()
			return
		}
		c := s.queue[0]
		s.queue = slices.Delete(s.queue, 0, 1)
		s.mu.Unlock()
		s.run(c)
	}
}

func (s *codes) run(c *compilation) {
	c.f, c.err = s.build(&c.code)
	c.code = Code{} // the source is no longer needed
	close(c.done)
}

// compiler returns a compiler that supports the device.
func (s *codes) compiler() (compiler, error) {
	if s.search == nil {
		return nil, &nvrtc.Error{Err: fmt.Errorf("none for %v", s.dev)}
	}
	found, err := s.search.compiler()
	if err != nil {
		return nil, err
	}
	info := &s.dev.info
	switch _, ok := s.dev.backend.(moduleBackend); {
	case !ok:
		return nil, &nvrtc.Error{Err: fmt.Errorf("%v cannot run code that is compiled at run time", s.dev)}
	case found.version()/1000 > info.CUDA/1000:
		return nil, &nvrtc.Error{Err: fmt.Errorf("NVRTC %d.%d is newer than CUDA %d.%d, which is what driver %s runs; GPK_NVRTC can name an older one",
			found.version()/1000, found.version()%1000/10, info.CUDA/1000, info.CUDA%1000/10, info.Driver)}
	case !slices.Contains(found.archs(), info.SM):
		return nil, &nvrtc.Error{Err: fmt.Errorf("NVRTC %d.%d does not know SM %d", found.version()/1000, found.version()%1000/10, info.SM)}
	}
	return found, nil
}

// build loads a kernel from the cache, or compiles it.
func (s *codes) build(code *Code) (*Function, error) {
	with, err := s.compiler()
	if err != nil {
		return nil, err
	}
	sm := s.dev.info.SM
	file := cacheFile{dir: s.folder, key: cacheKey(code, options(with, sm, code), with.headers(), with.version(), s.dev.info.Driver)}
	b, cached := file.read()
	if cached {
		if f, err := s.load(code, b); err == nil {
			return f, nil
		}
	}
	begin := time.Now()
	b, err = compileWith(with, sm, code)
	s.dev.compiled(begin)
	if err != nil {
		return nil, err
	}
	f, err := s.load(code, b)
	if err == nil {
		file.write(b)
	}
	return f, err
}

func (s *codes) load(code *Code, b binaryImage) (*Function, error) {
	handle, info, err := s.dev.backend.(moduleBackend).loadFunction(b.image, b.name)
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", code.Kernel, err)
	}
	return &Function{dev: s.dev, name: code.Kernel, handle: handle, info: info}, nil
}

// compileImage compiles for a compute capability (90 is 9.0) and returns the
// machine code, a cubin. It needs the compiler but no GPU.
func compileImage(sm int, code Code) ([]byte, error) {
	with, err := current.compiler.compiler()
	if err != nil {
		return nil, err
	}
	b, err := compileWith(with, sm, &code)
	return b.image, err
}

// compileWith compiles, and classifies errors.
func compileWith(with compiler, sm int, code *Code) (binaryImage, error) {
	b, log, err := with.compile(code, options(with, sm, code))
	switch {
	case errors.Is(err, errSource):
		return b, newCompileError(code, log)
	case err != nil:
		return b, errorf("kernel %s: %w", code.Kernel, err)
	}
	return b, nil
}

func options(with compiler, sm int, code *Code) []string {
	list := []string{fmt.Sprintf("--gpu-architecture=sm_%d", sm)}
	if dir := with.headers(); code.Headers && dir != "" {
		list = append(list, "--include-path="+dir)
	}
	return append(list, code.Options...)
}

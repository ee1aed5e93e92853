package device

import (
	"errors"
	"fmt"
)

// The errors of this package, for errors.Is.
var (
	ErrDevice      = errors.New("device")               // a device, stream or call that cannot do what was requested
	ErrOutOfMemory = errors.New("out of device memory") // the pool's limit, or the device's memory
	ErrNoGPU       = errors.New("no usable GPU")        // a GPU was requested but none can be used
	ErrFreed       = errors.New("use after Free")       // memory that has been freed
)

// The errors for nil and zero values of the package's types.
var (
	errNoDevice      = errorf("a nil or zero Device; Open returns one")
	errNoStream      = errorf("a nil or zero Stream; NewStream returns one")
	errNoEvent       = errorf("a nil or zero Event; NewEvent returns one")
	errNoBuffer      = errorf("a nil or zero Buffer; Alloc returns one")
	errNoGraph       = errorf("a nil or zero Graph; EndCapture returns one")
	errNoFetch       = errorf("a nil or zero copy to the host; Fetch starts one")
	errNoCompilation = errorf("a nil or zero compilation; compileLater starts one")
	errNoFunction    = errorf("a nil or zero Function; Compile returns one")
	errNoWork        = errorf("a nil function or Work")
	errNoContext     = errorf("a nil Context; use context.Background() for no deadline")
)

func errorf(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrDevice, fmt.Errorf(format, args...))
}

// driverError is an error code of the CUDA driver.
type driverError struct {
	code       int
	call       string // cuMemAlloc
	name, text string // CUDA_ERROR_OUT_OF_MEMORY, out of memory
}

// codeOutOfMemory is CUDA_ERROR_OUT_OF_MEMORY.
const codeOutOfMemory = 2

func (e *driverError) Error() string {
	return fmt.Sprintf("%s: %s (%d): %s", e.call, e.name, e.code, e.text)
}

// Is makes every driver error an ErrDevice, and one for lack of memory also an
// ErrOutOfMemory.
func (e *driverError) Is(target error) bool {
	return target == ErrDevice || target == ErrOutOfMemory && e.code == codeOutOfMemory
}

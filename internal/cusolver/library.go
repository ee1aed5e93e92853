package cusolver

import (
	"errors"
	"fmt"
	"sync"

	"github.com/gpk-go/gpk/internal/dynlib"
)

// files are the names of the library: of CUDA 13 and of CUDA 12.
var files = []string{"libcusolver.so.12", "libcusolver.so.11", "libcusolver.so"}

var library struct {
	once    sync.Once
	path    string
	version int
	err     error
}

// Load finds and opens cuSOLVER, once. The error is a *dynlib.NotFoundError.
func Load() error {
	library.once.Do(func() {
		l := &dynlib.Library{Name: "cuSOLVER", Files: files, Env: "GPK_CUSOLVER", Wheels: "cusolver"}
		library.err = l.Find(func(path string) (err error) {
			library.path = path
			library.version, err = load(path)
			return err
		})
	})
	return library.err
}

// Version names the library: cuSOLVER 12.0.4. It is there when Load has returned nil.
func Version() string {
	v := library.version
	return fmt.Sprintf("cuSOLVER %d.%d.%d", v/1000, v%1000/100, v%100)
}

// Path returns the file of the library.
func Path() string { return library.path }

// Error is a result of cuSOLVER.
type Error struct {
	Call string
	Code int
}

// Error names the call and the result.
func (e *Error) Error() string {
	if e == nil {
		return "cuSOLVER failed"
	}
	name := map[int]string{
		1: "CUSOLVER_STATUS_NOT_INITIALIZED", 2: "CUSOLVER_STATUS_ALLOC_FAILED", 3: "CUSOLVER_STATUS_INVALID_VALUE",
		4: "CUSOLVER_STATUS_ARCH_MISMATCH", 5: "CUSOLVER_STATUS_MAPPING_ERROR", 6: "CUSOLVER_STATUS_EXECUTION_FAILED",
		7: "CUSOLVER_STATUS_INTERNAL_ERROR", 8: "CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED", 9: "CUSOLVER_STATUS_NOT_SUPPORTED",
		10: "CUSOLVER_STATUS_ZERO_PIVOT", 31: "CUSOLVER_STATUS_INVALID_WORKSPACE",
	}[e.Code]
	if name == "" {
		name = "unknown result"
	}
	return fmt.Sprintf("%s: %s (%d)", e.Call, name, e.Code)
}

// allocFailed is CUSOLVER_STATUS_ALLOC_FAILED: the device has no memory for cuSOLVER's own allocations.
const allocFailed = 2

func isAllocFailed(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == allocFailed
}

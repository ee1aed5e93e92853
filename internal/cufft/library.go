package cufft

import (
	"fmt"
	"sync"

	"github.com/gpk-go/gpk/internal/dynlib"
)

// files are the names of the library: of CUDA 13 and of CUDA 12.
var files = []string{"libcufft.so.12", "libcufft.so.11", "libcufft.so"}

var library struct {
	once    sync.Once
	path    string
	version int
	err     error
}

// Load finds and opens cuFFT, once. The error is a *dynlib.NotFoundError.
func Load() error {
	library.once.Do(func() {
		l := &dynlib.Library{Name: "cuFFT", Files: files, Env: "GPK_CUFFT", Wheels: "cufft"}
		library.err = l.Find(func(path string) (err error) {
			library.path = path
			library.version, err = load(path)
			return err
		})
	})
	return library.err
}

// Version names the library: cuFFT 12.0.0. It is there when Load has returned nil.
func Version() string {
	v := library.version
	return fmt.Sprintf("cuFFT %d.%d.%d", v/1000, v%1000/100, v%100)
}

// Error is a result of cuFFT.
type Error struct {
	Call string
	Code int
}

// Error names the call and the result.
func (e *Error) Error() string {
	if e == nil {
		return "cuFFT failed"
	}
	name := map[int]string{
		1: "CUFFT_INVALID_PLAN", 2: "CUFFT_ALLOC_FAILED", 3: "CUFFT_INVALID_TYPE", 4: "CUFFT_INVALID_VALUE", 5: "CUFFT_INTERNAL_ERROR",
		6: "CUFFT_EXEC_FAILED", 7: "CUFFT_SETUP_FAILED", 8: "CUFFT_INVALID_SIZE", 9: "CUFFT_UNALIGNED_DATA", 11: "CUFFT_INVALID_DEVICE",
		13: "CUFFT_NO_WORKSPACE", 14: "CUFFT_NOT_IMPLEMENTED", 16: "CUFFT_NOT_SUPPORTED", 17: "CUFFT_MISSING_DEPENDENCY",
		18: "CUFFT_NVRTC_FAILURE", 19: "CUFFT_NVJITLINK_FAILURE",
	}[e.Code]
	if name == "" {
		name = "unknown result"
	}
	return fmt.Sprintf("%s: %s (%d)", e.Call, name, e.Code)
}

// allocFailed is the result where the device has no memory for a plan.
const allocFailed = 2

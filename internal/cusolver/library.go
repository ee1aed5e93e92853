package cusolver

import "github.com/gpk-go/gpk/internal/dynlib"

var library = newLibrary()

// newLibrary describes cuSOLVER of CUDA 13 and of CUDA 12.
func newLibrary() *dynlib.Opened {
	return &dynlib.Opened{
		Library: dynlib.Library{
			Name: "cuSOLVER", Files: []string{"libcusolver.so.12", "libcusolver.so.11", "libcusolver.so"}, Env: "GPK_CUSOLVER", Wheels: "cusolver",
		},
		Bind: bind, BindDriver: bindDriver, Major: 1000,
		Codes: map[int]string{
			1: "CUSOLVER_STATUS_NOT_INITIALIZED", 2: "CUSOLVER_STATUS_ALLOC_FAILED", 3: "CUSOLVER_STATUS_INVALID_VALUE",
			4: "CUSOLVER_STATUS_ARCH_MISMATCH", 5: "CUSOLVER_STATUS_MAPPING_ERROR", 6: "CUSOLVER_STATUS_EXECUTION_FAILED",
			7: "CUSOLVER_STATUS_INTERNAL_ERROR", 8: "CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED", 9: "CUSOLVER_STATUS_NOT_SUPPORTED",
			10: "CUSOLVER_STATUS_ZERO_PIVOT", 31: "CUSOLVER_STATUS_INVALID_WORKSPACE",
		},
	}
}

// Load finds and opens cuSOLVER, once. The error is a *dynlib.NotFoundError.
func Load() error { return library.Load() }

// Version names the library, such as "cuSOLVER 12.0.4". It is known once Load has returned nil.
func Version() string { return library.Version() }

// Path returns the file of the library.
func Path() string { return library.Path() }

// Failure returns the error of a result of cuSOLVER, nil for 0.
func Failure(call string, code int) error { return library.Failure(call, code, "") }

// StatusOf returns the result of cuSOLVER in an error, or nil.
func StatusOf(err error) *dynlib.StatusError { return library.StatusOf(err) }

// allocFailed is CUSOLVER_STATUS_ALLOC_FAILED: the device has no memory for cuSOLVER's own allocations.
const allocFailed = 2

func isAllocFailed(err error) bool {
	e := StatusOf(err)
	return e != nil && e.Code == allocFailed
}

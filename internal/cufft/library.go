package cufft

import "github.com/gpk-go/gpk/internal/dynlib"

// library is cuFFT of CUDA 13 and of CUDA 12.
var library = &dynlib.Opened{
	Library: dynlib.Library{Name: "cuFFT", Files: []string{"libcufft.so.12", "libcufft.so.11", "libcufft.so"}, Env: "GPK_CUFFT", Wheels: "cufft"},
	Bind:    bind, BindDriver: bindDriver, Major: 1000,
	Codes: map[int]string{
		1: "CUFFT_INVALID_PLAN", 2: "CUFFT_ALLOC_FAILED", 3: "CUFFT_INVALID_TYPE", 4: "CUFFT_INVALID_VALUE", 5: "CUFFT_INTERNAL_ERROR",
		6: "CUFFT_EXEC_FAILED", 7: "CUFFT_SETUP_FAILED", 8: "CUFFT_INVALID_SIZE", 9: "CUFFT_UNALIGNED_DATA", 11: "CUFFT_INVALID_DEVICE",
		13: "CUFFT_NO_WORKSPACE", 14: "CUFFT_NOT_IMPLEMENTED", 16: "CUFFT_NOT_SUPPORTED", 17: "CUFFT_MISSING_DEPENDENCY",
		18: "CUFFT_NVRTC_FAILURE", 19: "CUFFT_NVJITLINK_FAILURE",
	},
}

// Load finds and opens cuFFT, once. The error is a *dynlib.NotFoundError.
func Load() error { return library.Load() }

// Version names the library, such as "cuFFT 12.0.0". It is known once Load has returned nil.
func Version() string { return library.Version() }

// allocFailed is CUFFT_ALLOC_FAILED: the device has no memory for a plan.
const allocFailed = 2

func isAllocFailed(err error) bool {
	e := library.StatusOf(err)
	return e != nil && e.Code == allocFailed
}

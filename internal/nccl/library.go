package nccl

import (
	"sync"

	"github.com/gpk-go/gpk/internal/dynlib"
)

// MinVersion is the oldest NCCL that is used: 2.27.0, whose ncclConfig_t is a prefix of all later ones.
const MinVersion = 22700

var library = newLibrary()

func newLibrary() *dynlib.Opened {
	return &dynlib.Opened{
		Library: dynlib.Library{Name: "NCCL", Files: []string{"libnccl.so.2"}, Env: "GPK_NCCL", Wheels: "nccl"},
		Bind:    bind, BindDriver: bindDriver, Major: 10000, Least: MinVersion,
		Codes: map[int]string{
			1: "ncclUnhandledCudaError", 2: "ncclSystemError", 3: "ncclInternalError", 4: "ncclInvalidArgument", 5: "ncclInvalidUsage",
			6: "ncclRemoteError", 7: "ncclInProgress",
		},
	}
}

// how is the names of functions, with the version of the library.
var how struct {
	once  sync.Once
	names [len(names)]string
}

// Load finds and opens NCCL, once. The error is a *dynlib.NotFoundError.
func Load() error {
	if err := library.Load(); err != nil {
		return err
	}
	how.once.Do(func() {
		for i, name := range names {
			how.names[i] = name + " of " + Version()
		}
	})
	return nil
}

// Version names the library, such as "NCCL 2.28.9". It is known once Load has returned nil.
func Version() string { return library.Version() }

// Number returns the number of the version: 22809 is 2.28.9.
func Number() int { return library.Number() }

// Path returns the file of the library.
func Path() string { return library.Path() }

package nccl

import (
	"fmt"
	"sync"

	"github.com/gpk-go/gpk/internal/dynlib"
)

// MinVersion is the oldest NCCL that is used: 2.27.0, whose ncclConfig_t is a prefix of all later ones.
const MinVersion = 22700

var library struct {
	once    sync.Once
	path    string
	version int
	how     [len(names)]string // the names of functions, with the version
	err     error
}

// Load finds and opens NCCL, once. The error is a *dynlib.NotFoundError.
func Load() error {
	library.once.Do(func() {
		l := &dynlib.Library{Name: "NCCL", Files: []string{"libnccl.so.2"}, Env: "GPK_NCCL", Wheels: "nccl"}
		library.err = l.Find(func(path string) (err error) {
			library.path = path
			library.version, err = load(path)
			return err
		})
		for i, name := range names {
			library.how[i] = name + " of " + Version()
		}
	})
	return library.err
}

// Version names the library, such as "NCCL 2.28.9". It is known once Load has returned nil.
func Version() string { return versionText(library.version) }

// Number returns the number of the version: 22809 is 2.28.9.
func Number() int { return library.version }

// Path returns the file of the library.
func Path() string { return library.path }

func versionText(v int) string {
	return fmt.Sprintf("NCCL %d.%d.%d", v/10000, v%10000/100, v%100)
}

// checkVersion refuses a library whose structures differ from those that this package passes.
func checkVersion(v int) error {
	if v < MinVersion {
		return fmt.Errorf("it is %s; %s or newer is needed", versionText(v), versionText(MinVersion))
	}
	return nil
}

// Error is a result of NCCL.
type Error struct {
	Call   string
	Code   int
	Detail string // the text of ncclGetLastError when the call returned
}

// Error names the call, the result and the text of NCCL.
func (e *Error) Error() string {
	if e == nil {
		return "NCCL failed"
	}
	name := map[int]string{
		1: "ncclUnhandledCudaError", 2: "ncclSystemError", 3: "ncclInternalError", 4: "ncclInvalidArgument", 5: "ncclInvalidUsage",
		6: "ncclRemoteError", 7: "ncclInProgress",
	}[e.Code]
	if name == "" {
		name = "unknown result"
	}
	s := fmt.Sprintf("%s: %s (%d)", e.Call, name, e.Code)
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

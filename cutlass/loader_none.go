//go:build !(cgo && linux && (amd64 || arm64) && !nocuda)

package cutlass

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

type entries struct{} //nolint:unused // that of the CUDA build has members

// Built returns the reason why this program cannot load kernels; the error wraps
// ErrNotBuilt. It is never nil in this build.
func Built() error { return fmt.Errorf("%w: %s", ErrNotBuilt, missing()) }

// missing names the first condition of the CUDA files' build constraint that this build
// does not meet.
func missing() string {
	switch {
	case runtime.GOOS != "linux":
		return "the kernel library needs Linux, this is " + runtime.GOOS
	case runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64":
		return "the kernel library needs amd64 or arm64, this is " + runtime.GOARCH
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "-tags" && slices.Contains(strings.Split(s.Value, ","), "nocuda"):
				return "it was built with -tags nocuda"
			case s.Key == "CGO_ENABLED" && s.Value == "0":
				return "it was built without cgo: install a C compiler (apt-get install gcc libc6-dev) and build again, with CGO_ENABLED=1 if that variable is set"
			}
		}
	}
	return "it was built without cgo, or with -tags nocuda"
}

func load(string) (*Library, error) { return nil, Built() }

// GemmWorkspace returns ErrNotBuilt, like every method of this build.
func (*Library) GemmWorkspace(device, kernel int, m, n, k, batch int64) (int64, error) {
	return 0, Built()
}

// PrepareWorkspace returns ErrNotBuilt.
func (*Library) PrepareWorkspace(device int, t dtype.DType, form Form, m, n, k, batch int) (int64, error) {
	return 0, Built()
}

// Prepare returns ErrNotBuilt.
func (*Library) Prepare(device int, stream uint64, t dtype.DType, form Form, k, batch int, a, b Prepared, workspace uint64, workspaceBytes int64) error {
	return Built()
}

// Arange returns ErrNotBuilt.
func (*Library) Arange(device int, stream uint64, typ dtype.DType, n int, start, step float64, dst uint64) error {
	return Built()
}

// ReduceWorkspace returns ErrNotBuilt.
func (*Library) ReduceWorkspace(device int, op expr.Op, xType, dstType dtype.DType, shape []int, axes uint32) (int64, error) {
	return 0, Built()
}

// Spin returns ErrNotBuilt.
func (*Library) Spin(device int, stream uint64, microseconds int64) error { return Built() }

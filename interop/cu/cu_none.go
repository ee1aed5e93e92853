//go:build !(cgo && linux && (amd64 || arm64) && !nocuda && gorgonia_cu)

package cu

import (
	"fmt"

	"github.com/gpk-go/gpk/expr"
)

// Available returns nil if this build shares memory with gorgonia.org/cu. Otherwise it
// returns an ErrUnsupported that says what the build lacks.
func Available() error {
	return fmt.Errorf("%w: interop/cu needs Linux on amd64 or arm64, cgo, and the build tag gorgonia_cu", expr.ErrUnsupported)
}

package ops

import (
	"errors"
	"fmt"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// nameMissing adds operation, type and device to the error of a missing GPU kernel. The
// errors of CPU kernels name the operation and the type themselves.
func nameMissing(err error, op expr.Op, dt dtype.DType, dev *device.Device) error {
	if op == expr.None || dev.Kind() == device.CPU || !errors.Is(err, expr.ErrUnsupported) {
		return err
	}
	return fmt.Errorf("%v of %v on %v: %w", op, dt, dev, err)
}

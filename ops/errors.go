package ops

import (
	"errors"
	"fmt"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// missing names operation, type and device where the error is that there is no
// kernel for them; on the CPU the kernel has named them itself.
func missing(err error, op expr.Op, dt dtype.DType, dev *device.Device) error {
	if op == expr.None || dev.Kind() == device.CPU || !errors.Is(err, expr.ErrUnsupported) {
		return err
	}
	return fmt.Errorf("%v of %v on %v: %w", op, dt, dev, err)
}

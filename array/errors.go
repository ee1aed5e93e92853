package array

import (
	"errors"
	"fmt"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/operror"
	"github.com/gpk-go/gpk/internal/submit"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// ErrNonFinite is the error of an operation that needs finite values.
var ErrNonFinite = ops.ErrNonFinite

// OpError says which operation failed, on which operands, and where the program called it.
type OpError = operror.OpError

// isPermanent reports whether an error is caused by the operation and its operands. Any
// other error is caused by the state of the device, and the next try may succeed.
func isPermanent(err error) bool {
	for _, target := range [...]error{layout.ErrShape, dtype.ErrDType, expr.ErrUnsupported, ErrNonFinite, device.ErrFreed} {
		if errors.Is(err, target) {
			return true
		}
	}
	return isQueued(err)
}

// isQueued reports whether an error is that of work in the launch queue.
func isQueued(err error) bool {
	_, ok := errors.AsType[*submit.Error](err)
	return ok
}

// isData reports whether an error is caused by the elements, such as an index of Take.
func isData(err error) bool { return isPermanent(err) && !isFreed(err) && !isQueued(err) }

// freedBy returns the error of using an array that a call has freed.
func freedBy(c *call) error {
	return fmt.Errorf("%w: freed by %s at %v", device.ErrFreed, c.name, c.site)
}

func isFreed(err error) bool { return errors.Is(err, device.ErrFreed) }

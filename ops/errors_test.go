package ops

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/devicetest"
)

// TestNameMissing: the error of a missing GPU kernel names operation, type and device.
// Other errors are unchanged.
func TestNameMissing(t *testing.T) {
	gpu := devicetest.NewFake(device.Info{Name: "fake", Kind: device.CUDA, Index: 3}, device.CapabilitiesOf(90))
	host, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	none := fmt.Errorf("%w: no such kernel", expr.ErrUnsupported)
	for i := range Table {
		row := &Table[i]
		for _, dt := range row.Types {
			err := nameMissing(none, row.Op, dt, gpu)
			if !errors.Is(err, expr.ErrUnsupported) {
				t.Errorf("%v of %v: %v", row.Op, dt, err)
			}
			for _, name := range []string{row.Op.String(), dt.String(), gpu.String()} {
				if !strings.Contains(err.Error(), name) {
					t.Errorf("%v of %v: %q is not named: %v", row.Op, dt, name, err)
				}
			}
		}
	}
	if err := nameMissing(none, expr.Sort, dtype.Int8, host); err != none {
		t.Errorf("on the CPU, whose kernels name operation and type: %v", err)
	}
	for _, other := range []error{nil, device.ErrOutOfMemory} {
		if err := nameMissing(other, expr.Sort, dtype.Int8, gpu); err != other {
			t.Errorf("%v became %v", other, err)
		}
	}
}

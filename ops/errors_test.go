package ops

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// TestMissing: where a GPU has no kernel, the error names operation, type and device;
// any other error is left as it is.
func TestMissing(t *testing.T) {
	gpu := device.NewFake(device.Info{Name: "fake", Kind: device.CUDA, Index: 3}, device.CapabilitiesOf(90))
	host, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	none := fmt.Errorf("%w: no such kernel", expr.ErrUnsupported)
	for i := range Table {
		row := &Table[i]
		for _, dt := range row.Types {
			err := missing(none, row.Op, dt, gpu)
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
	if err := missing(none, expr.Sort, dtype.Int8, host); err != none {
		t.Errorf("on the CPU, whose kernels name what they lack: %v", err)
	}
	for _, other := range []error{nil, device.ErrOutOfMemory} {
		if err := missing(other, expr.Sort, dtype.Int8, gpu); err != other {
			t.Errorf("%v became %v", other, err)
		}
	}
}

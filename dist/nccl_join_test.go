package dist

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

// TestNCCLJoin joins over TCP. NCCL is used by default where it is found or if Engine asks for it, and not
// if Engine names another engine. Messages go through it too.
func TestNCCLJoin(t *testing.T) {
	for _, c := range []struct {
		name   string
		has    bool
		engine []Option
		used   bool
		fails  string
	}{
		{"by itself", true, nil, true, ""},
		{"asked", true, []Option{Engine(NCCL)}, true, ""},
		{"TCP", true, []Option{Engine(TCP)}, false, ""},
		{"no GPU", false, nil, false, ""},
		{"asked without a GPU", false, []Option{Engine(NCCL)}, false, "NCCL, but no rank is on a GPU"},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := fakeNCCL(t, func(*device.Device) bool { return c.has })
			errs := joined(t, 3, func(ctx context.Context, comm *Comm) error {
				if used := comm.Direct(); used != c.used {
					return fmt.Errorf("NCCL is used: %v", used)
				}
				x := gpk.Full(gpk.Float32, comm.Rank()+1, 5)
				if got, err := gpk.Item[float32](comm.AllReduce(x, Sum).Max()); err != nil || got != 6 {
					return fmt.Errorf("%v, %w", got, err)
				}
				switch into := gpk.Zeros(gpk.Float32, 5); comm.Rank() {
				case 1:
					if err := comm.Send(ctx, x, 2); err != nil {
						return err
					}
				case 2:
					if err := comm.Recv(ctx, into, 1); err != nil {
						return err
					}
					if got, err := gpk.Item[float32](into.Min()); err != nil || got != 2 {
						return fmt.Errorf("received %v, %w", got, err)
					}
				}
				return comm.Barrier(ctx)
			}, func(int, map[string]string) []Option { return c.engine })
			for rank, err := range errs {
				if c.fails == "" && err != nil || c.fails != "" && (!errors.Is(err, gpk.ErrUnsupported) || !strings.Contains(err.Error(), c.fails)) {
					t.Errorf("rank %d: %v", rank, err)
				}
			}
			if c.used {
				ended(t, log, "destroy")
			}
		})
	}
}

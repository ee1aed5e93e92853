package dist

import (
	"context"
	"testing"

	"github.com/gpk-go/gpk"
)

// BenchmarkHostTime measures the host time of a collective call without NCCL and the driver: the fake NCCL returns at
// once, and the GPUs are fake. In mode "processes" the ranks, which are goroutines here too, do not wait for each
// other.
func BenchmarkHostTime(b *testing.B) {
	for _, mode := range []string{"processes", "one process"} {
		b.Run(mode, func(b *testing.B) {
			fakeNCCL(b, ncclDevices.has)
			b.Setenv("GPK_FAKE_NCCL", "idle")
			g, err := Local(fakeGPUs(b, 2)...)
			if err != nil {
				b.Fatal(err)
			}
			defer g.Close()
			if mode == "processes" {
				separate(g)
			}
			b.ReportAllocs()
			err = g.Run(b.Context(), func(ctx context.Context, c *Comm) error {
				x := gpk.FromSlice([]float32{1, 2}).To(c.Device())
				if err := c.Barrier(ctx); err != nil {
					return err
				}
				if c.Rank() == 0 {
					b.ResetTimer()
				}
				for range b.N {
					y := c.AllReduce(x, Sum)
					if err := y.Err(); err != nil {
						return err
					}
					y.Free()
				}
				if c.Rank() == 0 {
					b.StopTimer()
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}

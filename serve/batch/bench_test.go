package batch

import (
	"fmt"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

// BenchmarkMatMuls times 64 products at once and one by one, on the default device. The
// smallest show what a call costs its caller.
func BenchmarkMatMuls(b *testing.B) {
	for _, n := range []int{4, 256} {
		as, bs := make([]*gpk.Array, 64), make([]*gpk.Array, 64)
		rng := gpk.NewRNG(1)
		for i := range as {
			as[i], bs[i] = rng.Normal(gpk.Float32, 0, 1, n, n), rng.Normal(gpk.Float32, 0, 1, n, n)
		}
		each := func(as, bs []*gpk.Array) []*gpk.Array {
			out := make([]*gpk.Array, len(as))
			for i := range as {
				out[i] = as[i].MatMul(bs[i])
			}
			return out
		}
		atOnce := func(as, bs []*gpk.Array) []*gpk.Array { return MatMuls(as, bs) }
		for name, f := range map[string]func(as, bs []*gpk.Array) []*gpk.Array{"at=once": atOnce, "at=each": each} {
			b.Run(fmt.Sprintf("n=%d/%s", n, name), func(b *testing.B) {
				for b.Loop() {
					out := f(as, bs)
					if err := gpk.Eval(out...); err != nil {
						b.Fatal(err)
					}
					for _, c := range out {
						c.Free()
					}
				}
				if err := device.Default().Synchronize(b.Context()); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

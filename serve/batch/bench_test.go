package batch

import (
	"fmt"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

// BenchmarkMatMuls times 64 products on the default device: at once, one by one with one
// Eval of all, and one by one with an Eval each. With wait the time ends when the results are
// there, without when they are started. The smallest show what a call costs its caller.
func BenchmarkMatMuls(b *testing.B) {
	ways := []struct {
		name string
		f    func(as, bs []*gpk.Array) []*gpk.Array
	}{
		{"once", func(as, bs []*gpk.Array) []*gpk.Array { return MatMuls(as, bs) }},
		{"each", func(as, bs []*gpk.Array) []*gpk.Array { return eachProduct(as, bs, false) }},
		{"each-eval", func(as, bs []*gpk.Array) []*gpk.Array { return eachProduct(as, bs, true) }},
	}
	for _, n := range []int{4, 256} {
		as, bs := make([]*gpk.Array, 64), make([]*gpk.Array, 64)
		rng := gpk.NewRNG(1)
		for i := range as {
			as[i], bs[i] = rng.Normal(gpk.Float32, 0, 1, n, n), rng.Normal(gpk.Float32, 0, 1, n, n)
		}
		for _, wait := range []bool{false, true} {
			for _, way := range ways {
				b.Run(fmt.Sprintf("n=%d/wait=%v/at=%s", n, wait, way.name), func(b *testing.B) { benchProducts(b, as, bs, wait, way.name == "once", way.f) })
			}
		}
	}
}

func eachProduct(as, bs []*gpk.Array, start bool) []*gpk.Array {
	out := make([]*gpk.Array, len(as))
	for i := range as {
		out[i] = as[i].MatMul(bs[i])
		if start {
			_ = gpk.Eval(out[i]) // the Eval of all returns an error
		}
	}
	return out
}

func benchProducts(b *testing.B, as, bs []*gpk.Array, wait, once bool, f func(as, bs []*gpk.Array) []*gpk.Array) {
	for b.Loop() {
		out := f(as, bs)
		err := gpk.Eval(out...)
		if err == nil && wait {
			err = device.Default().Synchronize(b.Context())
		}
		if err != nil {
			b.Fatal(err)
		}
		for _, c := range out {
			if c.Free(); once { // one frees them all
				break
			}
		}
	}
	if err := device.Default().Synchronize(b.Context()); err != nil {
		b.Fatal(err)
	}
}

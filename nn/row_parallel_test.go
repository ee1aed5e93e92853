package nn_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dist"
	"github.com/gpk-go/gpk/nn"
)

// TestRowParallel compares with plain loops in float64. The bound is that of a sum of K products in any
// order, and n+1 further roundings (Higham, Accuracy and Stability, section 3.1): |error| is at
// most g (|x| |w| + |b|), with g = m u/(1 - m u), m = K+n+2, u = 2^-24.
func TestRowParallel(t *testing.T) {
	r := seeded(t)
	for _, n := range []int{1, 2, 4} {
		for _, chunks := range []int{0, 1, 3, 1000} {
			in, out, rows := n*(1+r.IntN(60)), 1+r.IntN(40), 1+r.IntN(30)
			l := nn.NewLinear(in, out, true)
			nn.SetPrecision(l, gpk.FullPrecision)
			w, wa := values(r, 1, out, in)
			b, ba := values(r, 1, out)
			if err := errors.Join(l.Weight.Set(wa), l.Bias.Set(ba)); err != nil {
				t.Fatal(err)
			}
			xs, x := values(r, 1, rows, in)
			m := float64(in+n+2) * math.Ldexp(1, -24)
			bound := m / (1 - m)
			ranks(t, n, func(c *dist.Comm) error {
				p, err := nn.NewRowParallel(c, l)
				if err != nil {
					return err
				}
				p.Chunks = chunks
				k := in / n * c.Rank()
				y := p.Forward(x.Slice(-1, k, k+in/n))
				if n == 1 {
					return sameBits(y, l.Forward(x))
				}
				got, err := gpk.ToSlice[float32](y)
				if err != nil {
					return err
				}
				for i := range rows {
					for j := range out {
						sum, size := float64(b[j]), math.Abs(float64(b[j]))
						for q := range in {
							v := float64(xs[i*in+q]) * float64(w[j*in+q])
							sum, size = sum+v, size+math.Abs(v)
						}
						if d := math.Abs(float64(got[i*out+j]) - sum); !(d <= bound*size) {
							return fmt.Errorf("%d ranks, %d chunks: element %d, %d of %dx%d is %v, want %v within %v", n, chunks, i, j, rows, out, got[i*out+j], sum, bound*size)
						}
					}
				}
				// All ranks have the same bits.
				first := c.Broadcast(y, 0)
				return sameBits(y, first)
			})
		}
	}
}

// TestRowShapes checks that RowParallel takes the shapes, types and activations that Linear takes. Let A be
// |x| |w| + |b| and u the type's unit. The products of both ranks are together off by at most u A, and so is
// their sum. An activation, whose slope is below 1.2, rounds once more. The layer's own result is off by
// u A. The bound is 4.4 u A in all. In float32 the 8 terms of the sums round too.
func TestRowShapes(t *testing.T) {
	r := seeded(t)
	for _, dt := range []gpk.DType{gpk.Float32, gpk.BFloat16} {
		for _, act := range []nn.Activation{nn.Identity, nn.GELU, nn.GELUTanh, nn.ReLU, nn.SiLU} {
			l, _ := filled(t, r, nn.NewLinear(8, 6, true))
			l.Activation = act
			if err := nn.Cast(l, dt); err != nil {
				t.Fatal(err)
			}
			for _, shape := range [][]int{{8}, {0, 8}, {2, 0, 8}, {1, 8}, {2, 3, 8}, {2, 1, 2, 8}} {
				_, x := values(r, 1, shape...)
				x = x.Cast(dt)
				want := l.Forward(x)
				size := gpk.Linear(x.Abs(), l.Weight.Array().Abs(), l.Bias.Array().Abs()).Cast(gpk.Float32)
				ranks(t, 2, func(c *dist.Comm) error {
					p, err := nn.NewRowParallel(c, l)
					if err != nil {
						return err
					}
					p.Chunks = 2
					y := p.Forward(x.Slice(-1, 4*c.Rank(), 4*c.Rank()+4))
					if y.DType() != dt || !slices.Equal(y.Shape(), want.Shape()) {
						return fmt.Errorf("%v: %v %v, want %v", shape, y.DType(), y, want.Shape())
					}
					if want.Size() == 0 {
						return gpk.Eval(y)
					}
					unit := map[gpk.DType]float64{gpk.Float32: 8 * math.Ldexp(1, -24), gpk.BFloat16: math.Ldexp(1, -8)}[dt]
					over, err := gpk.Item[float32](y.Cast(gpk.Float32).Sub(want.Cast(gpk.Float32)).Abs().Div(size).Max())
					if err != nil || !(float64(over) <= 5*unit) {
						return fmt.Errorf("%v of %v, activation %d: %v of its size off, at most %v: %v", dt, shape, act, over, 5*unit, err)
					}
					return nil
				})
			}
		}
	}
}

// TestOverlap checks that while a rank waits in the AllReduce of the first chunk, the products of the other
// chunks are computed. The other rank calls Forward only once it sees an allocation for each.
func TestOverlap(t *testing.T) {
	const rows, out, chunks = 4096, 256, 32
	l, _ := filled(t, seeded(t), nn.NewLinear(8, out, false))
	ranks(t, 2, func(c *dist.Comm) error {
		p, err := nn.NewRowParallel(c, l)
		if err != nil {
			return err
		}
		p.Chunks = chunks
		x := gpk.Ones(gpk.Float32, rows, 4)
		if err := gpk.Eval(x, p.Linear.Forward(gpk.Ones(gpk.Float32, 1, 4))); err != nil { // Forward packs the weight
			return err
		}
		allocations := func() uint64 { return c.Device().Pool().Allocs + c.Device().Pool().Reuses }
		before := allocations()
		if err := c.Barrier(t.Context()); err != nil { // both ranks have counted their allocations
			return err
		}
		if c.Rank() == 1 {
			for end := time.Now().Add(time.Minute); allocations() < before+chunks; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					return fmt.Errorf("%d allocations for %d products", allocations()-before, chunks)
				}
			}
		}
		return p.Forward(x).Err()
	})
}

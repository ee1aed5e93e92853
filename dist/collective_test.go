package dist

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/x448/float16"
)

// cpu returns n times the CPU.
func cpu(t testing.TB, n int) []*device.Device {
	t.Helper()
	d := devicetest.DefaultCPU(t)
	return slices.Repeat([]*device.Device{d}, n)
}

// local runs f on n ranks on the CPU.
func local(t *testing.T, n int, f func(ctx context.Context, c *Comm) error) {
	t.Helper()
	g, err := Local(cpu(t, n)...)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if err := g.Run(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

// random returns a generator with a printed seed.
func random(t *testing.T) *rand.Rand {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// small returns an integer from -3 to 3, so that sums and products of a few are exact in each type.
func small(r *rand.Rand) complex128 { return complex(float64(r.IntN(7)-3), 0) }

// expected returns the element-wise reduction of tensors, by a plain loop.
func expected(op Op, dt dtype.DType, xs []tensor) tensor {
	values := make([]complex128, len(xs))
	return build(xs[0].shape, func(index []int) complex128 {
		for i, x := range xs {
			values[i] = x.at(index)
		}
		out := values[0]
		for _, v := range values[1:] {
			switch op {
			case Prod:
				out *= v
			case Max:
				out = complex(max(real(out), real(v)), 0)
			case Min:
				out = complex(min(real(out), real(v)), 0)
			default:
				out += v
			}
		}
		if op == Mean {
			out /= complex(float64(len(xs)), 0)
		}
		return out
	})
}

// seen returns the elements of the tensor as an array of the type has them.
func seen(t *testing.T, i int, x tensor) tensor {
	t.Helper()
	data, err := types[i].read(types[i].array(x))
	if err != nil {
		t.Fatal(err)
	}
	return tensor{x.shape, data}
}

// cut returns part i of p along an axis, and join is the inverse of all parts.
func cut(x tensor, axis, i, p int) tensor {
	shape := slices.Clone(x.shape)
	shape[axis] /= p
	return build(shape, func(index []int) complex128 {
		at := slices.Clone(index)
		at[axis] += i * shape[axis]
		return x.at(at)
	})
}

func join(xs []tensor, axis int) tensor {
	shape := slices.Clone(xs[0].shape)
	n := shape[axis]
	shape[axis] *= len(xs)
	return build(shape, func(index []int) complex128 {
		at := slices.Clone(index)
		at[axis] %= n
		return xs[index[axis]/n].at(at)
	})
}

// TestCollectives compares every collective function, for every type, on random shapes and
// layouts, with plain loops.
func TestCollectives(t *testing.T) {
	r := random(t)
	for i, typ := range types {
		for _, p := range []int{1, 2, 3, 4, 7} {
			t.Run(fmt.Sprintf("%v/ranks=%d", typ.dt, p), func(t *testing.T) {
				shape := make([]int, 1+r.IntN(3))
				for d := range shape {
					shape[d] = r.IntN(5) * p
				}
				defer func(old int) { oneStep = old }(oneStep)
				if r.IntN(2) == 0 {
					oneStep = 8 // reduced in parts
				}
				xs := make([]tensor, p)
				for k := range xs {
					xs[k] = seen(t, i, build(shape, func([]int) complex128 {
						if typ.dt == dtype.Uint8 {
							return complex(float64(r.IntN(3)), 0)
						}
						if typ.dt.IsComplex() {
							return small(r) + 1i*small(r)
						}
						return small(r)
					}))
				}
				how, axis, root := r.IntN(4), r.IntN(len(shape)), r.IntN(p)
				local(t, p, func(_ context.Context, c *Comm) error {
					return compareAll(c, i, xs, how, axis, root)
				})
			})
		}
	}
}

// compareAll calls every collective function in one rank, and compares its results.
func compareAll(c *Comm, i int, xs []tensor, how, axis, root int) error {
	typ, me, p := types[i], c.Rank(), c.Size()
	a := laid(typ.array(xs[me]), how).To(c.Device())
	check := func(what string, got *gpk.Array, want tensor) error {
		data, err := typ.read(got)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if !slices.Equal(got.Shape(), want.shape) || got.DType() != typ.dt {
			return fmt.Errorf("%s: %v %v, want %v %v", what, got.Shape(), got.DType(), want.shape, typ.dt)
		}
		for j, v := range data {
			if w := want.data[j]; v != w {
				return fmt.Errorf("%s of %v: element %d is %v, want %v", what, want.shape, j, v, w)
			}
		}
		return nil
	}
	var errs []error
	for _, op := range []Op{Sum, Mean, Prod, Max, Min} {
		got := c.AllReduce(a, op)
		parts := c.ReduceScatter(a, op, axis)
		if err := reducible(op, typ.dt); err != nil {
			if !errors.Is(got.Err(), gpk.ErrDType) || !errors.Is(parts.Err(), gpk.ErrDType) {
				errs = append(errs, fmt.Errorf("%v of %v: %v, %v", op, typ.dt, got.Err(), parts.Err()))
			}
			continue
		}
		want := roundTo(typ.dt, expected(op, typ.dt, xs))
		errs = append(errs, check("AllReduce "+op.String(), got, want), check("ReduceScatter "+op.String(), parts, cut(want, axis, me, p)))
	}
	gathered := join(xs, axis)
	exchanged := make([]tensor, p)
	for k := range exchanged {
		exchanged[k] = cut(xs[k], axis, me, p)
	}
	return errors.Join(append(errs,
		check("AllGather", c.AllGather(a, axis-a.NDim()), gathered),
		check("Broadcast", c.Broadcast(a, root), xs[root]),
		check("AllToAll", c.AllToAll(a, axis), join(exchanged, axis)),
	)...)
}

// roundTo rounds the quotients of Mean to the type, as the exact result is rounded.
func roundTo(dt dtype.DType, x tensor) tensor {
	for i, v := range x.data {
		switch dt {
		case dtype.Int8:
			x.data[i] = complex(float64(int8(int64(real(v)))), 0) // wraps
		case dtype.Float32, dtype.Complex64:
			x.data[i] = complex128(complex64(v))
		case dtype.Float16:
			x.data[i] = complex(float64(float16.Fromfloat32(float32(real(v))).Float32()), 0)
		case dtype.BFloat16:
			x.data[i] = complex(float64(bfloat16.FromFloat32(float32(real(v))).Float32()), 0)
		}
	}
	return x
}

// TestScalars reduces 0-d arrays and NaN.
func TestScalars(t *testing.T) {
	local(t, 3, func(_ context.Context, c *Comm) error {
		x := gpk.Full(gpk.Float32, float64(c.Rank()+1))
		got, err := gpk.Item[float32](c.AllReduce(x, Mean))
		if err != nil || got != 2 {
			return fmt.Errorf("Mean is %v, %v", got, err)
		}
		if s := c.AllReduce(x, Sum).Shape(); len(s) != 0 {
			return fmt.Errorf("shape %v", s)
		}
		v := math.Inf(1)
		if c.Rank() == 1 {
			v = math.NaN()
		}
		for _, op := range []Op{Max, Min} {
			if got, err = gpk.Item[float32](c.AllReduce(gpk.Full(gpk.Float32, v), op)); err != nil || got == got {
				return fmt.Errorf("%v with a NaN is %v, %v", op, got, err)
			}
		}
		return nil
	})
}

// TestSameBits sums random numbers of any size: the order is that of the ranks, in one step and
// in parts.
func TestSameBits(t *testing.T) {
	r := random(t)
	const p = 5
	for _, n := range []int{1, 1000, 50000} {
		xs := make([][]float32, p)
		for k := range xs {
			xs[k] = make([]float32, n)
			for i := range xs[k] {
				xs[k][i] = float32(math.Ldexp(r.NormFloat64(), r.IntN(40)))
			}
		}
		local(t, p, func(_ context.Context, c *Comm) error {
			got, err := gpk.ToSlice[float32](c.AllReduce(gpk.FromSlice(xs[c.Rank()]), Sum))
			if err != nil {
				return err
			}
			for i, v := range got {
				want := xs[0][i]
				for k := 1; k < p; k++ {
					want += xs[k][i]
				}
				if v != want {
					return fmt.Errorf("element %d of %d is %v, want %v", i, n, v, want)
				}
			}
			return nil
		})
	}
}

// TestMessages sends arrays around a ring, several before the first is received.
func TestMessages(t *testing.T) {
	local(t, 4, func(ctx context.Context, c *Comm) error {
		right, left := (c.Rank()+1)%4, (c.Rank()+3)%4
		for i := range 3 {
			x := gpk.Arange(gpk.Int32, 6).Reshape(2, 3).Mul(c.Rank() + 10*i).T()
			if err := c.Send(ctx, x, right); err != nil {
				return err
			}
		}
		for i := range 3 {
			into := gpk.Zeros(gpk.Int32, 3, 2)
			if err := c.Recv(ctx, into.T().T(), left); err != nil {
				return err
			}
			got, err := gpk.ToSlice[int32](into)
			f := int32(left + 10*i)
			if want := []int32{0, 3 * f, f, 4 * f, 2 * f, 5 * f}; err != nil || !slices.Equal(got, want) {
				return fmt.Errorf("message %d is %v, %v, want %v", i, got, err, want)
			}
		}
		return nil
	})
}

// TestSplit sums within the ranks of each color, in the order of keys.
func TestSplit(t *testing.T) {
	local(t, 7, func(ctx context.Context, c *Comm) error {
		color := c.Rank() % 3
		if c.Rank() == 6 {
			color = -1
		}
		s, err := c.Split(ctx, color, -c.Rank())
		if err != nil {
			return err
		}
		if color < 0 {
			if s != nil {
				return errors.New("a rank of no color has a Comm")
			}
			return nil
		}
		got, err := gpk.ToSlice[int64](s.AllGather(gpk.FromSlice([]int64{int64(c.Rank())}), 0))
		if want := []int64{int64(color + 3), int64(color)}; err != nil || !slices.Equal(got, want) {
			return fmt.Errorf("color %d: %v, %v, want %v", color, got, err, want)
		}
		if s.Rank() != map[bool]int{true: 1, false: 0}[c.Rank() == color] || s.Size() != 2 {
			return fmt.Errorf("rank %d is %d of %d", c.Rank(), s.Rank(), s.Size())
		}
		return s.Barrier(ctx)
	})
}

// TestDevices runs every collective function on the devices that GPK_TEST_DEVICES lists.
func TestDevices(t *testing.T) {
	names := os.Getenv("GPK_TEST_DEVICES")
	if names == "" {
		t.Skip("NOT RUN: GPK_TEST_DEVICES=cuda:0,cuda:1 runs it on these")
	}
	r := random(t)
	var devices []*device.Device
	for name := range strings.SplitSeq(names, ",") {
		d, err := device.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		devices = append(devices, d)
	}
	p := len(devices)
	for i, typ := range types {
		xs := make([]tensor, p)
		for k := range xs {
			xs[k] = seen(t, i, build([]int{2 * p, 3, p}, func([]int) complex128 { return complex(float64(r.IntN(3)), 0) }))
		}
		g, err := Local(devices...)
		if err != nil {
			t.Fatal(err)
		}
		err = g.Run(t.Context(), func(_ context.Context, c *Comm) error {
			for how := range 4 {
				if err := compareAll(c, i, xs, how, how%2*2, how%p); err != nil {
					return err
				}
				if out := c.AllReduce(gpk.Ones(gpk.Float32, 3).To(c.Device()), Sum); out.Device() != c.Device() {
					return fmt.Errorf("a result is on %v", out.Device())
				}
			}
			return nil
		})
		if err := errors.Join(err, g.Close()); err != nil {
			t.Errorf("%v: %v", typ.dt, err)
		}
	}
}

package gpktest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/devicetest"
)

var allTypes = dtype.All[:]

// equal fails unless two tensors have the same shape, type and bits.
func equal(t testing.TB, what string, got, want tensor) {
	t.Helper()
	if got.dt != want.dt || !slices.Equal(got.shape, want.shape) {
		t.Fatalf("%s: %v %v, want %v %v", what, got.dt, got.shape, want.dt, want.shape)
	}
	if exact(got.dt) {
		sameInts(t, what, got.ints, want.ints)
		return
	}
	for i, w := range want.values {
		g := got.values[i]
		if !same(real(g), real(w)) || !same(imag(g), imag(w)) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, g, w)
		}
	}
}

// testTransfer copies values to the device and back by every function that copies.
func testTransfer(t *testing.T, s *suite) {
	for _, dt := range allTypes {
		for _, shape := range [][]int{{}, {0}, {1}, {17}, {3, 0, 2}, {31, 33}, {2, 3, 5, 7}} {
			x := s.random(dt, shape...)
			equal(t, name(dt, shape), read(t, x.array()), x)
		}
	}
	// Sizes about the staging buffers' and the direct path's.
	for _, n := range []int{1, 1 << 14, 1<<16 + 3, 1 << 22, 9<<20 + 7} {
		if quick() && n > 1<<22 {
			continue
		}
		data := make([]float32, n)
		for i := range data {
			data[i] = s.rng.Float32()
		}
		a := gpk.FromSlice(data)
		got := make([]float32, n)
		for i := range got {
			got[i] = float32(math.NaN())
		}
		if err := gpk.ToSliceInto(got, a); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, data) {
			t.Fatalf("%d values came back changed", n)
		}
		// The slice may be reused as soon as FromSliceInto has returned.
		b := gpk.Full(gpk.Float32, math.NaN(), n)
		other := slices.Clone(data)
		if err := gpk.FromSliceInto(b, other); err != nil {
			t.Fatal(err)
		}
		clear(other)
		if got, err := gpk.ToSlice[float32](b); err != nil || !slices.Equal(got, data) {
			t.Fatalf("FromSliceInto of %d values: changed (%v)", n, err)
		}
		a.Free()
		b.Free()
	}
	// Into a strided view, and out of one.
	frame := poison(gpk.Float32, 6, 8)
	part := frame.Slice(0, 1, 5).Slice(1, 2, 6).T()
	x := s.random(gpk.Float32, 4, 4)
	data, _ := gpk.ToSlice[float32](x.array())
	if err := gpk.FromSliceInto(part, data); err != nil {
		t.Fatal(err)
	}
	equal(t, "a strided view", read(t, part), x)
	s.frameIntact(t, "FromSliceInto", read(t, frame), 1, 5, 2, 6)
	if v, err := gpk.Item[float32](gpk.Full(gpk.Float32, 2.5)); err != nil || v != 2.5 {
		t.Errorf("Item gives %v, %v", v, err)
	}
	cpu := devicetest.CPU(t)
	y := s.random(gpk.Float64, 33, 20)
	there := y.array().T().To(cpu)
	equal(t, "To the CPU", read(t, there), transposed(y))
	equal(t, "and back", read(t, there.To(s.dev).T()), y)
}

func testConstruct(t *testing.T, s *suite) {
	for _, dt := range allTypes {
		one := tensor{dt: dt, shape: []int{3, 4}, values: slices.Repeat([]complex128{1}, 12), ints: slices.Repeat([]int64{1}, 12)}
		equal(t, name("Ones", dt), read(t, gpk.Ones(dt, 3, 4)), one)
		eye := tensor{dt: dt, shape: []int{5, 5}, values: make([]complex128, 25), ints: make([]int64, 25)}
		for i := range 5 {
			eye.values[6*i], eye.ints[6*i] = 1, 1
		}
		equal(t, name("Eye", dt), read(t, gpk.Eye(dt, 5)), eye)
		zero := tensor{dt: dt, shape: []int{}, values: make([]complex128, 1), ints: make([]int64, 1)}
		equal(t, name("Zeros", dt), read(t, gpk.Zeros(dt)), zero)
		n := 100
		if dt == gpk.Bool {
			n = 2
		}
		count := tensor{dt: dt, shape: []int{n}, values: make([]complex128, n), ints: make([]int64, n)}
		for i := range n {
			count.values[i], count.ints[i] = complex(float64(i), 0), int64(i)
		}
		equal(t, name("Arange", dt), read(t, gpk.Arange(dt, n)), count)
		equal(t, name("Linspace", dt), read(t, gpk.Linspace(dt, 0, float64(n-1), n)), count)
	}
	equal(t, "Full complex128", read(t, gpk.Full(gpk.Complex128, 1-2i, 3)), tensor{dt: gpk.Complex128, shape: []int{3}, values: []complex128{1 - 2i, 1 - 2i, 1 - 2i}})
	equal(t, "Full", read(t, gpk.Full(gpk.Complex64, 1-2i, 2)), tensor{dt: gpk.Complex64, shape: []int{2}, values: []complex128{1 - 2i, 1 - 2i}})
}

// testViews compares random chains of views with the same chains on the
// reference's explicit indices.
func testViews(t *testing.T, s *suite) {
	for range rounds(300, 60) {
		dt := allTypes[s.rng.IntN(len(allTypes))]
		shape := make([]int, 1+s.rng.IntN(4))
		for i := range shape {
			shape[i] = 1 + s.rng.IntN(5)
		}
		x := s.random(dt, shape...)
		a := x.array()
		trail := fmt.Sprint(dt, shape)
		for range 1 + s.rng.IntN(5) {
			switch n := len(x.shape); s.rng.IntN(7) {
			case 0:
				perm := s.rng.Perm(n)
				trail += fmt.Sprint(" Transpose", perm)
				a, x = a.Transpose(perm...), x.transpose(perm)
			case 1:
				if n == 0 {
					continue
				}
				d := s.rng.IntN(n)
				length := x.shape[d]
				if length == 0 {
					continue
				}
				start, stop, step := s.rng.IntN(length), s.rng.IntN(length+1), 1+s.rng.IntN(2)
				if s.rng.IntN(2) == 0 {
					stop, step = s.rng.IntN(length+1)-length-1, -step
				}
				trail += fmt.Sprint(" Slice", []int{d, start, stop, step})
				a, x = a.Slice(d, start, stop, step), x.slice(d, start, stop, step)
			case 2:
				trail += " Reshape(-1)"
				if size(x.shape) == 0 {
					continue
				}
				a, x = a.Reshape(-1), x.permuted([]int{size(x.shape)}, func(i int) int { return i })
			case 3:
				d := s.rng.IntN(n + 1)
				trail += fmt.Sprint(" Unsqueeze", d)
				a, x = a.Unsqueeze(d), x.permuted(slices.Insert(slices.Clone(x.shape), d, 1), func(i int) int { return i })
			case 4:
				trail += " Squeeze"
				a, x = a.Squeeze(), x.permuted(slices.DeleteFunc(slices.Clone(x.shape), func(d int) bool { return d == 1 }), func(i int) int { return i })
			case 5:
				trail += " BroadcastTo"
				total := size(x.shape)
				a, x = a.BroadcastTo(append([]int{2}, x.shape...)...), x.permuted(append([]int{2}, x.shape...), func(i int) int { return i % total })
			case 6:
				trail += " Contiguous"
				a = a.Contiguous()
			}
			if err := a.Err(); err != nil {
				t.Fatalf("%s: %v", trail, err)
			}
		}
		equal(t, trail, read(t, a), x)
		equal(t, trail+" Clone", read(t, a.Clone()), x)
	}
}

func (x tensor) transpose(perm []int) tensor {
	shape := make([]int, len(perm))
	for i, p := range perm {
		shape[i] = x.shape[p]
	}
	from := make([]int, 0, size(shape))
	index(shape, func(ix []int) {
		jx := make([]int, len(ix))
		for i, p := range perm {
			jx[p] = ix[i]
		}
		from = append(from, at(x.shape, jx))
	})
	return x.permutedTo(shape, from)
}

func (x tensor) slice(d, start, stop, step int) tensor {
	if stop < 0 {
		stop += x.shape[d]
	}
	var keep []int
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		keep = append(keep, i)
	}
	shape := slices.Clone(x.shape)
	shape[d] = len(keep)
	from := make([]int, 0, size(shape))
	index(shape, func(ix []int) {
		jx := slices.Clone(ix)
		jx[d] = keep[ix[d]]
		from = append(from, at(x.shape, jx))
	})
	return x.permutedTo(shape, from)
}

// permutedTo is permuted with a list, which may be shorter than x.
func (x tensor) permutedTo(shape []int, from []int) tensor {
	y := tensor{dt: x.dt, shape: shape}
	for _, i := range from {
		if exact(x.dt) {
			y.ints = append(y.ints, x.ints[i])
		} else {
			y.values = append(y.values, x.values[i])
		}
	}
	return y
}

func testConcat(t *testing.T, s *suite) {
	for _, dt := range allTypes {
		x, y, z := s.random(dt, 3, 4), s.random(dt, 3, 2), s.random(dt, 3, 0)
		got := read(t, gpk.Concat(-1, x.array(), y.array(), z.array(), transposed(y).array().T()))
		want := tensor{dt: dt, shape: []int{3, 8}}
		for i := range 3 {
			if exact(dt) {
				want.ints = slices.Concat(want.ints, x.ints[4*i:4*i+4], y.ints[2*i:2*i+2], y.ints[2*i:2*i+2])
			} else {
				want.values = slices.Concat(want.values, x.values[4*i:4*i+4], y.values[2*i:2*i+2], y.values[2*i:2*i+2])
			}
		}
		equal(t, name("Concat", dt), got, want)
	}
}

package undo

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/layout"
)

// memory returns a buffer of n int32 and the slice over it.
func memory(t *testing.T, n int) (*device.Buffer, []int32) {
	t.Helper()
	d, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	buf, err := deviceapi.AllocExposed(d, int64(4*n))
	if err != nil {
		t.Fatal(err)
	}
	s := unsafe.Slice((*int32)(buf.Ptr()), n)
	for i := range s {
		s[i] = -1 // poison
	}
	return buf, s
}

// randomPart returns a part of a 2-D memory: some rows, some columns, every other one, or
// a transposed block.
func randomPart(rng *rand.Rand, whole layout.Layout) Part {
	lay := whole
	for d, n := range whole.Shape {
		start := rng.IntN(n)
		stop := start + 1 + rng.IntN(n-start)
		lay, _ = lay.Slice(d, start, stop, 1+rng.IntN(2))
	}
	if rng.IntN(3) == 0 {
		lay = lay.T()
	}
	return Part{lay, dtype.Int32}
}

// elements returns the places that a 2-D part has, by a loop.
func elements(p Part) (out []int) {
	l := p.Layout
	for i := range l.Shape[0] {
		for j := range l.Shape[1] {
			out = append(out, l.Offset+i*l.Strides[0]+j*l.Strides[1])
		}
	}
	return out
}

// meet reports whether two lists of places have one in common.
func meet(a, b []int) bool {
	return slices.ContainsFunc(a, func(i int) bool { return slices.Contains(b, i) })
}

// TestRebuild writes random parts of a memory, saving them first, and rebuilds random parts
// of random versions. Reference: a copy of the whole memory for every version.
func TestRebuild(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 50 {
		rows, cols := 1+rng.IntN(20), 1+rng.IntN(40)
		whole := Part{layout.Dense([]int{rows, cols}), dtype.Int32}
		buf, now := memory(t, rows*cols)
		s := buf.Device().DefaultStream()
		for i := range now {
			now[i] = rng.Int32()
		}
		var log Log
		var versions [][]int32
		var written [][]int
		for v := range 6 {
			versions = append(versions, slices.Clone(now))
			p := randomPart(rng, whole.Layout)
			saved, _ := memory(t, p.Layout.Size())
			if err := p.Save(s, saved, buf); err != nil {
				t.Fatal(err)
			}
			log.Add(p, v, saved)
			at := elements(p)
			written = append(written, at)
			for _, i := range at {
				now[i] = rng.Int32()
			}
		}
		for range 20 {
			v, p := rng.IntN(len(versions)), randomPart(rng, whole.Layout)
			at := elements(p)
			if meet(slices.Concat(written[v:]...), at) && !log.Lost(v, p, &whole.Layout) {
				t.Fatalf("seed %d: what a write has overwritten is not lost: version %d, %v", seed, v, p)
			}
			r := log.Rebuild(v, p, whole)
			if r.Low%alignment != 0 || r.Low < 0 || r.High > 4*rows*cols || r.Whole != (r.Low == 0 && r.High == 4*rows*cols) {
				t.Fatalf("seed %d: bytes %d to %d of %d, whole: %v", seed, r.Low, r.High, 4*rows*cols, r.Whole)
			}
			to, old := memory(t, (r.High-r.Low)/4)
			if err := r.Into(s, to, buf); err != nil {
				t.Fatal(err)
			}
			if r.Whole && !slices.Equal(old, versions[v]) {
				t.Fatalf("seed %d: version %d as a whole is %v, want %v", seed, v, old, versions[v])
			}
			for _, i := range at {
				if got, want := old[i-r.Low/4], versions[v][i]; got != want {
					t.Fatalf("seed %d: element %d of version %d is %d, want %d", seed, i, v, got, want)
				}
			}
		}
		var total int64
		for _, p := range log.Saved {
			total += p.Buffer.Size()
		}
		if total != log.NBytes {
			t.Fatalf("%d bytes are counted, %d are saved", log.NBytes, total)
		}
		first := log.Saved[0].Buffer
		if log.Drop(); len(log.Saved) != 0 || log.NBytes != 0 || !first.Freed() {
			t.Fatalf("after Drop: %d pieces, %d bytes, freed: %v", len(log.Saved), log.NBytes, first.Freed())
		}
	}
}

// TestMeets checks that parts that have an element in common meet, and that disjoint blocks
// do not.
func TestMeets(t *testing.T) {
	whole := layout.Dense([]int{8, 8})
	block := func(r0, r1, c0, c1 int) Part {
		l, _ := whole.Slice(0, r0, r1, 1)
		l, _ = l.Slice(1, c0, c1, 1)
		return Part{l, dtype.Int32}
	}
	for name, c := range map[string]struct {
		a, b Part
		want bool
	}{
		"rows apart":                  {block(0, 2, 0, 8), block(2, 4, 0, 8), false},
		"columns apart":               {block(0, 8, 0, 4), block(0, 8, 4, 8), false},
		"one element in common":       {block(0, 4, 0, 4), block(3, 8, 3, 8), true},
		"columns apart, another type": {block(0, 8, 0, 4), Part{block(0, 8, 4, 8).Layout, dtype.Float32}, true},
	} {
		if got := c.a.Meets(&c.b, &whole); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

package cpu

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// TestBFloat16Vectors compares the vector conversions with the scalar ones: for all
// bfloat16s, and for floats around ties, of every exponent, with NaNs among them.
func TestBFloat16Vectors(t *testing.T) {
	halves := make([]uint16, 1<<16+7)
	for i := range halves {
		halves[i] = uint16(i)
	}
	floats := make([]float32, len(halves))
	loadBFloat16(unsafe.Pointer(&floats[0]), unsafe.Pointer(&halves[0]), 2, len(halves))
	for i, b := range halves {
		if got, want := math.Float32bits(floats[i]), uint32(b)<<16; got != want {
			t.Fatalf("%#x widens to %#x", b, got)
		}
	}
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, low := range []uint32{0, 1, 0x7fff, 0x8000, 0x8001, 0xffff, rng.Uint32() & 0xffff} {
		for i := range floats {
			floats[i] = math.Float32frombits(uint32(uint16(i))<<16 | low)
		}
		clear(halves)
		floatsToBFloat16(unsafe.Pointer(&halves[0]), unsafe.Pointer(&floats[0]), len(floats))
		for i, b := range halves {
			if want := floatToBFloat16(floats[i]); b != want {
				t.Fatalf("seed %#x: %#x rounds to %#x, not %#x", seed, math.Float32bits(floats[i]), b, want)
			}
		}
	}
}

// TestBFloat16Lengths checks that nothing is written after the end.
func TestBFloat16Lengths(t *testing.T) {
	for n := range 70 {
		src, dst := make([]float32, n), make([]uint16, n+1)
		for i := range src {
			src[i] = float32(i + 1)
		}
		dst[n] = 0xdead
		floatsToBFloat16(unsafe.Pointer(&dst[0]), unsafe.Pointer(unsafe.SliceData(src)), n)
		back := make([]float32, n+1)
		back[n] = -1
		loadBFloat16(unsafe.Pointer(&back[0]), unsafe.Pointer(&dst[0]), 2, n)
		for i := range src {
			if back[i] != src[i] {
				t.Fatalf("%d numbers: %v came back as %v", n, src[i], back[i])
			}
		}
		if dst[n] != 0xdead || back[n] != -1 {
			t.Fatalf("%d numbers: one more was written", n)
		}
	}
}

func BenchmarkBFloat16(b *testing.B) {
	const n = 4096
	floats, halves := make([]float32, n), make([]uint16, n)
	for name, f := range map[string]func(){
		"widen": func() { loadBFloat16(unsafe.Pointer(&floats[0]), unsafe.Pointer(&halves[0]), 2, n) },
		"round": func() { floatsToBFloat16(unsafe.Pointer(&halves[0]), unsafe.Pointer(&floats[0]), n) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(6 * n)
			for b.Loop() {
				f()
			}
		})
	}
}

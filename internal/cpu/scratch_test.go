package cpu

import (
	"testing"
	"unsafe"
)

// TestScratch checks that a Scratch has the requested length, is aligned to a cache line at
// any size, and that freeing it twice or freeing a zero Scratch does nothing.
func TestScratch(t *testing.T) {
	for _, n := range []int{0, 1, 15, 16, 1000, maxScratch, maxScratch + 1} {
		s := NewScratch[float64](n)
		if len(s.Data()) != n {
			t.Fatalf("%d numbers instead of %d", len(s.Data()), n)
		}
		if n > 0 && n <= maxScratch {
			if at := uintptr(unsafe.Pointer(&s.Data()[0])) % 64; at != 0 {
				t.Errorf("%d numbers begin %d bytes into a cache line", n, at)
			}
		}
		other := NewScratch[float64](n)
		for i := range other.Data() {
			other.Data()[i] = 1
		}
		for i := range s.Data() {
			s.Data()[i] = 2
		}
		if n > 0 && other.Data()[n-1] != 1 {
			t.Fatal("two callers have the same memory")
		}
		s.Free()
		s.Free()
		other.Free()
		if s.Data() != nil {
			t.Error("memory after Free")
		}
	}
	var none Scratch[float32]
	none.Free()
}

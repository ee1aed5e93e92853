package cpu

import (
	"runtime/debug"
	"syscall"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/internal/testrand"
)

// TestUnpackedPages uses operands that begin or end at an unmapped page, so that an access
// outside of them faults.
func TestUnpackedPages(t *testing.T) {
	for _, v := range variants32 {
		t.Run("float32 "+v.name, func(t *testing.T) { testUnpackedPages(t, v) })
	}
	for _, v := range variants64 {
		t.Run("float64 "+v.name, func(t *testing.T) { testUnpackedPages(t, v) })
	}
}

func testUnpackedPages[T floating](t *testing.T, v *variant[T]) {
	if v.mulUnpacked == nil {
		if v.name != "go4x4" {
			t.Fatal("a variant in assembly packs every product")
		}
		t.Skip("the variant in Go packs every product")
	}
	rng := testrand.New(t)
	a, b, c := newFenced[T](t), newFenced[T](t), newFenced[T](t)
	shape := [3]int{}
	old := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(old)
	defer func() {
		if e := recover(); e != nil {
			t.Fatalf("%v: %v", shape, e)
		}
	}()
	run := 0
	for range 3000 {
		m, n, k := 1+rng.IntN(20), 1+rng.IntN(40), 1+rng.IntN(24)
		shape = [3]int{m, n, k}
		ars, acs, brs, bcs := k, 1, n, 1
		if rng.IntN(2) == 0 {
			ars, acs = 1, m
		}
		if rng.IntN(3) == 0 {
			brs, bcs = 1, k
		}
		atEnd := rng.IntN(2) == 0
		if v.gemmUnpacked(m, n, k, Operand{Data: ptr(a.place(m*k, atEnd)), RS: ars, CS: acs}, Operand{Data: ptr(b.place(k*n, atEnd)), RS: brs, CS: bcs}, c.place(m*n, atEnd), n) {
			run++
		}
	}
	if run < 1000 {
		t.Errorf("only %d of 3000 products were not packed", run)
	}
}

// fenced is memory between two inaccessible pages.
type fenced[T floating] struct{ data []T }

func newFenced[T floating](t *testing.T) fenced[T] {
	page := syscall.Getpagesize()
	m, err := syscall.Mmap(-1, 0, 4*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(m); err != nil {
			t.Error(err)
		}
	})
	for _, fence := range [][]byte{m[:page], m[3*page:]} {
		if err := syscall.Mprotect(fence, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return fenced[T]{unsafe.Slice((*T)(ptr(&m[page])), 2*page/int(unsafe.Sizeof(*new(T))))}
}

// place returns n elements at the end or at the beginning of the memory.
func (f fenced[T]) place(n int, atEnd bool) *T {
	if atEnd {
		return &f.data[len(f.data)-n]
	}
	return &f.data[0]
}

package device

import (
	"bytes"
	"runtime"
	"testing"
	"unsafe"
)

// TestExpose: exposed memory keeps its contents and is not given out again, whether
// its buffer is freed or dropped.
func TestExpose(t *testing.T) {
	for _, n := range []int64{4096, mapFrom, 8 << 20} {
		d := cpu(t, 1<<30)
		mapped := canMap && n >= mapFrom
		var shown [][]byte
		show := func(free bool) {
			b := alloc(t, d, n, nil)
			if b.exposable() == mapped {
				t.Errorf("%d bytes: Exposable is %v", n, !mapped)
			}
			b.Expose()
			s := unsafe.Slice((*byte)(b.Ptr()), n)
			copy(s, bytes.Repeat([]byte{byte(len(shown) + 1)}, int(n)))
			shown = append(shown, s)
			if free {
				b.Free()
				b.Free()
			}
		}
		show(true)
		show(false)
		eventually(t, "a dropped buffer", func() bool { d.collectNow(); return d.Pool().InUse == 0 })
		for range 5 { // would take the blocks
			b := alloc(t, d, n, nil)
			clear(b.bytes(0, n))
			defer b.Free()
		}
		if err := d.Trim(); err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		for i, s := range shown {
			if !bytes.Equal(s, bytes.Repeat([]byte{byte(i + 1)}, int(n))) {
				t.Errorf("%d bytes: slice %d was overwritten", n, i)
			}
		}
		want := int64(0)
		if mapped {
			want = 2 * n
		}
		if p := d.Pool(); p.Exposed != want || p.Cached != 0 || p.InUse != 5*n {
			t.Errorf("%d bytes: %+v", n, p)
		}
	}
}

// TestExposedCounts: memory that is kept for good counts in the limit.
func TestExposedCounts(t *testing.T) {
	d, _ := gpu(t, 64<<20)
	b := alloc(t, d, 40<<20, nil)
	b.Expose()
	b.Free()
	_, err := d.Alloc(32<<20, nil)
	is(t, err, ErrOutOfMemory)
	alloc(t, d, 24<<20, nil).Free()
	if p := d.Pool(); p.Exposed != 40<<20 || p.InUse != 0 {
		t.Errorf("%+v", p)
	}
	(&Buffer{}).Expose()
	(*Buffer)(nil).Expose()
}

// TestAllocExposed checks that slices into exposed memory keep the memory alive, which
// counts in the limit as long as its buffer is alive.
func TestAllocExposed(t *testing.T) {
	d := cpu(t, 64<<20)
	const n = 20<<20 + 7
	b, err := d.allocExposed(n)
	if err != nil {
		t.Fatal(err)
	}
	s := unsafe.Slice((*byte)(b.Ptr()), n)
	if !b.exposable() || b.Addr()%hostAlign != 0 || s[0] != 0 || s[n-1] != 0 {
		t.Errorf("Exposable is %v, at %#x, %d, %d", b.exposable(), b.Addr(), s[0], s[n-1])
	}
	s[n-1] = 7
	if p := d.Pool(); p.InUse != n {
		t.Errorf("%+v", p)
	}
	_, err = d.allocExposed(50 << 20)
	is(t, err, ErrOutOfMemory)
	b.Expose()
	b.Free()
	is(t, d.Launch(nil, []*Buffer{b}, nil, nil), ErrFreed)
	if p := d.Pool(); p.InUse != 0 || p.Cached != 0 || p.Exposed != 0 {
		t.Errorf("%+v", p)
	}
	for range 3 {
		runtime.GC()
		alloc(t, d, n, nil).Free()
	}
	if s[n-1] != 7 {
		t.Error("the slice's memory was reused")
	}
	for _, n := range []int64{-1, maxBytes + 1, 1 << 50} {
		if _, err := d.allocExposed(n); err == nil {
			t.Errorf("%d bytes", n)
		}
	}
	if b, err := d.allocExposed(0); err != nil || b.Ptr() != nil {
		t.Errorf("no bytes: %v", err)
	}
	g, _ := gpu(t, 0)
	if _, err := g.allocExposed(1); err == nil {
		t.Error("a GPU gave memory of the host")
	}
	// Memory of allocMapped is not unmapped either.
	m, err := d.allocMapped(n)
	if err != nil {
		t.Fatal(err)
	}
	m.Expose()
	s = unsafe.Slice((*byte)(m.Ptr()), n)
	m.Free()
	s[0] = 1
	if p := d.Pool(); canMap && p.Exposed != n {
		t.Errorf("%+v", p)
	}
}

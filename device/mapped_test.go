package device

import (
	"bytes"
	"context"
	"math/rand/v2"
	"runtime"
	"testing"
)

// TestAllocMapped: memory of zeros that counts as long as it is there, and is not
// kept.
func TestAllocMapped(t *testing.T) {
	const n = 40<<20 + 12345
	d := cpu(t, 100<<20)
	count := func() int64 { return d.Pool().InUse }
	for range 3 {
		b, err := d.allocMapped(n)
		if err != nil {
			t.Fatal(err)
		}
		mem := b.bytes(0, n)
		for i := 0; i < n; i += 4093 {
			if mem[i] != 0 {
				t.Fatalf("byte %d is %d", i, mem[i])
			}
			mem[i] = 0xff
		}
		mem[n-1] = 1
		if used := count(); used < n || used > n+n/8 {
			t.Errorf("%d bytes in use, asked for %d", used, n)
		}
		other, err := d.allocMapped(n)
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.allocMapped(n)
		is(t, err, ErrOutOfMemory)
		run(t, d.main, []*Buffer{b}, []*Buffer{other})
		other.Free()
		b.Free()
		b.Free()
		is(t, d.Launch(nil, []*Buffer{b}, nil, nil), ErrFreed)
		if p := d.Pool(); p.InUse != 0 || canMap && p.Cached != 0 {
			t.Errorf("%+v is left", p)
		}
	}
	// Dropped ones come back too, at the latest when their room is needed.
	for range 20 {
		b, err := d.allocMapped(n)
		if err != nil {
			t.Fatal(err)
		}
		b.bytes(0, n)[7] = 7
	}
	eventually(t, "memory of dropped buffers", func() bool {
		runtime.GC()
		return count() == 0
	})
	for _, n := range []int64{-1, maxBytes + 1, 1 << 50} {
		if _, err := d.allocMapped(n); err == nil {
			t.Errorf("%d bytes", n)
		}
	}
	b, err := d.allocMapped(0)
	if err != nil || b.Size() != 0 || b.Ptr() != nil {
		t.Errorf("no bytes: %v", err)
	}
	g, _ := gpu(t, 0)
	if _, err := g.allocMapped(n); err == nil {
		t.Error("a GPU gave memory of the host")
	}
	if err := d.Synchronize(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestSpreadCopy checks that a copy by several goroutines equals a copy by one.
func TestSpreadCopy(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(5))
	for _, n := range []int{0, 1, spreadBytes - 1, spreadBytes, spreadBytes + 1, 3*spreadBytes + 77} {
		src := randomBytes(rng, n)
		dst := bytes.Repeat([]byte{0xa5}, n+3)
		spreadCopy(dst[:n], src)
		if !bytes.Equal(dst[:n], src) || !bytes.Equal(dst[n:], []byte{0xa5, 0xa5, 0xa5}) {
			t.Errorf("%d bytes came over differently", n)
		}
	}
}

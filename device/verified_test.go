package device

import (
	"runtime"
	"testing"
)

// TestCheckOnce: one check serves all readers of the same contents. Other contents, another key, a check
// that failed or was dropped, and memory that others know are checked again.
func TestCheckOnce(t *testing.T) {
	d := NewFake(Info{Kind: CUDA, SM: 90, TotalMemory: 1 << 30}, Capabilities{})
	b, err := d.Alloc(64, nil)
	if err != nil {
		t.Fatal(err)
	}
	var results []*Buffer // keep their doubts
	drop := func() {
		for _, r := range results {
			r.Free()
		}
		results = nil
		for range 3 {
			runtime.GC()
		}
	}
	write := func() {
		t.Helper()
		if err := d.CopyFromHost(b, 0, make([]byte, 64), nil); err != nil {
			t.Fatal(err)
		}
	}
	check := func(what string, key any, word uint64, want bool) *Doubt {
		t.Helper()
		q, started, err := b.CheckOnce(key, func() (*Doubt, error) {
			r, q := doubted(t, d, word)
			results = append(results, r)
			return q, nil
		})
		if err != nil || started != want {
			t.Errorf("%s: started %v (%v)", what, started, err)
		}
		return q
	}
	write()
	first := check("the first", 1, 0, true)
	if q := check("again", 1, 1, false); q != first {
		t.Error("another doubt")
	}
	check("another key", 2, 0, true)
	write()
	failing := check("other contents", 1, 1, true)
	if err := failing.Wait(); err == nil {
		t.Fatal("no error")
	}
	fine := check("a check that failed", 1, 0, true)
	if err := fine.Wait(); err != nil {
		t.Fatal(err)
	}
	drop()
	if q := check("one that found nothing, whose results were dropped", 1, 1, false); q != nil {
		t.Error("a doubt that is cleared up")
	}
	write()
	check("other contents again", 1, 0, true)
	drop()
	if _, started, err := b.CheckOnce(1, func() (*Doubt, error) { return nil, nil }); !started || err != nil {
		t.Errorf("a check whose results were dropped: started %v (%v)", started, err)
	}
	check("memory of the device alone", 1, 0, true)
	b.Expose()
	check("memory that others know", 1, 0, true)
	check("memory that others know, again", 1, 0, true)
	if _, _, err := (*Buffer)(nil).CheckOnce(1, func() (*Doubt, error) { return nil, nil }); err == nil {
		t.Error("a nil buffer")
	}
}

package device

import (
	"testing"

	"github.com/gpk-go/gpk/internal/deferred"
)

// TestCheckOnce: one check serves all readers of the same contents. Other contents, another
// key, a check that failed, and memory that others know are checked again.
func TestCheckOnce(t *testing.T) {
	d := newFake(Info{Kind: CUDA, SM: 90, TotalMemory: 1 << 30}, Capabilities{})
	b, err := d.Alloc(64, nil)
	if err != nil {
		t.Fatal(err)
	}
	write := func() {
		t.Helper()
		if err := d.CopyFromHost(b, 0, make([]byte, 64), nil); err != nil {
			t.Fatal(err)
		}
	}
	check := func(what string, key any, word uint64, want bool) *deferred.Error {
		t.Helper()
		e, started, err := b.checkOnce(key, func() (*deferred.Error, error) {
			_, e, _ := uncertain(t, d, word)
			return e, nil
		})
		if err != nil || started != want {
			t.Errorf("%s: started %v (%v), want %v", what, started, err, want)
		}
		return e
	}
	write()
	first := check("the first", 1, 0, true)
	if e := check("again", 1, 1, false); e != first {
		t.Error("another error")
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
	if e := check("one that found nothing", 1, 1, false); e != nil {
		t.Error("an error that is known to be nil")
	}
	write()
	check("memory of the device alone", 1, 0, true)
	b.Expose()
	check("memory that others know", 1, 0, true)
	check("memory that others know, again", 1, 0, true)
	if _, _, err := (*Buffer)(nil).checkOnce(1, func() (*deferred.Error, error) { return nil, nil }); err == nil {
		t.Error("a nil buffer")
	}
}

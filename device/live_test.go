package device

import (
	"runtime"
	"testing"
)

func TestLiveBuffers(t *testing.T) {
	d := cpu(t, 0)
	old := alloc(t, d, 100, nil)
	mark := d.Buffers()
	if mark != 1 {
		t.Errorf("%d buffers were made, want 1", mark)
	}
	a, b, c := alloc(t, d, 10, nil), alloc(t, d, 20, nil), alloc(t, d, 30, nil)
	a.State().SetLabel(func() (what, origin string) { return "int8 [10]", "Add at a.go:1" })
	c.State().SetLabel(func() (what, origin string) { return "int8 [30]", "" })
	b.Free()
	want := []LiveBuffer{{30, "int8 [30]", ""}, {10, "int8 [10] of Add at a.go:1", "Add at a.go:1"}}
	got := d.LiveBuffers(mark)
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("live are %v, want %v", got, want)
	}
	if n := len(d.LiveBuffers(0)); n != 3 {
		t.Errorf("%d are live altogether, want 3", n)
	}
	runtime.KeepAlive(c)
	c = nil
	d.collectDropped()
	if got := d.LiveBuffers(mark); len(got) != 1 || got[0].Bytes != 10 {
		t.Errorf("after a collection %v are live; one was dropped", got)
	}
	for _, x := range []*Buffer{old, a} {
		x.Free()
	}
	if got := d.LiveBuffers(0); len(got) != 0 || d.Pool().InUse != 0 {
		t.Errorf("%v are left, %d bytes in use", got, d.Pool().InUse)
	}
}

func TestTraceAllocations(t *testing.T) {
	d := cpu(t, 0)
	small, large := alloc(t, d, labelledBytes-1, nil), alloc(t, d, labelledBytes, nil)
	defer small.Free()
	defer large.Free()
	check := func(want bool) {
		t.Helper()
		if small.WantsLabel() != want || !large.WantsLabel() {
			t.Errorf("labels are wanted of small %v and large %v, want %v and true", small.WantsLabel(), large.WantsLabel(), want)
		}
	}
	check(false)
	first, second := d.TraceAllocations(), d.TraceAllocations()
	check(true)
	first()
	first()
	check(true)
	second()
	check(false)
}

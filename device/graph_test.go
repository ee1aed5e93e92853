package device

import (
	"context"
	"testing"
)

func TestGraph(t *testing.T) {
	d, b := gpu(t, 0)
	s, other := stream(t, d, "s"), stream(t, d, "other")
	x, y := alloc(t, d, 1<<20, nil), alloc(t, d, 1<<20, nil)
	if err := s.BeginCapture(); err != nil {
		t.Fatal(err)
	}
	is(t, s.BeginCapture(), ErrDevice)
	is(t, s.Synchronize(context.Background()), ErrDevice)
	is(t, s.Close(), ErrDevice)
	is(t, d.CopyFromHost(x, 0, make([]byte, 8), s), ErrDevice)
	is(t, d.CopyToHost(make([]byte, 8), x, 0, s), ErrDevice)
	if err := d.Synchronize(context.Background()); err != nil {
		t.Error(err)
	}
	run(t, other, nil, []*Buffer{x})
	b.take()
	// Temporaries of the sequence share a block, which stays the graph's own.
	var addr uint64
	for i := range 3 {
		tmp := alloc(t, d, 1<<20, s)
		if i == 0 {
			addr = tmp.Addr()
		} else if tmp.Addr() != addr {
			t.Error("a block freed in the sequence does not serve it again")
		}
		run(t, s, []*Buffer{x}, []*Buffer{tmp})
		run(t, s, []*Buffer{tmp}, []*Buffer{y})
		tmp.Free()
	}
	same(t, "calls while recording", b.take(), []string{"alloc"})
	g, err := s.EndCapture()
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.EndCapture()
	is(t, err, ErrDevice)
	if tmp := alloc(t, d, 1<<20, s); tmp.Addr() == addr {
		t.Error("the graph's memory was given away")
	} else {
		tmp.Free()
	}
	b.take()
	if err := g.Launch(s); err != nil {
		t.Fatal(err)
	}
	same(t, "a launch waits for x", b.take(), []string{"record other", "wait s", "launchExec s"})
	if err := g.Launch(other); err != nil {
		t.Fatal(err)
	}
	same(t, "a launch elsewhere waits for the last", b.take(), []string{"record s", "wait other", "launchExec other"})
	run(t, d.main, []*Buffer{y}, nil)
	same(t, "a reader waits for the graph", b.take(), []string{"record other", "wait main"})

	// Another recording takes the place of the first.
	if err := s.BeginCapture(); err != nil {
		t.Fatal(err)
	}
	run(t, s, []*Buffer{y}, []*Buffer{x})
	g2, err := s.EndCapture()
	if err != nil {
		t.Fatal(err)
	}
	refusal := &driverError{code: 910, call: "cuGraphExecUpdate", name: "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE"}
	b.failNext("update", refusal)
	is(t, g.Update(g2), refusal)
	b.failNext("update", nil)
	if err := g2.Launch(nil); err != nil {
		t.Error(err)
	}
	if err := g.Update(g2); err != nil {
		t.Fatal(err)
	}
	is(t, g2.Launch(nil), ErrDevice)
	is(t, g.Update(g2), ErrDevice)
	is(t, g.Update(g), ErrDevice)
	is(t, g.Update(nil), ErrDevice)
	if err := g.Launch(s); err != nil {
		t.Error(err)
	}
	x.Free()
	is(t, g.Launch(s), ErrFreed)
	for range 2 {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
	is(t, g.Launch(s), ErrDevice)
	y.Free()
	if p := d.Pool(); p.InUse != 0 {
		t.Errorf("%+v", p)
	}
	if n := b.count("closeExec"); n != 2 || b.count("closeGraph") != 2 {
		t.Errorf("%d executables were closed", n)
	}
	if err := d.Trim(); err != nil || b.bytes() != 0 {
		t.Errorf("%d bytes stayed, %v", b.bytes(), err)
	}
}

// A dropped graph is freed, with the memory that only it kept alive.
func TestDroppedGraph(t *testing.T) {
	d, b := gpu(t, 0)
	s := stream(t, d, "s")
	func() {
		if err := s.BeginCapture(); err != nil {
			t.Fatal(err)
		}
		tmp, out := alloc(t, d, 1<<20, s), alloc(t, d, 1<<20, s)
		run(t, s, nil, []*Buffer{tmp, out})
		tmp.Free()
		if _, err := s.EndCapture(); err != nil {
			t.Fatal(err)
		}
	}()
	eventually(t, "the end of a dropped graph", func() bool { d.collectNow(); return d.Pool().InUse == 0 })
	if b.count("closeExec") != 1 {
		t.Error("its executable stayed")
	}
}

// On the CPU a sequence is the work itself, kept and run again.
func TestGraphOnCPU(t *testing.T) {
	d := cpu(t, 0)
	s := stream(t, d, "s")
	x, y := alloc(t, d, 8, nil), alloc(t, d, 8, nil)
	before := d.Pool().InUse
	if err := s.BeginCapture(); err != nil {
		t.Fatal(err)
	}
	is(t, d.CopyFromHost(x, 0, make([]byte, 8), s), ErrDevice)
	is(t, d.CopyToHost(make([]byte, 8), x, 0, s), ErrDevice)
	tmp := alloc(t, d, 8, s)
	add := func(dst, src *Buffer) func(int, uint64) error {
		return func(int, uint64) error { dst.bytes(0, 8)[0] += src.bytes(0, 8)[0]; return nil }
	}
	kept := &pooledWork{run: func() { tmp.bytes(0, 8)[0] = 1 }}
	for _, err := range []error{
		d.LaunchWork(s, nil, []*Buffer{tmp}, kept),
		d.Launch(s, []*Buffer{tmp, x}, []*Buffer{tmp}, add(tmp, x)),
		d.Launch(s, []*Buffer{tmp, y}, []*Buffer{y}, add(y, tmp)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	is(t, d.Launch(nil, []*Buffer{tmp}, nil, func(int, uint64) error { return nil }), ErrDevice)
	kept.run = func() { t.Error("the work that was used again ran") }
	tmp.Free()
	if x.bytes(0, 8)[0] != 0 || y.bytes(0, 8)[0] != 0 {
		t.Error("recorded work has run")
	}
	g, err := s.EndCapture()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	want := byte(0)
	for i := range byte(3) {
		x.bytes(0, 8)[0] = 10 * i
		want += 1 + 10*i
		if err := g.Launch(nil); err != nil {
			t.Fatal(err)
		}
		if got := y.bytes(0, 8)[0]; got != want {
			t.Errorf("launch %d: %d, want %d", i, got, want)
		}
	}
	x.Free()
	is(t, g.Launch(nil), ErrFreed)
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	is(t, g.Launch(nil), ErrDevice)
	y.Free()
	if p := d.Pool(); p.InUse != 0 || before == 0 {
		t.Errorf("%+v", p)
	}
}

// pooledWork is Work whose owner uses it again.
type pooledWork struct{ run func() }

func (w *pooledWork) Start(int, uint64) error { w.run(); return nil }

func (w *pooledWork) Keep() Work { k := *w; return &k }

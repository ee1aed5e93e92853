package device

import (
	"context"
	"errors"
	"testing"
	"time"
	"unsafe"
)

// slowBackend is a GPU on which waits and copies last until the test releases them, and
// which refuses calls that are not allowed on a stream that is being captured.
type slowBackend struct {
	fakeBackend
	began, end chan struct{}
	capturing  bool // guarded by mu
	waited     int  // for events; guarded by mu
}

func slowDevice(t *testing.T) (*Device, *slowBackend) {
	t.Helper()
	b := &slowBackend{began: make(chan struct{}), end: make(chan struct{})}
	d, err := newDevice(h200(0), b, nil, &ranges{}, newCollector(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return d, b
}

var errInCapture = errors.New("operation not permitted when stream is capturing")

func (b *slowBackend) slow() error {
	b.began <- struct{}{}
	<-b.end
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.capturing {
		return errInCapture
	}
	return nil
}

func (b *slowBackend) syncStream(uint64) error { return b.slow() }

func (b *slowBackend) copyIn(memory, int64, unsafe.Pointer, int64, uint64, uint64) error {
	return b.slow()
}

func (b *slowBackend) syncEvent(uint64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waited++
	return nil
}

func (b *slowBackend) set(capturing bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.capturing = capturing
}

func (b *slowBackend) beginCapture(uint64) error {
	b.set(true)
	return nil
}

func (b *slowBackend) endCapture(uint64) (uint64, error) {
	b.set(false)
	return b.next()
}

// TestCaptureWaits begins a capture while others wait for the stream, or copy on it:
// nothing of theirs may fall into it.
func TestCaptureWaits(t *testing.T) {
	for name, use := range map[string]func(*Device, *Stream, *Buffer) error{
		"Synchronize": func(d *Device, _ *Stream, _ *Buffer) error { return d.Synchronize(context.Background()) },
		"copy":        func(d *Device, s *Stream, b *Buffer) error { return d.CopyFromHost(b, 0, []byte{1}, s) },
	} {
		t.Run(name, func(t *testing.T) {
			d, b := slowDevice(t)
			buf := alloc(t, d, 8, nil)
			used, begun := make(chan error, 1), make(chan error, 1)
			go func() { used <- use(d, d.main, buf) }()
			<-b.began
			go func() { begun <- d.main.BeginCapture() }()
			select {
			case err := <-begun:
				t.Errorf("the capture began in the middle of it: %v", err)
				begun <- err
			case <-time.After(20 * time.Millisecond):
			}
			b.end <- struct{}{}
			for _, c := range []chan error{used, begun} {
				if err := <-c; err != nil {
					t.Error(err)
				}
			}
			g, err := d.main.EndCapture()
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCloseWaits closes a stream while a copy is being launched on it: the stream is not
// closed before, because the work of a closed stream counts as done.
func TestCloseWaits(t *testing.T) {
	d, b := slowDevice(t)
	s := stream(t, d, "s")
	buf := alloc(t, d, 8, nil)
	copied, closed := make(chan error, 1), make(chan error, 1)
	go func() { copied <- d.CopyFromHost(buf, 0, []byte{1}, s) }()
	<-b.began
	go func() { closed <- s.Close() }()
	select {
	case <-b.began: // it waits for the stream already
		t.Error("Close does not wait for what is still to be put on the stream")
		b.end <- struct{}{}
	case <-time.After(20 * time.Millisecond):
	}
	b.end <- struct{}{}
	if err := <-copied; err != nil {
		t.Error(err)
	}
	for {
		select {
		case <-b.began: // now it does
			b.end <- struct{}{}
			continue
		case err := <-closed:
			if err != nil {
				t.Error(err)
			}
		}
		return
	}
}

// TestForeignInCapture frees foreign memory while the stream that uses it is being
// captured: its owner gets it back when the work before the capture is done.
func TestForeignInCapture(t *testing.T) {
	d, b := slowDevice(t)
	waited := -1
	foreign, err := Wrap(d, 256, 8, func() { waited = b.waited })
	if err != nil {
		t.Fatal(err)
	}
	run(t, d.main, nil, []*Buffer{foreign})
	if err := d.main.BeginCapture(); err != nil {
		t.Fatal(err)
	}
	foreign.Free()
	if waited != 1 {
		t.Errorf("the memory went back after %d waits for the work that uses it, want 1", waited)
	}
	if _, err := d.main.EndCapture(); err != nil {
		t.Fatal(err)
	}
}

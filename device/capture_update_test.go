package device

import (
	"testing"
	"time"
)

// TestGraphUpdateWaits: a sequence that runs on the CPU is not taken away.
func TestGraphUpdateWaits(t *testing.T) {
	d, err := Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	record := func(f func(int, uint64) error) *Graph {
		s, err := d.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		if err := s.BeginCapture(); err != nil {
			t.Fatal(err)
		}
		if err := d.Launch(s, nil, nil, f); err != nil {
			t.Fatal(err)
		}
		g, err := s.EndCapture()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = g.Close() })
		return g
	}
	begun, end := make(chan struct{}), make(chan struct{})
	g := record(func(int, uint64) error { close(begun); <-end; return nil })
	other := 0
	from := record(func(int, uint64) error { other++; return nil })
	ran := make(chan error, 1)
	go func() { ran <- g.Launch(nil) }()
	<-begun
	updated := make(chan error, 1)
	go func() { updated <- g.Update(from) }()
	select {
	case err := <-updated:
		t.Error("updated while it ran:", err)
		updated <- err
	case <-time.After(50 * time.Millisecond):
	}
	close(end)
	if err := <-ran; err != nil {
		t.Error(err)
	}
	if err := <-updated; err != nil {
		t.Error(err)
	}
	if err := g.Launch(nil); err != nil || other != 1 {
		t.Errorf("%v, ran %d times", err, other)
	}
}

package main

import (
	"testing"
	"time"

	"github.com/gpk-go/gpk/internal/devicetest"
)

// TestEventClock uses the clock of GPUs on the CPU, whose events tell the time
// too. What it cannot record must leave the stream as it was.
func TestEventClock(t *testing.T) {
	dev := devicetest.CPU(t)
	c, err := newEventClock(dev)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const nap = 2 * time.Millisecond
	calls := 0
	call := func() error { calls++; time.Sleep(nap); return nil }
	for range 2 {
		d, err := c.lap(3, call)
		if err != nil || d < 3*nap || calls%3 != 0 {
			t.Fatalf("three calls of %v took %v, %v; %d calls", nap, d, err, calls)
		}
		if _, err := c.lap(3, func() error { return errCall }); err != errCall {
			t.Errorf("error %v, want that of the call", err)
		}
		if _, _, err := c.record(3, func() error { return errCall }); err == nil {
			t.Error("a call that fails was recorded")
		}
	}
}

package control

import (
	"net"
	"testing"
	"time"
)

// TestDropped checks that a connection accounts for every frame once, whether it was written, was queued when the
// connection broke, or came after that. The sender of data that is not accounted for would wait for ever.
func TestDropped(t *testing.T) {
	const read, queued, late = 2, 50, 3
	a, b := net.Pipe()
	gone := make(chan *frame, 2*(read+queued+late))
	k := newConnection(a, func(f *frame) { gone <- f })
	defer k.close()
	frames := map[*frame]int{}
	deliver := func(n int) {
		for range n {
			f := &frame{kind: kindData, key: "x", body: make([]byte, 100)}
			frames[f] = 0
			k.deliver(f)
		}
	}
	deliver(read + queued)
	for range read {
		if _, err := readFrame(b, maxToNode); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	await := func(n int) {
		t.Helper()
		for range n {
			select {
			case f := <-gone:
				frames[f]++
			case <-time.After(time.Minute):
				t.Fatalf("frames that nobody was told of: %v", frames)
			}
		}
	}
	await(read + queued)
	deliver(late)
	await(late)
	for _, n := range frames {
		if n != 1 || len(frames) != read+queued+late {
			t.Fatalf("frames and how often their end was told: %v", frames)
		}
	}
}

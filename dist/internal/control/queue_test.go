package control

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// TestQueue sends to a peer that does not read: from a rank to the hub, and from rank 0 to a rank. Send
// soon blocks, until its context ends, there is room, or the group fails.
func TestQueue(t *testing.T) {
	t.Run("rank 1", func(t *testing.T) {
		a, b := net.Pipe()
		k := newConnection(a, nil)
		t.Cleanup(func() { k.close(); _ = b.Close() })
		n := newNode(hello{Rank: 1, Size: 2})
		n.reachThrough(k)
		testQueue(t, n, 0, b)
	})
	t.Run("rank 0", func(t *testing.T) {
		s, err := Listen([]string{"127.0.0.1:0"}, nil, Config{Size: 2, Silence: 10 * time.Minute, Join: 30 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		c, err := reach(t.Context(), []string{s.Addr()}, nil, hello{Rank: 1, Size: 2})
		if err != nil {
			t.Fatal(err)
		}
		n, err := s.Join(t.Context(), 0, "h")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close(); n.Close() })
		testQueue(t, n, 1, c)
	})
}

func testQueue(t *testing.T, n *Node, to int, reader io.Reader) {
	const message = 1 << 20
	n.maxUnread, n.maxRelayed = 1<<62, 0 // only the queue is tested
	// fill sends until Send waits for longer than a while, twice: the process may stand still for a while.
	fill := func() {
		t.Helper()
		b := make([]byte, message)
		for sent, late := 0, 0; late < 2; {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			err := n.Send(ctx, to, "x", b)
			cancel()
			if errors.Is(err, context.DeadlineExceeded) {
				late++
				continue
			}
			sent, late = sent+1, 0
			if err != nil || sent > 8*maxQueued/message { // the system's buffers hold some, too
				t.Fatalf("%d messages sent: %v", sent, err)
			}
		}
	}
	// waiting starts a Send that waits, and then what is to end it.
	waiting := func(end func()) error {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- n.Send(ctx, to, "x", make([]byte, message)) }()
		time.Sleep(10 * time.Millisecond)
		end()
		return <-done
	}
	fill()
	err := waiting(func() {
		if _, err := io.CopyN(io.Discard, reader, maxQueued); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Errorf("with room again: %v", err)
	}
	fill()
	cause := errors.New("no luck")
	if err := waiting(func() { n.Fail(cause) }); !errors.Is(err, cause) {
		t.Errorf("in a group that has failed: %v", err)
	}
}

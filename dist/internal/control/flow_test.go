package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"
)

// joined joins ranks over TCP, with a limit of unread bytes.
func joined(t *testing.T, size int, limit int64) []*Node {
	t.Helper()
	cfg := Config{Size: size, Silence: 10 * time.Minute, Join: 30 * time.Second}
	s, err := Listen([]string{"127.0.0.1:0"}, nil, cfg)
	if err != nil {
		t.Fatal(err)
	}
	nodes := joinAt(t, s, cfg, func(int) string { return s.Addr() })
	for _, n := range nodes {
		n.maxUnread = limit
	}
	return nodes
}

// held returns the number of bytes that a node holds for its receivers.
func (n *Node) held() (sum int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, b := range n.boxes {
		for _, body := range b.bodies {
			sum += len(body)
		}
	}
	return sum
}

// TestSlowReceiver sends many messages to a rank that receives slowly: through rank 0, from rank 0 and in
// memory. The receiver holds at most the limit and one message, and all messages arrive in order.
func TestSlowReceiver(t *testing.T) {
	const message, messages, limit = 256 << 10, 60, 2 << 20
	local, err := Local(3, "h", Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range local {
		n.maxUnread = limit
	}
	tcp := joined(t, 3, limit)
	for _, c := range []struct {
		name     string
		from, to *Node
	}{{"relay", tcp[1], tcp[2]}, {"rank 0", tcp[0], tcp[2]}, {"to rank 0", tcp[2], tcp[0]}, {"memory", local[1], local[2]}} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			sent := make(chan error, 1)
			go func() {
				var err error
				for i := 0; err == nil && i < messages; i++ {
					err = c.from.Send(ctx, c.to.Rank(), fmt.Sprint(i), bytes.Repeat([]byte{byte(i + 1)}, message))
				}
				sent <- err
			}()
			most := 0
			into := make([]byte, message)
			for i := range messages {
				for begun := time.Now(); i == 0 && c.to.held() < limit/2 && time.Since(begun) < 2*time.Minute; {
					time.Sleep(time.Millisecond) // until the sender is ahead
				}
				most = max(most, c.to.held())
				if err := c.to.Recv(ctx, c.from.Rank(), fmt.Sprint(i), into); err != nil || into[0] != byte(i+1) || into[message-1] != byte(i+1) {
					t.Fatalf("message %d: %v, %v", i, into[0], err)
				}
			}
			if err := <-sent; err != nil {
				t.Fatal(err)
			}
			t.Logf("the receiver held at most %d bytes", most)
			if most > limit+message || most < limit/2 {
				t.Errorf("the receiver held %d bytes, with a limit of %d", most, limit)
			}
		})
	}
}

// TestSymmetric has every rank send every other a message that is longer than all limits, before it
// receives any.
func TestSymmetric(t *testing.T) {
	const message, limit = 20 << 20, 1 << 20
	nodes := joined(t, 3, limit)
	for _, n := range nodes[1:] {
		n.mu.Lock()
		n.maxRelayed = 2 * tellAfter
		n.mu.Unlock()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for _, n := range nodes {
		wg.Go(func() {
			for _, to := range nodes {
				if to != n {
					if err := n.Send(ctx, to.Rank(), "x", bytes.Repeat([]byte{byte(1 + n.Rank())}, message)); err != nil {
						t.Error(err)
					}
				}
			}
			for _, from := range nodes {
				if from == n {
					continue
				}
				into := make([]byte, message)
				if err := n.Recv(ctx, from.Rank(), "x", into); err != nil || into[0] != byte(1+from.Rank()) || into[message-1] != into[0] {
					t.Errorf("rank %d from %d: %v, %v", n.Rank(), from.Rank(), into[0], err)
				}
			}
		})
	}
	wg.Wait()
}

// TestRelayBound sends a long message to a rank that reads nothing. The bytes in rank 0 and in the
// sender's queue stay within the limit.
func TestRelayBound(t *testing.T) {
	cfg := Config{Size: 3, Silence: 10 * time.Minute, Join: 30 * time.Second}
	s, err := Listen([]string{"127.0.0.1:0"}, nil, cfg)
	if err != nil {
		t.Fatal(err)
	}
	var (
		idle   net.Conn
		sender *Node
		wg     sync.WaitGroup
		errs   [2]error
	)
	wg.Go(func() { idle, errs[0] = reach(t.Context(), []string{s.Addr()}, nil, hello{Rank: 2, Size: 3}) })
	wg.Go(func() { sender, errs[1] = Dial(t.Context(), []string{s.Addr()}, nil, 1, "h", cfg) })
	zero, err := s.Join(t.Context(), 0, "h")
	wg.Wait()
	if err := errors.Join(err, errs[0], errs[1]); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = idle.Close(); sender.Close(); zero.Close() })
	const limit = 2 * tellAfter
	sender.mu.Lock()
	sender.maxRelayed = limit
	sender.mu.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- sender.Send(ctx, 2, "x", make([]byte, 3*limit)) }()
	queued := func() (n int) {
		for _, k := range s.open() {
			k.mu.Lock()
			n += k.bytes
			k.mu.Unlock()
		}
		return n
	}
	for begun := time.Now(); queued() < limit/4 && time.Since(begun) < 2*time.Minute; {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(300 * time.Millisecond) // time for more to arrive
	most := queued()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Send of %d bytes that nobody reads returned: %v", 3*limit, err)
	}
	t.Logf("rank 0 holds %d bytes", most)
	if most > limit+2*maxDataBody || most < limit/4 {
		t.Errorf("rank 0 holds %d bytes, with a limit of %d", most, limit)
	}
}

// TestSendToLeft checks that Send to a rank that has left does not wait.
func TestSendToLeft(t *testing.T) {
	nodes := joined(t, 3, 1<<20)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		var err error
		for i := 0; err == nil && i < 5; i++ {
			err = nodes[1].Send(ctx, 2, "x", make([]byte, 1<<20))
		}
		done <- err
	}()
	time.Sleep(10 * time.Millisecond)
	nodes[2].Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

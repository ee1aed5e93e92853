package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// Dial connects a rank to the hub of rank 0 at one of the addresses, and waits until all ranks have
// joined. It retries until cfg.Join has passed.
func Dial(ctx context.Context, addresses []string, token []byte, rank int, host string, cfg Config) (*Node, error) {
	m := hello{Rank: rank, Size: cfg.Size, Host: host, Version: cfg.Version}
	limited, cancel := context.WithTimeout(ctx, cfg.Join)
	defer cancel()
	c, err := reach(limited, addresses, token, m)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		return nil, &Failure{0, "", fmt.Errorf("%w or cannot be reached within %v: %w", ErrMissing, cfg.Join, err)}
	}
	n := newNode(m)
	k := newConnection(c, nil)
	n.reachThrough(k)
	finished := make(chan struct{})
	n.shut = func() { // after the queued frames
		k.flush(2 * time.Second)
		close(finished)
		k.close()
	}
	var heard atomic.Int64
	heard.Store(time.Now().UnixNano())
	go n.listen(c, &heard)
	go n.beat(k, &heard, cfg.Silence, finished)
	// The hub reports missing ranks, as it may have started before or after this rank.
	if err := n.joined(ctx); err != nil {
		if n.Err() == nil {
			n.Fail(err)
		}
		n.mu.Lock()
		n.closed = true
		n.mu.Unlock()
		n.shut()
		return nil, err
	}
	return n, nil
}

// reachThrough sets the connection over which the node reaches the hub.
func (n *Node) reachThrough(k *connection) {
	n.chunk = maxDataBody
	n.maxRelayed = maxQueued
	n.send = k.deliver
	n.wait = func(ctx context.Context, _ int) error { return k.wait(ctx, n.done) }
}

// reach returns a connection on which the handshake was done and hello was sent.
func reach(ctx context.Context, addresses []string, token []byte, m hello) (net.Conn, error) {
	body, _ := json.Marshal(m) // strings and integers: no error
	greeting := (&frame{kind: kindHello, body: body}).append(nil)
	wait := 10 * time.Millisecond
	for {
		var errs []error
		for _, a := range addresses {
			c, err := dialOnce(ctx, a, token)
			if err == nil {
				if _, err = c.Write(greeting); err == nil {
					return c, nil
				}
				_ = c.Close()
			}
			errs = append(errs, err)
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(errs...)
		case <-time.After(wait):
			wait = min(2*wait, time.Second)
		}
	}
}

// dialOnce connects to an address and does the handshake.
func dialOnce(ctx context.Context, address string, token []byte) (net.Conn, error) {
	d := net.Dialer{Timeout: handshakeLimit}
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if err = c.SetDeadline(time.Now().Add(handshakeLimit)); err == nil {
		err = introduce(c, token)
	}
	if err == nil {
		err = c.SetDeadline(time.Time{})
	}
	if err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return c, nil
}

// listen receives the frames of the hub until the connection ends.
func (n *Node) listen(c net.Conn, heard *atomic.Int64) {
	for {
		f, err := readFrame(c, maxToNode)
		if err != nil {
			if !n.hasLeft(0) {
				n.fail(&Failure{0, n.Host(0), lostError(err)})
			}
			return
		}
		heard.Store(time.Now().UnixNano())
		n.deliver(f)
	}
}

// beat sends beats to the hub, and detects that the hub is silent. The hub's value replaces silence.
func (n *Node) beat(k *connection, heard *atomic.Int64, silence time.Duration, finished chan struct{}) {
	ticker := time.NewTicker(between(silence))
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-finished:
			return
		case silence = <-n.silence:
			ticker.Reset(between(silence))
			last = time.Now()
		case now := <-ticker.C:
			if heldUp(now.Sub(last), silence) {
				heard.Store(now.UnixNano())
			}
			last = now
			k.deliver(&frame{kind: kindBeat})
			if n.hasLeft(0) {
				return
			}
			if quiet := now.Sub(time.Unix(0, heard.Load())); quiet > silence {
				n.fail(&Failure{0, n.Host(0), fmt.Errorf("%w (for %v)", ErrSilent, quiet.Round(10*time.Millisecond))})
			}
		}
	}
}

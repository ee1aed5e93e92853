package control

import (
	"net"
	"sync"
	"testing"
	"time"
)

// stall is a relay of TCP connections that can stop or be cut.
type stall struct {
	mu      sync.Mutex
	stopped bool
	open    []net.Conn
}

func (p *stall) stop() { p.mu.Lock(); defer p.mu.Unlock(); p.stopped = true }

func (p *stall) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.open {
		_ = c.Close()
	}
}

// relay forwards connections to an address and returns its own.
func (p *stall) relay(t *testing.T, to string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(); p.cut() })
	pump := func(dst, src net.Conn) {
		b := make([]byte, 4096)
		for {
			n, err := src.Read(b)
			if err != nil {
				return
			}
			p.mu.Lock()
			stopped := p.stopped
			p.mu.Unlock()
			if !stopped {
				_, _ = dst.Write(b[:n])
			}
		}
	}
	go func() {
		for {
			a, err := l.Accept()
			if err != nil {
				return
			}
			b, err := net.Dial("tcp", to)
			if err != nil {
				return
			}
			p.mu.Lock()
			p.open = append(p.open, a, b)
			p.mu.Unlock()
			go pump(a, b)
			go pump(b, a)
		}
	}()
	return l.Addr().String()
}

// shortSilence is the Silence of ranks that through joins.
const shortSilence = 2 * time.Second

// through joins ranks; the victim is reached through p, or all ranks if the victim is rank
// 0.
func through(t *testing.T, size, victim int, p *stall) []*Node {
	cfg := Config{Size: size, Silence: shortSilence, Join: 20 * time.Second}
	s, err := Listen([]string{"127.0.0.1:0"}, nil, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return joinAt(t, s, cfg, func(rank int) string {
		if victim == 0 || victim == rank {
			return p.relay(t, s.Addr())
		}
		return s.Addr()
	})
}

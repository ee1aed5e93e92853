package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Server is the hub of a group whose ranks connect over TCP.
type Server struct {
	hub      *hub
	token    []byte
	listener net.Listener
	strange  chan struct{} // has an element for every connection whose rank is not known yet

	mu          sync.Mutex
	connections map[*connection]bool
	refused     int // ranks that came too late or did not belong to the group, and that were told the reason
}

const handshakeLimit = 5 * time.Second // time within which a connection must identify its rank

// Listen starts the hub of a group at the first of the addresses that is free.
func Listen(addresses []string, token []byte, cfg Config) (*Server, error) {
	var errs []error
	for _, a := range addresses {
		l, err := net.Listen("tcp", a)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s := &Server{
			hub: newHub(cfg), token: token, listener: l,
			strange: make(chan struct{}, cfg.Size+64), connections: map[*connection]bool{},
		}
		go s.hub.watch()
		go s.accept()
		return s, nil
	}
	return nil, fmt.Errorf("rank 0 cannot listen: %w", errors.Join(errs...))
}

// Addr returns the address that the server listens at.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// accept serves connections until the listener is closed.
func (s *Server) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			time.Sleep(10 * time.Millisecond) // for example because of too many open files
			continue
		}
		select {
		case s.strange <- struct{}{}:
			go s.serve(c)
		default: // there are more unknown connections than ranks
			_ = c.Close()
		}
	}
}

// serve admits a connection, and receives its frames.
func (s *Server) serve(c net.Conn) {
	m, err := s.admit(c)
	<-s.strange
	if err != nil {
		_ = c.Close()
		return
	}
	k := newConnection(c, s.hub.gone)
	defer k.close()
	s.mu.Lock()
	s.connections[k] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.connections, k)
		s.mu.Unlock()
	}()
	if f := s.hub.attach(m, k); f != nil {
		k.deliver(&frame{kind: kindFailure, peer: uint32(f.Rank), body: reportOf(f)})
		k.flush(time.Second)
		s.mu.Lock()
		s.refused++
		s.mu.Unlock()
		return
	}
	for {
		f, err := readFrame(c, maxToHub)
		if err != nil {
			s.hub.lost(m.Rank, lostError(err))
			return
		}
		s.hub.receive(m.Rank, f)
	}
}

// lostError returns the cause of a connection's end.
func lostError(err error) error {
	if errors.Is(err, errFrame) {
		return err
	}
	return fmt.Errorf("%w (%w)", ErrDisconnected, err)
}

// admit does the handshake and reads the rank's hello.
func (s *Server) admit(c net.Conn) (m hello, err error) {
	if err = c.SetDeadline(time.Now().Add(handshakeLimit)); err != nil {
		return m, err
	}
	if err = accept(c, s.token); err != nil {
		return m, err
	}
	if m, err = readHello(c); err != nil {
		return m, err
	}
	return m, c.SetDeadline(time.Time{})
}

// readHello reads the first frame of a rank.
func readHello(r io.Reader) (m hello, err error) {
	f, err := readFrame(r, maxHello)
	if err != nil {
		return m, err
	}
	if f.kind != kindHello {
		return m, fmt.Errorf("%w: kind %d before hello", errFrame, f.kind)
	}
	return m, json.Unmarshal(f.body, &m)
}

// Join attaches a rank of this process, and waits for all others. Rank 0 must belong to this process. The server ends
// with rank 0.
func (s *Server) Join(ctx context.Context, rank int, host string) (*Node, error) {
	cfg := s.hub.cfg
	n, err := inMemory(s.hub, hello{Rank: rank, Size: cfg.Size, Host: host, Version: cfg.Version})
	if err == nil {
		n.chunk = maxDataBody
		if rank == 0 {
			n.shut = s.Close
		}
		n.wait = func(ctx context.Context, to int) error { return s.hub.wait(ctx, to, n.done) }
		err = n.joined(ctx)
	}
	if err == nil {
		return n, nil
	}
	if n != nil && n.Err() == nil {
		n.Fail(err)
	}
	if rank == 0 {
		s.linger()
		s.Close()
	}
	return nil, err
}

// linger waits until all ranks have connected and were told that the group has failed.
func (s *Server) linger() {
	for end := time.Now().Add(s.hub.cfg.Linger); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		s.hub.mu.Lock()
		joined := s.hub.joined
		s.hub.mu.Unlock()
		s.mu.Lock()
		refused := s.refused
		s.mu.Unlock()
		if joined+refused >= s.hub.cfg.Size {
			return
		}
	}
}

// Flush waits until all queued frames were sent.
func (s *Server) Flush() {
	for _, k := range s.open() {
		k.flush(2 * time.Second)
	}
}

func (s *Server) open() (out []*connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.connections {
		out = append(out, k)
	}
	return out
}

// Close closes the listener, and the connections after their queued frames. The node of rank 0 that Join returned
// calls it when it is closed.
func (s *Server) Close() {
	_ = s.listener.Close()
	s.Flush()
	s.hub.close()
	for _, k := range s.open() {
		k.close()
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// connections are the connections on which a request is being read or answered.
type connections struct {
	mu   sync.Mutex
	busy map[net.Conn]bool
}

// track is the ConnState function of a http.Server.
func (c *connections) track(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if state == http.StateNew || state == http.StateActive {
		c.busy[conn] = true
	} else {
		delete(c.busy, conn)
	}
}

// wait waits until no connection is busy, or until ctx ends.
func (c *connections) wait(ctx context.Context) error {
	for {
		c.mu.Lock()
		n := len(c.busy)
		c.mu.Unlock()
		if n == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d connections are busy: %w", n, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// serve answers requests until ctx ends. Then /healthz reports 503 for config.notice, the
// listener is closed, and requests in flight are answered. The error is nil if they are
// answered within config.drain.
//
// http.Server.Shutdown is called last, because then net/http drops requests on accepted
// connections that it has not read yet.
func (s *server) serve(ctx context.Context, l net.Listener) error {
	open := connections{busy: map[net.Conn]bool{}}
	h := &http.Server{
		Handler: s.handler(), ConnState: open.track, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: readTimeout,
		WriteTimeout: readTimeout + computeTimeout + 30*time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	s.draining.Store(true)
	slog.Info("shutting down")
	time.Sleep(s.c.notice)
	until, cancel := context.WithTimeout(context.Background(), s.c.drain)
	defer cancel()
	err := l.Close()
	if e := <-ended; !errors.Is(e, net.ErrClosed) { // after this every accepted connection is tracked
		err = errors.Join(err, e)
	}
	h.SetKeepAlivesEnabled(false) // closes idle connections, and the others after their answer
	err = errors.Join(err, open.wait(until), h.Shutdown(until), s.texts.Close(until))
	if err != nil {
		err = errors.Join(fmt.Errorf("requests were still in flight after %v: %w", s.c.drain, err), h.Close())
	}
	slog.Info("stopped", "requests", s.requests.Load())
	return err
}

package control

import (
	"context"
	"net"
	"sync"
	"time"
)

// connection sends frames over TCP. deliver queues them, and a goroutine writes them.
type connection struct {
	c    net.Conn
	gone func(*frame) // called for every frame that was written or dropped; may be nil

	mu     sync.Mutex
	queue  []*frame
	bytes  int           // total size of the frames that are not written yet
	space  Signal        // sent when bytes is below maxQueued
	more   chan struct{} // capacity 1: wakes write when the queue is not empty
	empty  *sync.Cond    // with mu: signalled when all frames were written or the connection is broken
	busy   bool
	broken bool
	quit   chan struct{}
	once   sync.Once
}

func newConnection(c net.Conn, gone func(*frame)) *connection {
	k := &connection{c: c, gone: gone, more: make(chan struct{}, 1), quit: make(chan struct{})}
	k.empty = sync.NewCond(&k.mu)
	go k.write()
	return k
}

// maxQueued is the number of queued bytes at which wait blocks.
const maxQueued = 64 << 20

// wait waits until less than maxQueued bytes are queued, the connection is broken or stop is closed.
func (k *connection) wait(ctx context.Context, stop <-chan struct{}) error {
	for {
		k.mu.Lock()
		if k.broken || k.bytes < maxQueued {
			k.mu.Unlock()
			return nil
		}
		space := k.space.Wait()
		k.mu.Unlock()
		select {
		case <-space:
		case <-stop:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// written subtracts n bytes that are no longer queued, and wakes callers of wait. mu is held.
func (k *connection) written(n int) {
	k.bytes -= n
	if k.bytes < maxQueued {
		k.space.Send()
	}
}

// deliver queues a frame, or drops it if the connection is broken.
func (k *connection) deliver(f *frame) {
	k.mu.Lock()
	if k.broken {
		k.mu.Unlock()
		k.release(f)
		return
	}
	k.queue = append(k.queue, f)
	k.bytes += f.size()
	k.busy = true
	k.mu.Unlock()
	select {
	case k.more <- struct{}{}:
	default:
	}
}

// write writes queued frames until the connection ends. It is the function of a goroutine.
func (k *connection) write() {
	var b []byte
	for {
		select {
		case <-k.quit:
			k.stop()
			return
		case <-k.more:
		}
		for {
			k.mu.Lock()
			frames := k.queue
			k.queue = nil
			if len(frames) == 0 {
				k.busy = false
				k.empty.Broadcast()
				k.mu.Unlock()
				break
			}
			k.mu.Unlock()
			for i, f := range frames {
				b = f.append(b[:0])
				if _, err := k.c.Write(b); err != nil {
					k.stop()
					k.release(frames[i:]...)
					return
				}
				frames[i] = nil
				k.mu.Lock()
				k.written(len(b))
				k.mu.Unlock()
				k.release(f)
			}
		}
	}
}

// stop marks the connection as broken and drops the queued frames.
func (k *connection) stop() {
	k.mu.Lock()
	dropped := k.queue
	k.broken, k.busy, k.queue = true, false, nil
	k.written(k.bytes)
	k.empty.Broadcast()
	k.mu.Unlock()
	k.release(dropped...)
}

// release calls gone for frames that were written or dropped. mu is not held.
func (k *connection) release(frames ...*frame) {
	if k.gone == nil {
		return
	}
	for _, f := range frames {
		k.gone(f)
	}
}

// flush waits until all queued frames were written. After the time limit it stops the connection.
func (k *connection) flush(limit time.Duration) {
	timer := time.AfterFunc(limit, k.stop)
	defer timer.Stop()
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.busy && !k.broken {
		k.empty.Wait()
	}
}

// close ends the connection.
func (k *connection) close() {
	k.once.Do(func() {
		close(k.quit)
		_ = k.c.Close()
	})
}

package quantum

import (
	"fmt"
	"math"
	"sync"
	"time"
	"unsafe"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/deviceapi"
)

// tileWriter copies tiles of K from a GPU to the host's memory or to a file, while the GPU
// computes the next ones. Two tiles with their mirrors are on the device, one in pinned
// memory.
type tileWriter struct {
	g      *cudaGram
	stream *device.Stream
	free   chan tileRoom
	jobs   chan tileJob
	ended  chan struct{}
	pinned []byte
	unpin  func()

	k    *gpk.Array
	host []byte        // K's memory, if it is on the host
	file sink[float32] // otherwise K's file

	closed sync.Once
	err    error // valid once ended is closed
	bytes  int64
	took   time.Duration // total time of the copies, measured by events
	wrote  time.Duration // total time of writing tiles to their destination
}

type tileRoom struct{ tile, mirror *device.Buffer }

type tileJob struct {
	room  tileRoom
	at    bounds
	ready *device.Event // recorded after the tile's computation
}

func newTileWriter(g *cudaGram) (w *tileWriter, err error) {
	size := g.dt.Size()
	w = &tileWriter{g: g, free: make(chan tileRoom, ahead), jobs: make(chan tileJob, ahead), ended: make(chan struct{}), unpin: func() {}}
	defer func() {
		if err != nil {
			close(w.ended)
			w.close()
			w = nil
		}
	}()
	w.file = sink[float32]{job: g.job, ctx: g.ctx}
	switch {
	case g.options.Output != nil:
		if err := w.file.header(g.dt); err != nil {
			return w, err
		}
	default:
		if g.x.n > 0 && g.y.n > math.MaxInt/64/g.x.n {
			return w, fmt.Errorf("%w: K of %d x %d", gpk.ErrOutOfMemory, g.x.n, g.y.n)
		}
		cpu, err := device.Open("cpu")
		if err != nil {
			return w, err
		}
		buf, err := deviceapi.AllocMapped(cpu, int64(g.x.n)*int64(g.y.n)*int64(size))
		if err != nil {
			return w, err
		}
		w.k = array.FromBuffer(buf, g.dt, g.x.n, g.y.n)
		if n := buf.Size(); n > 0 {
			w.host = unsafe.Slice((*byte)(buf.Ptr()), n)
		}
	}
	if w.stream, err = g.dev.NewStream(); err != nil {
		return w, err
	}
	n := min(g.side, max(g.x.n, 1)) * min(g.side, max(g.y.n, 1)) * size
	if w.pinned, w.unpin, err = g.dev.AllocPinned(n); err != nil {
		w.unpin = func() {}
		return w, err
	}
	for range ahead {
		var room tileRoom
		if room.tile, err = g.alloc(int64(n)); err != nil {
			return w, err
		}
		if room.mirror, err = g.alloc(int64(n)); err != nil {
			return w, err
		}
		w.free <- room
	}
	go w.run()
	return w, nil
}

// room waits for a buffer for a tile and one for its mirror.
func (w *tileWriter) room() (tile, mirror *device.Buffer, err error) {
	select {
	case r := <-w.free:
		return r.tile, r.mirror, nil
	case <-w.ended:
		return nil, nil, w.err
	case <-w.g.ctx.Done():
		return nil, nil, w.g.ctx.Err()
	}
}

// put passes a started tile to the writer.
func (w *tileWriter) put(t target, at bounds) error {
	select {
	case w.jobs <- tileJob{tileRoom{t.view.Buffer, t.mirror}, at, w.g.started[len(w.g.started)-1].to}:
		return nil
	case <-w.ended:
		return w.err
	}
}

// run copies tile after tile, until one cannot be written.
func (w *tileWriter) run() {
	defer close(w.ended)
	for t := range w.jobs {
		// Wait for the tile first, so that only the copy is timed.
		if w.err = t.ready.Synchronize(w.g.ctx); w.err != nil {
			return
		}
		if w.err = w.copy(t.room.tile, t.at); w.err == nil && w.g.symmetric() && !t.at.triangle {
			w.err = w.copy(t.room.mirror, t.at.mirrored())
		}
		if w.err != nil {
			return
		}
		if w.err = w.file.finished(t.at); w.err != nil {
			return
		}
		w.free <- t.room
	}
}

// copy writes a tile to its destination.
func (w *tileWriter) copy(from *device.Buffer, t bounds) error {
	if err := w.g.ctx.Err(); err != nil {
		return err
	}
	size, m := w.g.dt.Size(), w.g.plan.Samples[1]
	tile := w.pinned[:t.r*t.c*size]
	took, err := between(w.g.dev, w.stream, func() error { return w.g.dev.CopyToHost(tile, from, 0, w.stream) })
	if err != nil {
		return err
	}
	w.bytes += int64(len(tile))
	w.took += took
	begun := time.Now()
	defer func() { w.wrote += time.Since(begun) }()
	line := t.c * size
	if w.host != nil {
		rows(t.r, t.r*t.c, func(lo, hi int) {
			for y := lo; y < hi; y++ {
				copy(w.host[((t.i+y)*m+t.j)*size:][:line], tile[y*line:])
			}
		})
		return nil
	}
	return w.file.writeBlock(t, tile, t.c)
}

// finish waits until all tiles are written.
func (w *tileWriter) finish() error {
	w.closed.Do(func() { close(w.jobs) })
	<-w.ended
	return w.err
}

// close ends the writer and frees all memory except the result.
func (w *tileWriter) close() {
	w.closed.Do(func() { close(w.jobs) })
	<-w.ended
	w.unpin()
	if w.stream != nil {
		_ = w.stream.Close()
	}
	if w.g.k != w.k { // not returned to the caller
		w.k.Free()
	}
}

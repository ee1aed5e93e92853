package dist

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/deviceapi"
)

// replays is the state of a captured sequence with collective functions of a Comm. All ranks capture the same
// calls, and replay them in the same order relative to the other calls of the Comm. The ranks compare captured
// calls and replays like other calls.
type replays struct {
	c      *Comm
	number int // number of the sequence, from 1
	stream *device.Stream
}

var (
	errCaptured = fmt.Errorf("%w: collective functions can be captured only with NCCL", gpk.ErrUnsupported)
	errReplayed = fmt.Errorf("%w: a captured sequence belongs to the Run in which it was captured, and that has ended", gpk.ErrUnsupported)
)

// sequence returns the number of the sequence that is being captured with the call, or 0.
func (k *call) sequence() (int, error) {
	s := k.a.Stream()
	if !s.Capturing() {
		return 0, nil
	}
	if k.c.gpu == nil {
		return 0, errCaptured
	}
	if c := k.c; c.captured == nil || c.captured.stream != s {
		next := &replays{c: c, number: c.sequences + 1, stream: s}
		if err := k.OnReplay(s, next); err != nil {
			return 0, err
		}
		c.captured, c.sequences = next, next.number
	}
	return k.c.captured.number, nil
}

// Captured implements array.Replayed. The graph is registered with the communicator, which must not end before
// it.
func (r *replays) Captured(g *array.Graph) { r.c.gpu.keep(g) }

// Freed implements array.Replayed.
func (r *replays) Freed(g *array.Graph) { r.c.gpu.drop(g) }

// Before implements array.Replayed.
func (r *replays) Before(s *device.Stream) error {
	if err := r.c.check(); err != nil {
		return err
	}
	deviceapi.Queue(s.Device()).Flush() // a queued call may have failed
	if err := r.c.gpu.follow(s); err != nil {
		return err
	}
	if err := r.c.compare.announce(&heading{Call: "Replay", Sequence: r.number}); err != nil {
		if failed := r.c.check(); failed != nil {
			return failed
		}
		return errors.Join(errReplayed, err)
	}
	return nil
}

// After implements array.Replayed. If the Replay has failed, it fails the group, because the other ranks wait
// for this one.
func (r *replays) After(s *device.Stream, writes []*device.Buffer, err error) error {
	if err == nil {
		err = r.c.gpu.note(s, writes...)
	}
	return r.c.end(err)
}

// graphs are the graphs that use a communicator.
type graphs struct {
	mu   sync.Mutex
	list []*array.Graph
}

func (g *graphs) keep(one *array.Graph) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.list = append(g.list, one)
}

// drop removes a freed graph from the list, which would otherwise keep its outputs alive.
func (g *graphs) drop(one *array.Graph) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.list = slices.DeleteFunc(g.list, func(x *array.Graph) bool { return x == one })
}

// free frees all graphs. A Replay afterwards is ErrFreed.
func (g *graphs) free() {
	g.mu.Lock()
	list := g.list
	g.list = nil
	g.mu.Unlock()
	for _, one := range list {
		one.Free()
	}
}

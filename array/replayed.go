package array

import (
	"fmt"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
)

// Replayed is notified of the replays of a graph. An operation of the sequence registers it, by OnReplay, if its work
// involves more than the device, such as other ranks. The methods must not use the graph, except where they say so.
type Replayed interface {
	// Captured is called once the graph is made. g may be used later.
	Captured(g *Graph)
	// Freed is called when g is freed.
	Freed(g *Graph)
	// Before is called before a Replay starts work on s. With an error, the Replay starts no work.
	Before(s *device.Stream) error
	// After is called when the Replay has started its work, which writes the given buffers, or when it could not
	// start the work because of err. Replay returns the error of After, but work that was started goes on.
	After(s *device.Stream, writes []*device.Buffer, err error) error
}

// OnReplay registers r for the replays of the sequence that is being captured on s.
func (o *Operation) OnReplay(s *device.Stream, r Replayed) error {
	rec := recordingOn(s)
	if rec == nil {
		return fmt.Errorf("%w: no sequence is being captured", expr.ErrUnsupported)
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.told = append(rec.told, r)
	return nil
}

// launch starts the graph's work and calls the methods of the registered Replayed. If err is not nil, no work was
// started. If late is not nil, a method failed after the work was started. mu is held, and the places in written are
// marked as being written.
func (g *Graph) launch(s *device.Stream) (late, err error) {
	if len(g.told) == 0 {
		return nil, g.run.Launch(s)
	}
	writes := make([]*device.Buffer, len(g.written))
	for i, p := range g.written {
		writes[i] = p.old.mem.buf
	}
	begun := 0
	for ; begun < len(g.told) && err == nil; begun++ {
		err = g.told[begun].Before(s)
	}
	if err != nil {
		begun-- // Before failed for this one: After is not called
	} else {
		err = g.run.Launch(s)
	}
	for _, r := range g.told[:begun] {
		if e := r.After(s, writes, err); late == nil {
			late = e
		}
	}
	return late, err
}

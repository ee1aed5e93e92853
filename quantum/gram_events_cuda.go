package quantum

import (
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/deviceapi"
)

// timed is the work between two events.
type timed struct{ from, to *device.Event }

// someEvents is the number of events that a small matrix needs.
const someEvents = 6

// newEvent returns an event that has not been recorded.
func (g *cudaGram) newEvent() (*device.Event, error) {
	if len(g.unused) == 0 {
		list, err := deviceapi.NewEvents(g.dev, someEvents)
		if err != nil {
			return nil, err
		}
		g.events, g.unused = append(g.events, list), list
	}
	e := &g.unused[0]
	g.unused = g.unused[1:]
	return e, nil
}

// event records an event on s.
func (g *cudaGram) event(s *device.Stream) (*device.Event, error) {
	e, err := g.newEvent()
	if err != nil {
		return nil, err
	}
	return e, s.Record(e)
}

// timed runs f between two events on s, and appends these to times. Work that directly follows building or copying
// reuses the last event of that as its first. Tiles after the first one may have waited for
// other tiles.
func (g *cudaGram) timed(times *[]timed, s *device.Stream, f func() error) (err error) {
	t := timed{from: g.edge}
	if t.from == nil || s != g.s || g.tiles > 0 {
		if t.from, err = g.event(s); err != nil {
			return err
		}
	}
	g.edge = nil
	if err := f(); err != nil {
		return err
	}
	if t.to, err = g.event(s); err != nil {
		return err
	}
	*times = append(*times, t)
	if times != &g.started && s == g.s {
		g.edge = t.to
	}
	return nil
}

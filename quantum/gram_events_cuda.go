package quantum

import (
	"time"

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

// timed runs f between two events on s, and appends these to times. If the work directly follows building or
// copying, the last event of that is its first event. Tiles after the first one may have waited for other tiles.
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

// elapsed returns the sum of the times between events.
func elapsed(times []timed) (sum time.Duration, err error) {
	for _, t := range times {
		d, err := t.to.Elapsed(t.from)
		if err != nil {
			return 0, err
		}
		sum += d
	}
	return sum, nil
}

// accountBegin adds the times of uploads and states to the report. It runs while the last tile is computed.
func (g *cudaGram) accountBegin() error {
	r := g.report
	for _, part := range []struct {
		times []timed
		sum   *time.Duration
	}{{g.uploads, &r.Copy}, {g.building, &r.States}} {
		if len(part.times) == 0 {
			continue
		}
		if err := part.times[len(part.times)-1].to.Synchronize(g.ctx); err != nil {
			return err
		}
		var err error
		if *part.sum, err = elapsed(part.times); err != nil {
			return err
		}
	}
	return g.accountTiles()
}

// accountTiles adds the times of tiles that are complete.
func (g *cudaGram) accountTiles() error {
	t, err := elapsed(g.started[g.accounted:g.waited])
	g.accounted = g.waited
	g.report.Product += t
	return err
}

// accountNotes adds the time of the copy of the notes and of the writer.
func (g *cudaGram) accountNotes(notes timed) error {
	r := g.report
	down, err := notes.to.Elapsed(notes.from)
	if err != nil {
		return err
	}
	r.FromDevice = int64(g.noteBytes)
	if g.out != nil {
		down += g.out.took
		r.FromDevice += g.out.bytes
		r.Writing = g.out.wrote
	}
	rate := func(bytes int64, t time.Duration) float64 {
		if t <= 0 {
			return 0
		}
		return float64(bytes) / 1e9 / t.Seconds()
	}
	r.ToDeviceGBs, r.FromDeviceGBs = rate(r.ToDevice, r.Copy), rate(r.FromDevice, down)
	r.Copy += down
	return nil
}

// between measures the work that f starts on s by two events, and waits for it.
func between(dev *device.Device, s *device.Stream, f func() error) (time.Duration, error) {
	from, err := dev.NewEvent()
	if err != nil {
		return 0, err
	}
	defer from.Free()
	to, err := dev.NewEvent()
	if err != nil {
		return 0, err
	}
	defer to.Free()
	if err := s.Record(from); err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	if err := s.Record(to); err != nil {
		return 0, err
	}
	return to.Elapsed(from)
}

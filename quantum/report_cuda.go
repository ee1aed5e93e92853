package quantum

import (
	"time"

	"github.com/gpk-go/gpk/device"
)

// elapsed adds up times between events.
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

// accountBegin adds up the times before the last tile, while that tile is computed.
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

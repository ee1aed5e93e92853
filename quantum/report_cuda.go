package quantum

import (
	"time"

	"github.com/gpk-go/gpk/device"
)

// uploaded is how many bytes load copied.
func (d *deviceCode) uploaded() int64 {
	n := d.buf.Size()
	for _, t := range d.circuitCode.tables {
		parts := int64(len(t.values))
		if !d.real {
			parts *= 2
		}
		n += parts * int64(d.dt.Size())
	}
	return n
}

// upload runs f, which copies what the host has made to the device and returns
// how many bytes, between two events.
func (g *cudaGram) upload(kind int, f func() (int64, error)) error {
	return g.timed(kind, g.s, func() error {
		n, err := f()
		g.report.ToDevice += n
		return err
	})
}

// load brings code to the device.
func (g *cudaGram) load(c *circuitCode) (d *deviceCode, err error) {
	err = g.upload(codeTime, func() (int64, error) {
		if d, err = load(g.dev, g.s, c, g.dt, &g.launches); err != nil {
			return 0, err
		}
		return d.uploaded(), nil
	})
	return d, err
}

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

// account fills in what the events and the writer measured.
func (g *cudaGram) account(notes time.Duration, noteBytes int64) error {
	r := g.report
	var uploads, code time.Duration
	for _, part := range []struct {
		times []timed
		sum   *time.Duration
	}{{g.building, &r.States}, {g.started, &r.Product}, {g.uploads, &uploads}, {g.codeSent, &code}} {
		var err error
		if *part.sum, err = elapsed(part.times); err != nil {
			return err
		}
	}
	r.States = max(r.States-code, 0)
	uploads += code
	down := notes
	r.FromDevice = noteBytes
	if g.out != nil {
		down += g.out.took
		r.FromDevice += g.out.bytes
		r.Writing = g.out.wrote
	}
	r.Copy = uploads + down
	rate := func(bytes int64, t time.Duration) float64 {
		if t <= 0 {
			return 0
		}
		return float64(bytes) / 1e9 / t.Seconds()
	}
	r.ToDeviceGBs, r.FromDeviceGBs = rate(r.ToDevice, uploads), rate(r.FromDevice, down)
	return nil
}

// between times what f starts on s with two events and waits for it.
func between(dev *device.Device, s *device.Stream, f func() error) (time.Duration, error) {
	from, err := dev.NewEvent()
	if err != nil {
		return 0, err
	}
	to, err := dev.NewEvent()
	if err != nil {
		return 0, err
	}
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

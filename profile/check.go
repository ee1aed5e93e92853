package profile

import (
	"errors"
	"fmt"
	"time"
)

// fieldError is what is wrong with a field within an element.
type fieldError struct {
	field string // "" is the element itself
	err   error
}

func (e *fieldError) Error() string { return e.field + ": " + e.err.Error() }

// inField puts the name of the element before that of its field.
func inField(element string, err error) error {
	var f *fieldError
	if !errors.As(err, &f) {
		return err
	}
	if f.field != "" {
		element += "." + f.field
	}
	return &FormatError{Field: element, Err: f.err}
}

func text(field, s string) error {
	if len(s) > maxText {
		return &fieldError{field, fmt.Errorf("a text of %d bytes, more than %d", len(s), maxText)}
	}
	return nil
}

// required is a text that an element is nothing without.
func required(field, s string) error {
	if s == "" {
		return &fieldError{field, errors.New("missing")}
	}
	return text(field, s)
}

func notNegative(field string, n int64) error {
	if n < 0 {
		return &fieldError{field, fmt.Errorf("%d is negative", n)}
	}
	return nil
}

// measured checks a time that may be absent.
func measured(field string, d *time.Duration) error {
	if d == nil {
		return nil
	}
	return notNegative(field, int64(*d))
}

// first is the first error of several checks.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (h *Host) check() error {
	return first(text("go_version", h.GoVersion), text("os", h.OS), text("arch", h.Arch), notNegative("cpus", int64(h.CPUs)))
}

func (d *Device) check() error {
	if len(d.Streams) > maxStreams {
		return &fieldError{"streams", fmt.Errorf("%d, more than %d", len(d.Streams), maxStreams)}
	}
	for i, s := range d.Streams {
		// A busy share a little above 1 comes of two clocks; negative ones of nothing.
		if s.Busy != nil && *s.Busy < 0 {
			return &fieldError{fmt.Sprintf("streams[%d].busy", i), fmt.Errorf("%g is negative", *s.Busy)}
		}
	}
	var peak int64
	if d.PeakBytes != nil {
		peak = *d.PeakBytes
	}
	return first(required("name", d.Name), text("model", d.Model), text("driver", d.Driver),
		notNegative("memory_bytes", d.MemoryBytes), notNegative("peak_bytes", peak))
}

func (o *Operation) check() error {
	if len(o.Shape) > maxAxes {
		return &fieldError{"shape", fmt.Errorf("%d axes, more than %d", len(o.Shape), maxAxes)}
	}
	for i, n := range o.Shape {
		if n < 0 {
			return &fieldError{fmt.Sprintf("shape[%d]", i), fmt.Errorf("%d is negative", n)}
		}
	}
	return first(required("name", o.Name), text("kernel", o.Kernel), text("site", o.Site), text("dtype", o.DType),
		text("device", o.Device), notNegative("span", int64(o.Span)), notNegative("start_ns", int64(o.Start)),
		notNegative("host_ns", int64(o.Host)), measured("time_ns", o.Time),
		notNegative("bytes", o.Bytes), notNegative("flops", o.Flops))
}

func (s *Span) check() error {
	if s.ID < 1 {
		return &fieldError{"id", fmt.Errorf("%d; they count from 1", s.ID)}
	}
	if s.Parent < 0 || s.Parent >= s.ID {
		return &fieldError{"parent", fmt.Errorf("%d of span %d; a parent has a smaller number", s.Parent, s.ID)}
	}
	return first(required("name", s.Name), notNegative("start_ns", int64(s.Start)), notNegative("duration_ns", int64(s.Duration)))
}

func (t *Transfer) check() error {
	switch t.Kind {
	case HostToDevice, DeviceToHost, DeviceToDevice:
	default:
		return &fieldError{"kind", fmt.Errorf("%.40q is not one of %s, %s, %s", t.Kind, HostToDevice, DeviceToHost, DeviceToDevice)}
	}
	return first(text("device", t.Device), notNegative("span", int64(t.Span)), notNegative("bytes", t.Bytes),
		notNegative("start_ns", int64(t.Start)), notNegative("host_ns", int64(t.Host)), measured("time_ns", t.Time))
}

func (m *MemoryUse) check() error {
	return first(required("device", m.Device), notNegative("at_ns", int64(m.At)),
		notNegative("in_use_bytes", m.InUse), notNegative("held_bytes", m.Held))
}

func (a *Allocation) check() error {
	return first(required("name", a.Name), text("site", a.Site), text("device", a.Device), notNegative("count", a.Count),
		notNegative("bytes", a.Bytes), notNegative("in_use", a.InUse), notNegative("peak_bytes", a.Peak))
}

func (r *Report) checkGraphs() error {
	if r.Graphs == nil {
		return nil
	}
	return first(notNegative("captures", r.Graphs.Captures), notNegative("replays", r.Graphs.Replays))
}

func (r *Report) checkKernels() error {
	if r.Kernels == nil {
		return nil
	}
	return first(notNegative("hits", r.Kernels.Hits), notNegative("compiled", r.Kernels.Compiled), notNegative("time_ns", int64(r.Kernels.Time)))
}

package profile

import (
	"errors"
	"fmt"
	"time"
)

// fieldError is an error of a field within an element.
type fieldError struct {
	field string // "" is the element itself
	err   error
}

func (e *fieldError) Error() string { return e.field + ": " + e.err.Error() }

// inField prepends the name of the element to that of its field.
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

func checkText(field, s string) error {
	if len(s) > maxText {
		return &fieldError{field, fmt.Errorf("a text of %d bytes, more than %d", len(s), maxText)}
	}
	return nil
}

// checkRequired returns an error for an empty text of a required field.
func checkRequired(field, s string) error {
	if s == "" {
		return &fieldError{field, errors.New("missing")}
	}
	return checkText(field, s)
}

func checkNotNegative(field string, n int64) error {
	if n < 0 {
		return &fieldError{field, fmt.Errorf("%d is negative", n)}
	}
	return nil
}

// checkTime checks a time that may be absent.
func checkTime(field string, d *time.Duration) error {
	if d == nil {
		return nil
	}
	return checkNotNegative(field, int64(*d))
}

// firstError returns the first error of several checks.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (h *Host) check() error {
	return firstError(checkText("go_version", h.GoVersion), checkText("os", h.OS), checkText("arch", h.Arch), checkNotNegative("cpus", int64(h.CPUs)))
}

func (d *Device) check() error {
	if len(d.Streams) > maxStreams {
		return &fieldError{"streams", fmt.Errorf("%d, more than %d", len(d.Streams), maxStreams)}
	}
	for i, s := range d.Streams {
		// A busy share slightly above 1 is possible because of the two clocks; a negative
		// one is not.
		if s.Busy != nil && *s.Busy < 0 {
			return &fieldError{fmt.Sprintf("streams[%d].busy", i), fmt.Errorf("%g is negative", *s.Busy)}
		}
	}
	var peak int64
	if d.PeakBytes != nil {
		peak = *d.PeakBytes
	}
	return firstError(checkRequired("name", d.Name), checkText("model", d.Model), checkText("driver", d.Driver),
		checkNotNegative("memory_bytes", d.MemoryBytes), checkNotNegative("peak_bytes", peak))
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
	return firstError(checkRequired("name", o.Name), checkText("kernel", o.Kernel), checkText("site", o.Site), checkText("dtype", o.DType),
		checkText("device", o.Device), checkNotNegative("span", int64(o.Span)), checkNotNegative("start_ns", int64(o.Start)),
		checkNotNegative("host_ns", int64(o.Host)), checkTime("time_ns", o.Time),
		checkNotNegative("bytes", o.Bytes), checkNotNegative("flops", o.Flops))
}

func (s *Region) check() error {
	if s.ID < 1 {
		return &fieldError{"id", fmt.Errorf("%d; they count from 1", s.ID)}
	}
	if s.Parent < 0 || s.Parent >= s.ID {
		return &fieldError{"parent", fmt.Errorf("%d of span %d; a parent has a smaller number", s.Parent, s.ID)}
	}
	return firstError(checkRequired("name", s.Name), checkNotNegative("start_ns", int64(s.Start)), checkNotNegative("duration_ns", int64(s.Duration)))
}

func (t *Transfer) check() error {
	switch t.Kind {
	case HostToDevice, DeviceToHost, DeviceToDevice:
	default:
		return &fieldError{"kind", fmt.Errorf("%.40q is not one of %s, %s, %s", t.Kind, HostToDevice, DeviceToHost, DeviceToDevice)}
	}
	return firstError(checkText("device", t.Device), checkNotNegative("span", int64(t.Span)), checkNotNegative("bytes", t.Bytes),
		checkNotNegative("start_ns", int64(t.Start)), checkNotNegative("host_ns", int64(t.Host)), checkTime("time_ns", t.Time))
}

func (m *MemoryUse) check() error {
	return firstError(checkRequired("device", m.Device), checkNotNegative("at_ns", int64(m.At)),
		checkNotNegative("in_use_bytes", m.InUse), checkNotNegative("held_bytes", m.Held))
}

func (a *Allocation) check() error {
	return firstError(checkRequired("name", a.Name), checkText("site", a.Site), checkText("device", a.Device), checkNotNegative("count", a.Count),
		checkNotNegative("bytes", a.Bytes), checkNotNegative("in_use", a.InUse), checkNotNegative("peak_bytes", a.Peak))
}

func (r *Report) checkGraphs() error {
	if r.Graphs == nil {
		return nil
	}
	return firstError(checkNotNegative("captures", r.Graphs.Captures), checkNotNegative("replays", r.Graphs.Replays))
}

func (r *Report) checkKernels() error {
	if r.Kernels == nil {
		return nil
	}
	return firstError(checkNotNegative("hits", r.Kernels.Hits), checkNotNegative("compiled", r.Kernels.Compiled), checkNotNegative("time_ns", int64(r.Kernels.Time)))
}

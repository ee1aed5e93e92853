package profile

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Bottleneck is a use of time: an operation, the copies of one direction, the compiler,
// or a device that was idle.
type Bottleneck struct {
	What string `json:"what"`           // "MatMul", "copies to the device"
	Site string `json:"site,omitempty"` // of an operation
	// Time may overlap with that of other bottlenecks: devices, streams and the host work
	// concurrently.
	Time   time.Duration `json:"time_ns"`
	Share  float64       `json:"share"` // fraction of the profile's duration; above 1 on several streams
	Detail string        `json:"detail"`
}

// Bottlenecks returns the n largest uses of time, the longest first.
func (r *Report) Bottlenecks(n int) []Bottleneck {
	r = r.orEmpty()
	var bs []Bottleneck
	for _, t := range r.Totals() {
		b := Bottleneck{What: t.Name, Site: t.Site, Time: t.Time()}
		b.Detail = fmt.Sprintf("%s of %s on the %s", counted(t.Calls, "call", "calls"), timeText(t.Median), t.Clock)
		for _, rate := range []string{rateText(t.TFlops, "TFLOP/s"), rateText(t.GBPerSecond, "GB/s")} {
			if rate != "" {
				b.Detail += ", " + rate
			}
		}
		bs = append(bs, b)
	}
	for _, t := range r.TransferTotals() {
		if t.Device == nil {
			continue
		}
		detail := fmt.Sprintf("%s, %s", counted(t.Calls, "copy", "copies"), bytesText(t.Bytes))
		if t.GBPerSecond != nil {
			detail += ", " + rateText(t.GBPerSecond, "GB/s")
		}
		bs = append(bs, Bottleneck{What: "copies " + t.Kind.words(), Time: *t.Device, Detail: detail})
	}
	if k := r.Kernels; k != nil {
		bs = append(bs, Bottleneck{What: "compiling kernels", Time: k.Time, Detail: counted(k.Compiled, "kernel", "kernels")})
	}
	for _, b := range r.busiest() {
		idle := 1 - b.Busy
		bs = append(bs, Bottleneck{
			What: b.Device + " without work", Time: time.Duration(idle * float64(r.Duration)),
			Detail: fmt.Sprintf("its busiest stream, %d, was busy %s of the time", b.Stream, percentText(b.Busy)),
		})
	}
	bs = slices.DeleteFunc(bs, func(b Bottleneck) bool { return b.Time <= 0 })
	slices.SortStableFunc(bs, func(a, b Bottleneck) int { return cmp.Compare(b.Time, a.Time) })
	bs = bs[:min(max(n, 0), len(bs))]
	for i := range bs {
		if r.Duration > 0 {
			bs[i].Share = float64(bs[i].Time) / float64(r.Duration)
		}
	}
	return bs
}

// busiest returns the busiest stream of each device except the CPU, whose work is that of
// the host.
func (r *Report) busiest() []StreamBusy {
	var out []StreamBusy
	for _, b := range r.StreamsBusy() { // sorted by device
		last := len(out) - 1
		switch {
		case isCPU(b.Device):
		case last < 0 || out[last].Device != b.Device:
			out = append(out, b)
		case b.Busy > out[last].Busy:
			out[last] = b
		}
	}
	return out
}

// isCPU reports whether a device's name is that of the CPU backend.
func isCPU(device string) bool { return device == "cpu" }

// words returns the direction in words.
func (k TransferKind) words() string {
	switch k {
	case HostToDevice:
		return "to devices"
	case DeviceToHost:
		return "from devices"
	case DeviceToDevice:
		return "between devices"
	}
	return string(k)
}

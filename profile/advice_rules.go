package profile

import (
	"fmt"
	"time"
)

// The thresholds of the rules.
const (
	// transferShare: above a fifth of the devices' time, removing copies gains more than
	// most work on kernels.
	transferShare = 0.2
	// pinnedRate, in GB/s: a copy from pinned memory over PCI Express 3.0 x16 reaches 12
	// and more, over 4.0 and 5.0 two and four times that. A copy through the driver's
	// staging buffer does not.
	pinnedRate = 10.0
	// pinnedBytes is the mean size from which the link limits a copy's rate, not the cost
	// of starting it: at 10 GB/s a copy of 1 MiB takes 100 µs, and starting it takes less
	// than 10 µs.
	pinnedBytes = 1 << 20
	// tinyCalls: fewer calls are start-up, not a loop.
	tinyCalls = 100
	// idleShare: a device that works for less than half of the time waits for its program.
	idleShare = 0.5
	// dominantShare: optimizing an operation with more than half of the time gains more
	// than optimizing all others.
	dominantShare = 0.5
	// compileShare: from a twentieth on, compiling distorts the measurement.
	compileShare = 0.05
	// memoryShare: above nine tenths, the next larger batch does not fit.
	memoryShare = 0.9
	// churnCalls and churnFactor are the number of buffers, and the multiple of the bytes
	// in use, from which buffers are made and dropped in a loop.
	churnCalls  = 1000
	churnFactor = 10
)

// adviseTransfers finds copies that take much of the devices' time.
func adviseTransfers(f *findings) []Advice {
	copies, compute := f.summary.TransferTime, f.summary.DeviceTime
	if copies == nil || compute == nil || *copies <= 0 {
		return nil
	}
	share := float64(*copies) / (float64(*copies) + float64(*compute))
	if share < transferShare {
		return nil
	}
	a := Advice{
		Rule: "transfers", Share: share,
		Finding: fmt.Sprintf("Copies take %s of the devices' time", percentText(share)),
		Do: "Make arrays on the device that uses them, keep them there between operations, and read back results only. " +
			"Copies on a stream of their own run beside kernels.",
		Figures: []Figure{{"copies", timeText(*copies)}, {"operations", timeText(*compute)}},
	}
	for _, t := range f.summary.Transfers {
		a.Figures = append(a.Figures, Figure{string(t.Kind), bytesText(t.Bytes)})
		if t.GBPerSecond != nil {
			a.Figures = append(a.Figures, Figure{string(t.Kind) + " bandwidth", rateText(t.GBPerSecond, "GB/s")})
		}
	}
	return []Advice{a}
}

// advisePinned finds large copies slower than the link.
func advisePinned(f *findings) (out []Advice) {
	var all float64 // the total time of all devices
	for _, d := range []*time.Duration{f.summary.TransferTime, f.summary.DeviceTime} {
		if d != nil {
			all += float64(*d)
		}
	}
	for _, t := range f.summary.Transfers {
		if t.Kind == DeviceToDevice || t.GBPerSecond == nil || *t.GBPerSecond >= pinnedRate || t.Bytes/int64(t.Calls) < pinnedBytes {
			continue
		}
		out = append(out, Advice{
			Rule: "pinned", Share: float64(*t.Device) / all,
			Finding: fmt.Sprintf("Copies %s run at %s, below the %g GB/s of a link that is used well", t.Kind.words(), rateText(t.GBPerSecond, "GB/s"), pinnedRate),
			Do:      "Use memory from gpk.Pinned for the host's side: the device reads and writes it without staging.",
			Figures: []Figure{
				{"bandwidth", rateText(t.GBPerSecond, "GB/s")},
				{"bytes", bytesText(t.Bytes)},
				{"mean size", bytesText(t.Bytes / int64(t.Calls))},
			},
		})
	}
	return out
}

// adviseLaunches finds operations whose start takes the host longer than the device
// computes. Only operations measured by events on a device other than the CPU count.
func adviseLaunches(f *findings) []Advice {
	var host, compute time.Duration
	var times []time.Duration
	for i := range f.report.Operations {
		o := &f.report.Operations[i]
		if o.Time == nil || o.Failed || isCPU(o.Device) {
			continue
		}
		host, compute = addUp(host, o.Host), addUp(compute, *o.Time)
		times = append(times, *o.Time)
	}
	if len(times) < tinyCalls || host <= compute {
		return nil
	}
	a := Advice{
		Rule: "launches", Share: float64(host-compute) / float64(host),
		Finding: "Starting operations takes the host longer than the devices compute them",
		Do: "Record the loop's body with gpk.Capture and replay it, compute larger batches, " +
			"or leave chains of element-wise operations open until they are read, so that they are one kernel.",
		Figures: []Figure{
			{"calls", countText(len(times))},
			{"host", timeText(host)},
			{"device", timeText(compute)},
			{"median on the device", timeText(median(times))},
		},
	}
	if g := f.report.Graphs; g != nil {
		a.Figures = append(a.Figures, Figure{"graph replays", countText(g.Replays)})
	}
	return []Advice{a}
}

// adviseIdle finds devices whose busiest stream had little to do.
func adviseIdle(f *findings) (out []Advice) {
	for _, b := range f.report.busiest() {
		if b.Busy >= idleShare {
			continue
		}
		out = append(out, Advice{
			Rule: "idle", Share: 1 - b.Busy,
			Finding: fmt.Sprintf("%s has nothing to do %s of the time", b.Device, percentText(1-b.Busy)),
			Do: "Look in the timeline for what the host does in the gaps. Read results less often, as each read waits; " +
				"prepare the next input in another goroutine; and compute independent work on several streams.",
			Figures: []Figure{
				{fmt.Sprintf("busy, stream %d", b.Stream), percentText(b.Busy)},
				{"duration", timeText(f.report.Duration)},
			},
		})
	}
	return out
}

// adviseDominant finds an operation that takes most of the time.
func adviseDominant(f *findings) []Advice {
	if len(f.totals) < 2 || f.totals[0].Share < dominantShare {
		return nil
	}
	t := &f.totals[0]
	name := t.Name
	if t.Site != "" {
		name += " at " + t.Site
	}
	a := Advice{
		Rule: "dominant", Share: t.Share,
		Finding: fmt.Sprintf("%s takes %s of the time of all operations", name, percentText(t.Share)),
		Do: "Work on this one first. Explain says which kernel computes it and why. " +
			"A shorter type or a lower precision, where the program allows one, and a larger batch help the most.",
		Figures: []Figure{
			{"time", timeText(t.Time())},
			{"calls", countText(t.Calls)},
			{"median", timeText(t.Median)},
			{"clock", string(t.Clock)},
		},
	}
	if t.TFlops != nil {
		a.Figures = append(a.Figures, Figure{"rate", rateText(t.TFlops, "TFLOP/s")})
	}
	if t.GBPerSecond != nil {
		a.Figures = append(a.Figures, Figure{"memory", rateText(t.GBPerSecond, "GB/s")})
	}
	return []Advice{a}
}

// adviseCompiling finds a profile in which compiling takes much of the time.
func adviseCompiling(f *findings) []Advice {
	k := f.report.Kernels
	if k == nil || k.Compiled == 0 || f.report.Duration <= 0 {
		return nil
	}
	share := float64(k.Time) / float64(f.report.Duration)
	if share < compileShare {
		return nil
	}
	return []Advice{{
		Rule: "compiling", Share: min(share, 1),
		Finding: fmt.Sprintf("Kernels were compiled for a time that is %s of the profile", percentText(share)),
		Do:      "Run the program's work once before the profile starts. Compiled kernels are kept in the cache folder: keep it between runs.",
		Figures: []Figure{
			{"compiled", countText(k.Compiled)},
			{"compile time", timeText(k.Time)},
			{"found compiled", countText(k.Hits)},
		},
	}}
}

// adviseMemory finds devices that are nearly full.
func adviseMemory(f *findings) (out []Advice) {
	for i := range f.report.Devices {
		d := &f.report.Devices[i]
		if d.PeakBytes == nil || d.MemoryBytes <= 0 || float64(*d.PeakBytes) < memoryShare*float64(d.MemoryBytes) {
			continue
		}
		share := float64(*d.PeakBytes) / float64(d.MemoryBytes)
		a := Advice{
			Rule:    "memory",
			Finding: fmt.Sprintf("Buffers on %s took %s of its memory at once", d.Name, percentText(share)),
			Do:      "Free arrays, or compute in gpk.Scoped, as soon as they are not needed; use smaller batches or a shorter type.",
			Figures: []Figure{{"peak", bytesText(*d.PeakBytes)}, {"memory", bytesText(d.MemoryBytes)}},
		}
		for j := range f.report.Allocations {
			if al := &f.report.Allocations[j]; al.Device == d.Name { // allocations are sorted by peak: the first is the largest
				a.Figures = append(a.Figures, Figure{"most by", al.place()}, Figure{"its peak", bytesText(al.Peak)})
				break
			}
		}
		out = append(out, a)
	}
	return out
}

// adviseAllocations finds the line of the program that makes and drops the most buffers.
func adviseAllocations(f *findings) []Advice {
	var most *Allocation
	for i := range f.report.Allocations {
		a := &f.report.Allocations[i]
		if a.Count < churnCalls || a.Peak <= 0 || a.Bytes/churnFactor < a.Peak {
			continue
		}
		if most == nil || a.Bytes > most.Bytes {
			most = a
		}
	}
	if most == nil {
		return nil
	}
	return []Advice{{
		Rule:    "allocations",
		Finding: fmt.Sprintf("%s made %s buffers, of which few were in use at once", most.place(), countText(most.Count)),
		Do:      "Write into memory that is there, with gpk.Into, or free what a loop makes at its end, with gpk.Scoped.",
		Figures: []Figure{
			{"buffers", countText(most.Count)},
			{"bytes of all", bytesText(most.Bytes)},
			{"peak", bytesText(most.Peak)},
		},
	}}
}

// place returns the operation and the line that made the buffers.
func (a *Allocation) place() string {
	if a.Site == "" {
		return a.Name
	}
	return a.Name + " at " + a.Site
}

package otel

import (
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/serve/monitor"
)

// Monitor registers the newest snapshot of m: the memory of its device in bytes, and the
// level of pressure. It takes no snapshot itself, and reports nothing before the first one:
// see monitor.Monitor.Start. The attribute gpk.monitor is name. A nil meter or m is
// ErrUnsupported; other errors are the meter's.
func Monitor(meter metric.Meter, name string, m *monitor.Monitor) (metric.Registration, error) {
	if err := checkPointer(meter, "Monitor", m); err != nil {
		return nil, err
	}
	type snapshot = monitor.Snapshot
	g := &group[snapshot]{
		meter: meter, labels: []attribute.KeyValue{attribute.String("gpk.monitor", name)},
		read: func() (snapshot, bool) {
			newest := m.History(1)
			if len(newest) == 0 {
				return snapshot{}, false
			}
			return newest[0], true
		},
	}
	sum(g, "gpk.memory.total", "By", "Memory of the device; 0 where it is unknown.", func(s snapshot) int64 { return s.Total })
	sum(g, "gpk.memory.free", "By", "Memory that no program has taken.", func(s snapshot) int64 { return s.Free })
	sum(g, "gpk.memory.in_use", "By", "Memory of the arrays and buffers of this program.", func(s snapshot) int64 { return s.InUse })
	sum(g, "gpk.memory.cached", "By", "Memory that the pool of this program keeps for reuse.", func(s snapshot) int64 { return s.Cached })
	gauge(g, "gpk.memory.pressure", "", "0 low, 1 moderate, 2 high, 3 critical.", func(s snapshot) int { return int(s.Pressure) })
	return g.register()
}

// Pool registers the counters of d's memory pool. The attribute gpk.device is d's name, such
// as cuda:0. A nil meter or d is ErrUnsupported; other errors are the meter's.
func Pool(meter metric.Meter, d *device.Device) (metric.Registration, error) {
	if err := checkPointer(meter, "Device", d); err != nil {
		return nil, err
	}
	type stats = device.PoolStats
	g := &group[stats]{
		meter: meter, labels: []attribute.KeyValue{attribute.String("gpk.device", d.String())},
		read: func() (stats, bool) { return d.Pool(), true },
	}
	sum(g, "gpk.pool.in_use", "By", "Memory of live buffers.", func(s stats) int64 { return s.InUse })
	sum(g, "gpk.pool.cached", "By", "Memory kept for reuse.", func(s stats) int64 { return s.Cached })
	gauge(g, "gpk.pool.peak", "By", "The most that gpk.pool.in_use has been.", func(s stats) int64 { return s.Peak })
	sum(g, "gpk.pool.limit", "By", "The most that live buffers, memory for reuse and exposed memory may be together.", func(s stats) int64 { return s.Limit })
	sum(g, "gpk.pool.exposed", "By", "Memory that was handed to other libraries and is kept for good.", func(s stats) int64 { return s.Exposed })
	counter(g, "gpk.pool.allocations", "{block}", "Blocks asked of the driver.", func(s stats) uint64 { return s.Allocs })
	counter(g, "gpk.pool.reuses", "{request}", "Requests served from blocks kept for reuse.", func(s stats) uint64 { return s.Reuses })
	counter(g, "gpk.pool.trims", "{block}", "Blocks given back to the driver.", func(s stats) uint64 { return s.Trims })
	counter(g, "gpk.pool.collections", "{collection}", "Garbage collections that the pool asked for.", func(s stats) uint64 { return s.Collections })
	counter(g, "gpk.pool.waits", "{request}", "Requests that waited for a garbage collection.", func(s stats) uint64 { return s.Waits })
	return g.register()
}

// checkPointer returns an error for a nil meter or a nil source. name is the name of the
// source's type.
func checkPointer[S any](meter metric.Meter, name string, source *S) error {
	if err := check(meter, source); err != nil || source != nil {
		return err
	}
	return fmt.Errorf("otel: %w: a nil %s", gpk.ErrUnsupported, name)
}

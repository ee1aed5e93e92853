package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/serve/monitor"
)

// Monitor returns a collector of the newest snapshot of m: the memory of its device in
// bytes, and the level of pressure. It takes no snapshot itself, and exports nothing
// before the first one: see monitor.Monitor.Start. The label monitor is name.
func Monitor(name string, m *monitor.Monitor) prometheus.Collector {
	type snapshot = monitor.Snapshot
	c := &collector[snapshot]{
		labels: prometheus.Labels{"monitor": name},
		read: func() (snapshot, bool) {
			newest := m.History(1)
			if len(newest) == 0 {
				return snapshot{}, false
			}
			return newest[0], true
		},
	}
	c.gauge("gpk_memory_total_bytes", "Memory of the device; 0 where it is unknown.", func(s snapshot) float64 { return float64(s.Total) })
	c.gauge("gpk_memory_free_bytes", "Memory that no program has taken.", func(s snapshot) float64 { return float64(s.Free) })
	c.gauge("gpk_memory_in_use_bytes", "Memory of the arrays and buffers of this program.", func(s snapshot) float64 { return float64(s.InUse) })
	c.gauge("gpk_memory_cached_bytes", "Memory that the pool of this program keeps for reuse.", func(s snapshot) float64 { return float64(s.Cached) })
	c.gauge("gpk_memory_pressure", "0 low, 1 moderate, 2 high, 3 critical.", func(s snapshot) float64 { return float64(s.Pressure) })
	return c
}

// Pool returns a collector of the counters of d's memory pool. The label device is d's
// name, such as cuda:0.
func Pool(d *device.Device) prometheus.Collector {
	type stats = device.PoolStats
	c := &collector[stats]{
		labels: prometheus.Labels{"device": d.String()},
		read:   func() (stats, bool) { return d.Pool(), true },
	}
	c.gauge("gpk_pool_in_use_bytes", "Memory of live buffers.", func(s stats) float64 { return float64(s.InUse) })
	c.gauge("gpk_pool_cached_bytes", "Memory kept for reuse.", func(s stats) float64 { return float64(s.Cached) })
	c.gauge("gpk_pool_peak_bytes", "The most that gpk_pool_in_use_bytes has been.", func(s stats) float64 { return float64(s.Peak) })
	c.gauge("gpk_pool_limit_bytes", "The most that live buffers, memory for reuse and exposed memory may be together.", func(s stats) float64 { return float64(s.Limit) })
	c.gauge("gpk_pool_exposed_bytes", "Memory that was handed to other libraries and is kept for good.", func(s stats) float64 { return float64(s.Exposed) })
	c.counter("gpk_pool_allocations_total", "Blocks asked of the driver.", func(s stats) uint64 { return s.Allocs })
	c.counter("gpk_pool_reuses_total", "Requests served from blocks kept for reuse.", func(s stats) uint64 { return s.Reuses })
	c.counter("gpk_pool_trims_total", "Blocks given back to the driver.", func(s stats) uint64 { return s.Trims })
	c.counter("gpk_pool_collections_total", "Garbage collections that the pool asked for.", func(s stats) uint64 { return s.Collections })
	c.counter("gpk_pool_waits_total", "Requests that waited for a garbage collection.", func(s stats) uint64 { return s.Waits })
	return c
}

package monitor

import (
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/deviceapi"
)

// Memory holds the figures of one moment, in bytes.
type Memory struct {
	Total  int64 // size of the memory; 0 if unknown
	Free   int64 // memory that no program uses
	InUse  int64 // memory of this program's arrays and buffers
	Cached int64 // memory that this program's pool keeps for reuse; it does not count as Free
}

// Used returns the fraction of the memory that is not free, from 0 to 1. It is 0 if the
// total is unknown.
func (m Memory) Used() float64 {
	if m.Total <= 0 {
		return 0
	}
	return float64(m.Total-min(max(m.Free, 0), m.Total)) / float64(m.Total)
}

// Source provides the figures of a Monitor. Tests replace it. A Monitor never calls it while
// it holds its own mutex, and may call it from several goroutines at the same time.
type Source interface {
	// Memory returns the current figures.
	Memory() (Memory, error)
	// Trim returns the pool's idle blocks to the system.
	Trim() error
	// Collect runs a garbage collection, and frees the buffers that the program has dropped.
	Collect()
	// Buffers returns the number of buffers made so far.
	Buffers() uint64
	// LiveBuffers lists the live buffers except for the first `after` that were made.
	LiveBuffers(after uint64) []device.LiveBuffer
}

// deviceSource reads a device. Trim, Buffers and LiveBuffers are the device's own.
type deviceSource struct{ *device.Device }

// Collect runs a garbage collection and returns the dropped buffers to the pool.
func (s deviceSource) Collect() { deviceapi.Collect(s.Device) }

// Memory returns the device's figures, which count all programs. If the pool's limit leaves
// less room, Total and Free are those of the limit.
func (s deviceSource) Memory() (Memory, error) {
	free, total, err := s.Device.Memory()
	if err != nil {
		return Memory{}, err
	}
	return within(free, total, s.Pool()), nil
}

// within returns the figures of a device and its pool, within the pool's limit.
func within(free, total int64, pool device.PoolStats) Memory {
	if room := pool.Limit - pool.InUse - pool.Cached - pool.Exposed; total <= 0 || room < free {
		free, total = room, pool.Limit
	}
	return Memory{Total: total, Free: max(free, 0), InUse: pool.InUse, Cached: pool.Cached}
}

package monitor

import (
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/deviceapi"
)

// Memory is the figures of one moment, in bytes.
type Memory struct {
	Total  int64 // what there is; 0: unknown
	Free   int64 // what nobody has taken
	InUse  int64 // what this program's arrays and buffers hold
	Cached int64 // what this program's pool keeps for reuse; it is not Free
}

// Used returns the part of the memory that is not free, 0 to 1. It is 0 where the total is
// unknown.
func (m Memory) Used() float64 {
	if m.Total <= 0 {
		return 0
	}
	return float64(m.Total-min(max(m.Free, 0), m.Total)) / float64(m.Total)
}

// Source is where a Monitor has its figures from. Tests replace it. A Monitor never calls
// it while it holds its own mutex, and may call it from several goroutines at once.
type Source interface {
	// Memory returns the figures of now.
	Memory() (Memory, error)
	// Trim returns the pool's idle blocks to the system.
	Trim() error
	// Collect runs a garbage collection, and frees the buffers that the program has dropped.
	Collect()
	// Buffers returns the number of buffers made so far.
	Buffers() uint64
	// LiveBuffers lists the live buffers, without the first `after` that were made.
	LiveBuffers(after uint64) []device.LiveBuffer
}

// deviceSource reads a device. Trim, Buffers and LiveBuffers are the device's own.
type deviceSource struct{ *device.Device }

// Collect runs a garbage collection and returns the buffers that it found dropped to the
// pool.
func (s deviceSource) Collect() { deviceapi.Collect(s.Device) }

// Memory returns the device's own figures, for all programs that use it. Where the pool's
// limit leaves less room, Total and Free are those of the limit.
func (s deviceSource) Memory() (Memory, error) {
	free, total, err := s.Device.Memory()
	if err != nil {
		return Memory{}, err
	}
	return within(free, total, s.Pool()), nil
}

// within returns the figures of a device and its pool.
func within(free, total int64, pool device.PoolStats) Memory {
	if room := pool.Limit - pool.InUse - pool.Cached - pool.Exposed; total <= 0 || room < free {
		free, total = room, pool.Limit
	}
	return Memory{Total: total, Free: max(free, 0), InUse: pool.InUse, Cached: pool.Cached}
}

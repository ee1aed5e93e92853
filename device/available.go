package device

import (
	"math"
	"sync/atomic"
	"time"
)

// askEvery is how long a GPU's answer about free memory is reused. A query takes the driver 5 us,
// and 35 us after a pause.
const askEvery = 100 * time.Millisecond

// answer is a GPU's answer about its free memory. A timer marks it as expired, because reading the
// clock takes longer than the rest of Available.
type answer struct {
	room    int64        // bytes that are free or held by the pool
	expired *atomic.Bool // nil: no valid answer
}

// newAnswer returns an answer that expires after askEvery.
func newAnswer(room int64) answer {
	a := answer{room, new(atomic.Bool)}
	time.AfterFunc(askEvery, func() { a.expired.Store(true) })
	return a
}

// maxAsks is how often the query is repeated if the driver allocated or freed memory
// meanwhile: otherwise the answer and the pool's counters are not from the same moment.
const maxAsks = 8

// Available returns how many bytes can be allocated: the device's free memory and the
// pool's idle memory, within the pool's limit; 0 if the system does not report it. A GPU is
// queried at most ten times a second. Between queries the allocations of its own pool
// count, but those of other programs do not. Memory that the driver is allocating or
// freeing at the moment does not count as available.
func (d *Device) Available() (int64, error) {
	if err := d.Err(); err != nil {
		return 0, err
	}
	d.drain()
	d.mu.Lock()
	defer d.mu.Unlock()
	last := d.asked
	if d.info.Kind == CPU || last.expired == nil || last.expired.Load() {
		room, err := d.askFree()
		if err != nil || room == unknownRoom {
			return 0, err
		}
		last.room = room
	}
	pool := &d.pool.stats
	room := last.room - pool.InUse
	if pool.Limit > 0 {
		room = min(room, pool.Limit-pool.InUse-pool.Exposed)
	}
	return max(room, 1), nil
}

// unknownRoom is the answer if the system does not report free memory.
const unknownRoom = math.MinInt64

// askFree queries the backend for the bytes that are free or held by the pool. mu is held, but
// released during the query.
func (d *Device) askFree() (room int64, err error) {
	for again := 0; ; again++ {
		before := d.pool.traffic
		d.mu.Unlock()
		free, _, err := d.backend.memory()
		d.mu.Lock()
		if err != nil || d.info.Kind == CPU && free == 0 {
			return unknownRoom, err
		}
		stats, now := &d.pool.stats, d.pool.traffic
		room := free + stats.InUse + stats.Cached + now.leaving
		if now == before && now.calls == 0 {
			if d.info.Kind != CPU {
				d.asked = newAnswer(room)
			}
			return room, nil
		}
		if now == before || again == maxAsks {
			return room - now.leaving - now.coming, nil // free may or may not include these bytes
		}
	}
}

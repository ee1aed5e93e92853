package device

import "time"

// askEvery is how long a GPU's answer about free memory is reused: a query takes its driver
// 5 us, and 35 us after a pause.
const askEvery = 100 * time.Millisecond

// answer is a GPU's answer about its free memory.
type answer struct {
	at   time.Time // zero: no valid answer
	room int64     // bytes that are free or held by the pool
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
	if d.info.Kind == CPU || last.at.IsZero() || time.Since(last.at) > askEvery {
		var err error
		if last, err = d.askFree(); err != nil || last.at.IsZero() {
			return 0, err
		}
	}
	pool := &d.pool.stats
	room := last.room - pool.InUse
	if pool.Limit > 0 {
		room = min(room, pool.Limit-pool.InUse-pool.Exposed)
	}
	return max(room, 1), nil
}

// askFree queries the backend; the zero answer means unknown. mu is held, but released
// during the query.
func (d *Device) askFree() (answer, error) {
	for again := 0; ; again++ {
		before := d.pool.traffic
		d.mu.Unlock()
		free, _, err := d.backend.memory()
		d.mu.Lock()
		if err != nil || d.info.Kind == CPU && free == 0 {
			return answer{}, err
		}
		stats, now := &d.pool.stats, d.pool.traffic
		a := answer{time.Now(), free + stats.InUse + stats.Cached + now.leaving}
		if now == before && now.calls == 0 {
			d.asked = a
			return a, nil
		}
		if now == before || again == maxAsks {
			a.room -= now.leaving + now.coming // free may or may not include these bytes
			return a, nil
		}
	}
}

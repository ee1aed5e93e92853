package device

import "time"

// askEvery is how long a GPU's answer about free memory serves: to ask takes its driver
// 5 us, and 35 after a pause.
const askEvery = 100 * time.Millisecond

// answer is what a GPU said about its memory.
type answer struct {
	at   time.Time // zero: nothing that still holds
	room int64     // free, or the pool's
}

// Available returns how many bytes can be allocated: what is free on the device and
// what the pool keeps, within the pool's limit; 0 where the system does not say. A GPU is
// asked ten times a second at most: in between what its pool has taken counts, what other
// programs have taken does not.
func (d *Device) Available() (int64, error) {
	if d.err != nil {
		return 0, d.err
	}
	d.drain()
	d.mu.Lock()
	last, pool := d.asked, d.pool.stats
	d.mu.Unlock()
	if d.info.Kind == CPU || last.at.IsZero() || time.Since(last.at) > askEvery {
		free, _, err := d.backend.memory()
		if err != nil {
			return 0, err
		}
		if d.info.Kind == CPU && free == 0 {
			return 0, nil
		}
		last = answer{time.Now(), free + pool.InUse + pool.Cached}
		d.mu.Lock()
		d.asked = last
		d.mu.Unlock()
	}
	room := last.room - pool.InUse
	if pool.Limit > 0 {
		room = min(room, pool.Limit-pool.InUse)
	}
	return max(room, 1), nil
}

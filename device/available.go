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

// maxAsks is how often the question is put again where the driver gave or took memory
// meanwhile: its answer and the pool's books are of one moment where it did not.
const maxAsks = 8

// Available returns how many bytes can be allocated: what is free on the device and
// what the pool keeps, within the pool's limit; 0 where the system does not say. A GPU is
// asked ten times a second at most: in between what its pool has taken counts, what other
// programs have taken does not. What the driver is giving or taking back meanwhile does
// not count as available.
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

// askFree asks the backend; the zero answer says that it does not know. mu is held, and
// free while the backend answers.
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
			a.room -= now.leaving + now.coming // which free may count, or not
			return a, nil
		}
	}
}

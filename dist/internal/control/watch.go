package control

import (
	"fmt"
	"time"
)

// between returns the time from one beat to the next.
func between(silence time.Duration) time.Duration { return max(silence/8, time.Millisecond) }

// heldUp reports whether the watch itself was stopped or delayed since its last check, so that frames may be
// unread. The silence is then measured anew. If it was not delayed, at most a quarter of the silence passes
// between two checks. So, by the watch's clock, a silent rank is reported within 5/4 of the silence: 5 s for
// 4 s.
func heldUp(since, silence time.Duration) bool { return since > max(silence/4, 2*between(silence)) }

// watch detects ranks that do not join or are silent. It runs until close.
func (h *hub) watch() {
	ticker := time.NewTicker(between(h.cfg.Silence))
	defer ticker.Stop()
	began, last := time.Now(), time.Now()
	for {
		select {
		case <-h.stop:
			return
		case now := <-ticker.C:
			if f := h.inspect(now, last, began); f != nil {
				h.fail(f)
			}
			last = now
		}
	}
}

// inspect returns the failure of a rank that is missing or silent, and sends beats. last is the time of the
// previous call, and began the time at which the watch started.
func (h *hub) inspect(now, last, began time.Time) *Failure {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failure != nil {
		return nil
	}
	if h.joined < h.cfg.Size && now.Sub(began) > h.cfg.Join {
		for rank, m := range h.members {
			if m.port == nil {
				return &Failure{rank, "", fmt.Errorf("%w within %v; %d of %d ranks have", ErrMissing, h.cfg.Join, h.joined, h.cfg.Size)}
			}
		}
	}
	beat := &frame{kind: kindBeat}
	for rank := range h.members {
		m := &h.members[rank]
		c, remote := m.port.(*connection)
		if !remote || m.left {
			continue
		}
		c.deliver(beat)
		if heldUp(now.Sub(last), h.cfg.Silence) {
			m.heard = now
		}
		if quiet := now.Sub(m.heard); quiet > h.cfg.Silence {
			return &Failure{rank, m.host, fmt.Errorf("%w (for %v)", ErrSilent, quiet.Round(10*time.Millisecond))}
		}
	}
	return nil
}

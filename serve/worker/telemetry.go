package worker

import "time"

// Telemetry holds the counters of a Worker since New. Received is the sum of Handled,
// Failed, Panicked, the dropped and the queued messages, the message that is being
// handled and, with Block, the messages of senders that wait for room.
type Telemetry struct {
	Received uint64 // messages of Send and Ask, while Idle or Active
	Handled  uint64 // messages for which the handler returned no error
	Failed   uint64 // messages for which the handler returned an error
	Panicked uint64 // messages for which the handler panicked
	Restarts uint64
	Dropped  Dropped
	Queued   Queued
	Waiting  Times // time from Send or Ask to the handler's start
	Handling Times // time in the handler
}

// Dropped counts messages that were not handled, by reason.
type Dropped struct {
	Rejected uint64 // Reject: the sender got ErrQueueFull
	Oldest   uint64 // DropOldest: the message made room for a newer one
	New      uint64 // DropNew, and DropOldest if all waiting messages were of higher bands
	Canceled uint64 // the context ended while an asker or a blocked sender waited
	Stopped  uint64 // the Worker ended before the message was handled
}

// Total returns the sum over the reasons.
func (d Dropped) Total() uint64 { return d.Rejected + d.Oldest + d.New + d.Canceled + d.Stopped }

// Queued is the number of messages in the queue, by band.
type Queued struct{ Low, Normal, High, System int }

// Total returns the sum over the bands.
func (q Queued) Total() int { return q.Low + q.Normal + q.High + q.System }

// Times summarizes durations, each with a relative error of at most 1/16.
type Times struct{ Median, P99 time.Duration }

func (h *histogram) times() Times { return Times{h.quantile(0.5), h.quantile(0.99)} }

// counters are the counters of a Worker, guarded by its mutex.
type counters struct {
	received, handled, failed, panicked, restarts uint64
	dropped                                       Dropped
	waiting, handling                             histogram
}

// Telemetry returns the current counters.
func (w *Worker[In, Out]) Telemetry() Telemetry {
	if w.usable() != nil {
		return Telemetry{}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	n, r := &w.counts, &w.queue.rings
	return Telemetry{
		Received: n.received, Handled: n.handled, Failed: n.failed, Panicked: n.panicked, Restarts: n.restarts,
		Dropped:  n.dropped,
		Queued:   Queued{Low: r[0].n, Normal: r[1].n, High: r[2].n, System: r[3].n},
		Waiting:  n.waiting.times(),
		Handling: n.handling.times(),
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gpk-go/gpk/device"
)

// The parameters of the peers' clock: the number of samples, the time that all of them
// should take, and the time below which a call is measured in a graph of many calls, which
// excludes the launch latency.
const (
	samples   = 7
	budget    = 250 * time.Millisecond
	patience  = 4 * time.Second // after which leastSamples are enough
	shortCall = 50 * time.Microsecond
	graphSize = 48

	leastSamples = 3
)

// stopwatch times work on one device.
type stopwatch interface {
	// lap makes n calls back to back and returns how long the device took
	// for all of them.
	lap(n int, call func() error) (time.Duration, error)
	// record makes n calls without running them and returns what runs them
	// as one, or errNoGraph.
	record(n int, call func() error) (replay func() error, release func(), err error)
	// blocks returns how often the device's pool has asked the system for memory.
	blocks() uint64
}

var errNoGraph = errors.New("this device records no graphs")

// wallClock times a device from the host: calls, then a wait for their end.
type wallClock struct{ dev *device.Device }

func (w wallClock) lap(n int, call func() error) (time.Duration, error) {
	start := time.Now()
	for range n {
		if err := call(); err != nil {
			return 0, err
		}
	}
	err := w.dev.Synchronize(context.Background())
	return time.Since(start), err
}

func (w wallClock) blocks() uint64 { return w.dev.Pool().Allocs }

func (wallClock) record(int, func() error) (func() error, func(), error) {
	return nil, nil, errNoGraph
}

// timing is the measurement of one round of a case.
type timing struct {
	seconds float64 // time of one call
	calls   int     // timed, those inside graphs too
	note    string
}

// measure is the peers' clock: three calls to warm up (o.warmup), one to see
// how long it takes, then the median of seven samples that together fill the
// budget. A call that turns out short is timed again inside a graph, where
// the stopwatch has graphs. Slow cases end early: warming up when the budget
// is spent, sampling when patience is.
//
// Warming up goes on, for as long as patience lasts, until a call needs no new memory of
// the system. A program that drops its intermediate results needs some with every call
// until the first collection, and the first touch of it took up to four times as long as
// the call: samples taken on both sides of that collection have two levels
// (results/programs-levels_epyc_2026-11-24.txt).
func measure(w stopwatch, o options, call func() error) (timing, error) {
	if err := warmUp(w, o.warmup, call); err != nil {
		return timing{}, err
	}
	once, err := w.lap(1, call)
	if err != nil {
		return timing{}, err
	}
	inner := o.iterations
	if inner == 0 {
		inner = fit(max(once, 5*time.Microsecond), 2000)
	}
	t, err := sample(w, inner, call)
	if err != nil || t.seconds > shortCall.Seconds() {
		return t, err
	}
	replay, release, err := w.record(graphSize, call)
	if errors.Is(err, errNoGraph) {
		return t, nil
	}
	if err != nil {
		t.note = fmt.Sprintf("launched one by one, launch latency is in the figure: %v", err)
		return t, nil
	}
	defer release()
	if _, err := w.lap(1, replay); err != nil {
		return timing{}, err
	}
	launches := (o.iterations + graphSize - 1) / graphSize
	if o.iterations == 0 {
		launches = fit(time.Duration(graphSize*t.seconds*float64(time.Second)), 1<<20)
	}
	t, err = sample(w, launches, replay)
	t.seconds /= graphSize
	t.calls *= graphSize
	return t, err
}

// warmUp makes n untimed calls, fewer once they have spent the budget, and then more until
// one needs no new memory of the system.
func warmUp(w stopwatch, n int, call func() error) error {
	start := time.Now()
	for i, fresh := 0, true; n > 0; i++ {
		spent := time.Since(start)
		if i > 0 && (i >= n || spent >= budget) && (!fresh || spent >= patience) {
			break
		}
		before := w.blocks()
		if _, err := w.lap(1, call); err != nil {
			return err
		}
		fresh = w.blocks() > before
	}
	return nil
}

// fit returns the number of calls of the given length that fit into one sample.
func fit(once time.Duration, most int) int {
	return max(1, min(most, int(budget/samples/max(once, 1))))
}

// sample returns the median time of a call over laps of inner calls.
func sample(w stopwatch, inner int, call func() error) (timing, error) {
	var laps []time.Duration
	for start := time.Now(); len(laps) < samples; {
		d, err := w.lap(inner, call)
		if err != nil {
			return timing{}, err
		}
		laps = append(laps, d)
		if len(laps) == leastSamples && time.Since(start) > patience {
			break
		}
	}
	calls := inner * len(laps)
	slices.Sort(laps)
	return timing{seconds: laps[len(laps)/2].Seconds() / float64(inner), calls: calls}, nil
}

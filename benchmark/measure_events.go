package main

import (
	"errors"
	"time"

	"github.com/gpk-go/gpk/device"
)

// eventClock measures the work of one stream by events of the GPU. It can also capture
// that work as a graph. The stream is not the default stream, because the default stream
// cannot be captured.
type eventClock struct {
	stream      *device.Stream
	start, stop *device.Event
}

func newEventClock(dev *device.Device) (*eventClock, error) {
	stream, err := dev.NewStream()
	if err != nil {
		return nil, err
	}
	c := &eventClock{stream: stream}
	if c.start, err = dev.NewEvent(); err == nil {
		c.stop, err = dev.NewEvent()
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close waits for the stream and closes it.
func (c *eventClock) Close() error { return c.stream.Close() }

func (c *eventClock) blocks() uint64 { return c.stream.Device().Pool().Allocs }

func (c *eventClock) lap(n int, call func() error) (time.Duration, error) {
	if err := c.stream.Record(c.start); err != nil {
		return 0, err
	}
	for range n {
		if err := call(); err != nil {
			return 0, err
		}
	}
	if err := c.stream.Record(c.stop); err != nil {
		return 0, err
	}
	return c.stop.Elapsed(c.start)
}

func (c *eventClock) record(n int, call func() error) (func() error, func(), error) {
	if err := c.stream.BeginCapture(); err != nil {
		return nil, nil, err
	}
	var failed error
	for i := 0; i < n && failed == nil; i++ {
		failed = call()
	}
	// End the capture even after an error, because a capturing stream does no other work.
	graph, err := c.stream.EndCapture()
	if failed != nil {
		if err == nil {
			graph.Close()
		}
		return nil, nil, failed
	}
	if err != nil {
		return nil, nil, err
	}
	return func() error { return graph.Launch(c.stream) }, func() { graph.Close() }, nil
}

package main

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dist"
)

// gpusHere returns the number of GPUs. A test replaces it.
var gpusHere = func() int {
	n := 0
	for _, i := range device.List() {
		if i.Kind == device.CUDA {
			n++
		}
	}
	return n
}

// onRanks calls f for each rank of a group. Cases share a group until one of them fails.
func (r *runner) onRanks(ranks int, f func(ctx context.Context, c *dist.Comm) error) error {
	g := r.groups[ranks]
	if g == nil {
		var err error
		if g, err = r.group(ranks); err != nil {
			return err
		}
		r.groups[ranks] = g
	}
	err := g.Run(context.Background(), f)
	if err != nil {
		delete(r.groups, ranks)
		err = errors.Join(err, g.Close())
	}
	return err
}

// group returns the group that a launcher started if it has the requested number of ranks. Otherwise it returns a group of
// this process.
func (r *runner) group(ranks int) (*dist.Group, error) {
	if ranks > 1 {
		var opts []dist.Option
		if r.device != "" {
			opts = append(opts, dist.OnDevice(r.dev))
		}
		g, err := dist.Join(context.Background(), opts...)
		if err != nil || g.Size() == ranks {
			return g, err
		}
		if err := g.Close(); err != nil {
			return nil, err
		}
	}
	devices, err := r.devices(ranks)
	if err != nil {
		return nil, err
	}
	return dist.Local(devices...)
}

// devices returns the devices of ranks in this process.
func (r *runner) devices(ranks int) ([]*device.Device, error) {
	if !r.gpu || ranks == 1 {
		return slices.Repeat([]*device.Device{r.dev}, ranks), nil
	}
	list := make([]*device.Device, ranks)
	for i := range list {
		var err error
		if list[i], err = device.Open("cuda:" + strconv.Itoa(i)); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// rankLap times calls that all ranks make together. Every rank gets the time of the slowest, so all ranks
// make the same number of calls.
type rankLap struct {
	ctx  context.Context
	c    *dist.Comm
	call func() error
}

// measure measures the time of a call. Only the laps count.
func (l rankLap) measure(o options) (timing, error) {
	if _, err := l.lap(max(1, o.warmup)); err != nil {
		return timing{}, err
	}
	once, err := l.lap(1)
	if err != nil {
		return timing{}, err
	}
	inner := o.iterations
	if inner == 0 {
		inner = fit(max(once, 5*time.Microsecond), 2000)
	}
	var seconds []float64
	total := time.Duration(0)
	for len(seconds) < samples && (len(seconds) < leastSamples || total < patience) {
		d, err := l.lap(inner)
		if err != nil {
			return timing{}, err
		}
		total += d
		seconds = append(seconds, d.Seconds()/float64(inner))
	}
	return timing{seconds: median(seconds), calls: inner * len(seconds)}, nil
}

// lap makes n calls, and returns the time of the slowest rank.
func (l rankLap) lap(n int) (time.Duration, error) {
	if err := l.c.Barrier(l.ctx); err != nil {
		return 0, err
	}
	start := time.Now()
	for range n {
		if err := l.call(); err != nil {
			return 0, err
		}
	}
	if err := l.c.Device().Synchronize(l.ctx); err != nil {
		return 0, err
	}
	slowest, err := gpk.Item[float64](l.c.AllReduce(gpk.FromSliceOn(l.c.Device(), []float64{time.Since(start).Seconds()}), dist.Max).Reshape())
	return time.Duration(slowest * float64(time.Second)), err
}

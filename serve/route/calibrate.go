package route

import (
	"context"
	"errors"
	"fmt"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
)

// Calibrate returns a model of the cost of operations on the CPU and on d, a GPU. A nil d is
// the default device. If d is the CPU, the model describes only the CPU.
//
// It measures once for each GPU, driver, kernel library and model of CPU. With a GPU that can take a minute, in
// which nothing else should run. Without one it takes about fifteen seconds: each curve has a share of five seconds,
// ends when that is spent, and is measured four times more. The result is kept in the folder route of gpk's
// cache (GPK_CACHE); to measure again, delete the file there. A damaged file is ignored and
// replaced. If the file cannot be written, the next program measures again.
//
// Errors: that of ctx if it ends, and those of the device.
func Calibrate(ctx context.Context, d *device.Device) (*Model, error) {
	if ctx == nil {
		return nil, errors.New("route.Calibrate: a nil context")
	}
	if d == nil {
		d = device.Default()
	}
	m, err := calibrate(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("route.Calibrate: %w", err)
	}
	return m, nil
}

func calibrate(ctx context.Context, d *device.Device) (*Model, error) {
	if err := d.Err(); err != nil {
		return nil, err
	}
	m := newModel(d, nil)
	if d.Kind() != device.CPU {
		host, err := device.Open("cpu")
		if err != nil {
			return nil, err
		}
		m = newModel(host, d)
	}
	file := cacheFile{header: headerOf(m.host, m.gpu)}
	if dir, err := cutlass.CacheDir(); err == nil {
		file.path = file.header.path(dir)
	}
	if t, err := file.read(); err == nil {
		m.set(t)
		return m, nil
	}
	t, err := measureAll(ctx, m.host, m.gpu)
	if err != nil {
		return nil, err
	}
	for _, name := range wanted(m.gpu != nil) {
		if len(t[name]) == 0 {
			return nil, fmt.Errorf("%w: too little memory is free to measure %s", device.ErrOutOfMemory, name)
		}
	}
	m.set(t)
	_ = file.write(t) // the model works without the file
	return m, nil
}

// tables holds the measured points of each curve by its name, as in the file.
type tables map[string][]point

// curveName returns a name such as "cpu elementwise float32".
func curveName(k device.Kind, c class, dt dtype.DType) string { return fmt.Sprint(k, " ", c, " ", dt) }

// The names of the curves of copies.
const (
	upName   = "copy up"
	downName = "copy down"
)

// measureAll measures the CPU and, unless it is nil, a GPU.
func measureAll(ctx context.Context, host, gpu *device.Device) (tables, error) {
	t, e := tables{}, thorough
	if gpu == nil {
		e = brief
	}
	if err := t.measure(&laboratory{ctx: ctx, dev: host, effort: e}); err != nil || gpu == nil {
		return t, err
	}
	l := &laboratory{ctx: ctx, dev: gpu, effort: e}
	if err := l.warmUp(); err != nil {
		return nil, err
	}
	if err := t.measure(l); err != nil {
		return nil, err
	}
	var err error
	t[upName], t[downName], err = l.copies()
	return t, err
}

// measure adds the curves of a device.
func (t tables) measure(l *laboratory) error {
	defer l.close()
	all, err := probe(l.probe).survey(l.dev.Kind(), l.effort)
	if err != nil {
		return err
	}
	for _, s := range all {
		if len(s.samples) > 0 {
			t[curveName(l.dev.Kind(), s.class, s.dtype)] = s.points()
		}
	}
	return nil
}

// set sets the curves of the model.
func (m *Model) set(t tables) {
	for c := range classes {
		for _, dt := range dtype.All {
			m.rates[onCPU][c][dt] = newCurve(t[curveName(device.CPU, c, dt)])
			m.rates[onGPU][c][dt] = newCurve(t[curveName(device.CUDA, c, dt)])
		}
	}
	m.up, m.down = newCurve(t[upName]), newCurve(t[downName])
}

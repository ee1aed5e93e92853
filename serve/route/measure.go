package route

import (
	"context"
	"fmt"
	"math"
	"time"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
)

const (
	rounds = 2 // rounds that are measured at the first measurement of a point

	// A point may take at most 1/curveMemory of the free memory.
	curveMemory = 8
)

// laboratory measures operations on one device.
type laboratory struct {
	ctx    context.Context
	dev    *device.Device
	effort effort

	x, y *gpk.Array // operands, reused until longer ones or another type are needed
}

// close frees the operands.
func (l *laboratory) close() {
	l.x.Free()
	l.y.Free()
	l.x, l.y = nil, nil
}

// operands returns two operands of n elements.
func (l *laboratory) operands(dt dtype.DType, n int) (x, y *gpk.Array, err error) {
	if l.x == nil || l.x.DType() != dt || l.x.Size() < n {
		l.close()
		if l.x, err = l.operand(dt, n); err == nil {
			l.y, err = l.operand(dt, n)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return l.x.Slice(0, 0, n), l.y.Slice(0, 0, n), nil
}

// count returns the number of elements of an operand of size n: n * n for a product, else n.
func (c class) count(n int) int {
	if c.whole() == product {
		return n * n
	}
	return n
}

// hasMemory reports whether the device has enough free memory to measure a call of size n.
func (l *laboratory) hasMemory(c class, dt dtype.DType, n int) (bool, error) {
	free, err := l.dev.Available()
	if err != nil {
		return false, err
	}
	return free == 0 || 4*int64(c.count(n))*int64(dt.Size()) <= free/curveMemory, nil
}

// probe measures a call of size n. ok is false if the device does not have the memory.
func (l *laboratory) probe(c class, dt dtype.DType, n, calls int) (s sample, ok bool, err error) {
	if enough, err := l.hasMemory(c, dt, n); err != nil || !enough {
		return s, false, err
	}
	if s, err = l.measure(c, dt, n, calls); err != nil {
		return s, false, fmt.Errorf("%v of %v, size %d: %w", c, dt, n, err)
	}
	return s, true, nil
}

// measure is probe without the check of memory.
func (l *laboratory) measure(c class, dt dtype.DType, n, calls int) (sample, error) {
	x, y, err := l.operands(dt, c.count(n))
	if err != nil {
		return sample{}, err
	}
	if c.whole() == product {
		x, y = x.Reshape(n, n), y.Reshape(n, n)
	}
	once := func() *gpk.Array { return representative(c, x, y) }
	first := once()
	dst := first.Clone()
	if err := gpk.Eval(dst); err != nil {
		return sample{}, err
	}
	defer dst.Free()
	defer first.Free()
	seconds, calls, err := l.time(calls, func() error { return gpk.Into(dst, once()) })
	op := Op{Elements: int64(x.Size()), Bytes: traffic(c, x, y, dst), Flops: 2 * int64(n) * int64(n) * int64(n), DType: dt}
	return sample{point{op.work(c), seconds}, n, calls}, err
}

// representative returns the operation that represents a class in the measurements.
func representative(c class, x, y *gpk.Array) *gpk.Array {
	switch c.whole() {
	case smooth:
		return x.Exp()
	case reduction:
		return x.Sum()
	case order:
		return x.Sort(0, false)
	case product:
		return x.MatMul(y)
	}
	if x.DType() == dtype.Bool {
		return x.And(y)
	}
	return x.Add(y)
}

// traffic returns the bytes of the operands and the result of a representative operation.
func traffic(c class, x, y, dst *gpk.Array) int64 {
	n := x.NBytes() + dst.NBytes()
	if c == elementwise || c.whole() == product {
		n += y.NBytes()
	}
	return int64(n)
}

// operand returns n random numbers between -4 and 4 on the device, in one axis. They are periodic:
// kernels take the same time as with other numbers, and making them takes less time.
func (l *laboratory) operand(dt dtype.DType, n int) (*gpk.Array, error) {
	const period = 1 << 12
	values := make([]float32, period)
	state := uint32(1)
	for i := range values {
		state = state*1664525 + 1013904223 // Numerical Recipes, 7.1
		values[i] = float32(state>>8)/(1<<21) - 4
	}
	few := gpk.FromSliceOn(l.dev, values)
	defer few.Free()
	times := (n + period - 1) / period
	a := few.Cast(dt).BroadcastTo(times, period).Reshape(times*period).Slice(0, 0, n).Clone()
	return a, gpk.Eval(a)
}

// time returns the seconds of a call within a sequence of calls, as in a program that does not wait
// for each result. It measures one round of `calls` calls. If calls is 0, it finds the number that
// takes effort.round, and measures several rounds. used is the number of calls in a round.
func (l *laboratory) time(calls int, call func() error) (seconds float64, used int, err error) {
	best, left := time.Duration(math.MaxInt64), 1
	search := calls == 0
	if search {
		calls, left = 1, rounds
	}
	for left > 0 {
		if err := l.ctx.Err(); err != nil {
			return 0, 0, err
		}
		took, err := l.round(calls, call)
		if err != nil {
			return 0, 0, err
		}
		if search && took < l.effort.round && calls < 1<<16 { // the first calls of a kernel are slow too
			calls *= 2
			continue
		}
		left--
		best = min(best, took)
	}
	return max(best.Seconds()/float64(calls), 1e-9), calls, nil
}

// round returns the time of a number of calls, including the wait for their results.
func (l *laboratory) round(calls int, call func() error) (time.Duration, error) {
	start := time.Now()
	for range calls {
		if err := call(); err != nil {
			return 0, err
		}
	}
	err := l.dev.Synchronize(l.ctx)
	return time.Since(start), err
}

// copies measures copies between Go slices and the device. It waits for each copy.
func (l *laboratory) copies() (up, down []point, err error) {
	for n := 1 << 6; n <= 1<<28; n *= 4 {
		if free, err := l.dev.Available(); err != nil || int64(n) > free/curveMemory {
			return up, down, err
		}
		host := make([]uint8, n)
		a := gpk.FromSliceOn(l.dev, host)
		if err := gpk.Eval(a); err != nil {
			return nil, nil, err
		}
		u, _, err := l.time(0, func() error {
			if err := gpk.FromSliceInto(a, host); err != nil {
				return err
			}
			return l.dev.Synchronize(l.ctx)
		})
		if err != nil {
			return nil, nil, err
		}
		d, _, err := l.time(0, func() error { return gpk.ToSliceInto(host, a) })
		if err != nil {
			return nil, nil, err
		}
		a.Free()
		up, down = append(up, point{float64(n), u}), append(down, point{float64(n), d})
	}
	return up, down, nil
}

// warmUp keeps a GPU busy until its clocks have risen.
func (l *laboratory) warmUp() error {
	x, err := l.operand(dtype.Float32, 1<<20)
	if err != nil {
		return err
	}
	defer x.Free()
	x = x.Reshape(1<<10, 1<<10)
	dst := x.Clone()
	defer dst.Free()
	for start := time.Now(); time.Since(start) < 300*time.Millisecond; {
		if _, err := l.round(10, func() error { return gpk.Into(dst, x.MatMul(x)) }); err != nil {
			return err
		}
	}
	return nil
}

package route

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
)

const (
	// A point is the least of so many rounds, each of as many calls as take roundTime: what
	// else the machine does makes a call slower, never faster. It may do so for many
	// milliseconds, so that points of less than shortPoint are measured in so many passes
	// over the curve. A round of small operations is long enough to have its share of Go's
	// garbage collections: without them a small sum took 1.7 us, with them 3.
	passes     = 2
	rounds     = 2
	roundTime  = 2 * time.Millisecond
	shortPoint = 300 * time.Microsecond

	// lastPoint is the time of a call with which a curve ends: its rate is the one of
	// larger work.
	lastPoint = 3 * time.Millisecond

	// curveMemory is the part of the free memory, one in so many, that a point may take.
	curveMemory = 8
)

// laboratory measures on one device.
type laboratory struct {
	ctx context.Context
	dev *device.Device

	x, y *gpk.Array // operands that serve until a longer one or another type is needed
}

// close frees what the laboratory holds.
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

// curve measures one class for one type. A type for which the operation has no meaning
// has no points.
func (l *laboratory) curve(c class, dt dtype.DType) ([]point, error) {
	if !meaningful(c, dt) {
		return nil, nil
	}
	var points []point
	for _, n := range l.sizes(c, dt) {
		p, ok, err := l.point(c, dt, n)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		points = append(points, p)
		if p.Seconds > lastPoint.Seconds() {
			break
		}
	}
	for range passes - 1 {
		for i, n := range l.sizes(c, dt)[:len(points)] {
			if points[i].Seconds > shortPoint.Seconds() {
				break
			}
			p, ok, err := l.point(c, dt, n)
			if err != nil {
				return nil, err
			}
			if ok {
				points[i].Seconds = min(points[i].Seconds, p.Seconds)
			}
		}
	}
	return rising(points), nil
}

// rising has no point take longer than one with more work: where that was measured, something
// disturbed one of them, and neighbours take their geometric mean until the times rise. That
// is the rising curve of least squares in the logarithms of the times (Ayer et al., Ann. Math.
// Stat. 26, 1955). The least of the points behind would be too low in the flat part of a
// curve, where there are many.
func rising(points []point) []point {
	type block struct {
		log float64 // the mean
		n   int
	}
	var blocks []block
	for _, p := range points {
		b := block{math.Log2(p.Seconds), 1}
		for len(blocks) > 0 && blocks[len(blocks)-1].log > b.log {
			last := blocks[len(blocks)-1]
			n := last.n + b.n
			b = block{(last.log*float64(last.n) + b.log*float64(b.n)) / float64(n), n}
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	i := 0
	for _, b := range blocks {
		for range b.n {
			if b.n > 1 {
				points[i].Seconds = math.Exp2(b.log)
			}
			i++
		}
	}
	return points
}

// meaningful reports whether the operation that stands for a class takes a type.
func meaningful(c class, dt dtype.DType) bool {
	switch c {
	case smooth:
		return !dt.IsInteger() && dt != dtype.Bool
	case order:
		return !dt.IsComplex()
	case product:
		return dt.HasProducts()
	case raggedReduction, raggedProduct:
		return meaningful(c.whole(), dt) && dt.Size() < alignment
	}
	return true
}

// measuredOn reports whether a class is measured on a kind of device: a CPU reads ragged rows
// as fast as others.
func (c class) measuredOn(k device.Kind) bool { return k != device.CPU || c == c.whole() }

// sizes returns the number of elements at each point of a curve; for products, the number of
// rows. A curve of float32 has twice as many points. Ragged sizes are odd.
func (l *laboratory) sizes(c class, dt dtype.DType) []int {
	if c != c.whole() {
		sizes := l.sizes(c.whole(), dt)
		for i := range sizes {
			sizes[i] |= 1
		}
		return slices.Compact(sizes)
	}
	if c == product {
		return []int{1, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192}
	}
	step := 4
	if dt == dtype.Float32 {
		step = 2
	}
	out := []int{1, 1 << 6}
	for n := 1 << 8; n <= 1<<26; n *= step {
		out = append(out, n)
	}
	return out
}

// count is the number of elements of an operand of a size.
func (c class) count(n int) int {
	if c.whole() == product {
		return n * n
	}
	return n
}

// room reports whether a point's memory is there.
func (l *laboratory) room(c class, dt dtype.DType, n int) (bool, error) {
	free, err := l.dev.Available()
	if err != nil {
		return false, err
	}
	return free == 0 || 4*int64(c.count(n))*int64(dt.Size()) <= free/curveMemory, nil
}

// point measures one operation, if there is memory for its operands.
func (l *laboratory) point(c class, dt dtype.DType, n int) (p point, ok bool, err error) {
	if room, err := l.room(c, dt, n); err != nil || !room {
		return p, false, err
	}
	if p, err = l.measure(c, dt, n); err != nil {
		return p, false, fmt.Errorf("%v of %v, size %d: %w", c, dt, n, err)
	}
	return p, true, nil
}

// measure is point where there is memory.
func (l *laboratory) measure(c class, dt dtype.DType, n int) (point, error) {
	x, y, err := l.operands(dt, c.count(n))
	if err != nil {
		return point{}, err
	}
	if c.whole() == product {
		x, y = x.Reshape(n, n), y.Reshape(n, n)
	}
	once := func() *gpk.Array { return representative(c, x, y) }
	first := once()
	dst := first.Clone()
	if err := gpk.Eval(dst); err != nil {
		return point{}, err
	}
	defer dst.Free()
	defer first.Free()
	seconds, err := l.time(func() error { return gpk.Into(dst, once()) })
	op := Op{Elements: int64(x.Size()), Bytes: traffic(c, x, y, dst), Flops: 2 * int64(n) * int64(n) * int64(n), DType: dt}
	return point{op.work(c), seconds}, err
}

// representative is the operation that stands for a class.
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

// traffic is the bytes of the operands and the result of a representative.
func traffic(c class, x, y, dst *gpk.Array) int64 {
	n := x.NBytes() + dst.NBytes()
	if c == elementwise || c.whole() == product {
		n += y.NBytes()
	}
	return int64(n)
}

// operand returns n random numbers between -4 and 4 on the device, in one axis. They repeat
// themselves: kernels take as long as with others, and making them takes less.
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

// time returns the seconds of a call, as one of many in a row: what a program sees that
// computes on.
func (l *laboratory) time(call func() error) (float64, error) {
	calls, best := 1, time.Duration(math.MaxInt64)
	for round := 0; round < rounds; {
		if err := l.ctx.Err(); err != nil {
			return 0, err
		}
		took, err := l.round(calls, call)
		if err != nil {
			return 0, err
		}
		if took < roundTime && calls < 1<<16 { // the first calls of a kernel are slow too
			calls *= 2
			continue
		}
		round++
		best = min(best, took)
	}
	return max(best.Seconds()/float64(calls), 1e-9), nil
}

// round times so many calls, and waits for them.
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

// copies measures copies between slices of Go and the device, each waited for.
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
		u, err := l.time(func() error {
			if err := gpk.FromSliceInto(a, host); err != nil {
				return err
			}
			return l.dev.Synchronize(l.ctx)
		})
		if err != nil {
			return nil, nil, err
		}
		d, err := l.time(func() error { return gpk.ToSliceInto(host, a) })
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

package route

import (
	"math"
	"slices"
	"time"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
)

// effort says how long a survey measures.
type effort struct {
	passes int           // over every point of all curves; the shortest time of a point counts
	round  time.Duration // minimum time of a round of calls
	last   time.Duration // a curve ends with the first call that takes longer; larger work is predicted at its rate
	budget time.Duration // time for the first pass, divided evenly among the curves; later passes do not extend a curve; 0: no limit
}

var (
	// thorough is for the choice between two devices. There are four passes, because other work on the machine makes a
	// call slower, never faster, and may last for seconds: a busy host of an H100 launched sums at half the rate for
	// several seconds. A round of small operations is long enough to contain its share of Go's garbage collections: a
	// small sum took 1.7 us without them, and 3 us with them.
	thorough = effort{passes: 4, round: 2 * time.Millisecond, last: 3 * time.Millisecond}

	// brief is for a machine without a GPU, where nothing is chosen and the times are only for information.
	brief = effort{passes: 5, round: time.Millisecond, last: time.Millisecond, budget: 5 * time.Second}
)

// sample is a measured point.
type sample struct {
	point
	n     int // number of elements; for a product, of rows
	calls int // calls in a round
}

// probe measures an operation of n elements, or a product of n rows. calls is the number of calls in the round
// that is measured. If calls is 0, probe first finds the number that takes effort.round. ok is false if there is too
// little memory.
type probe func(c class, dt dtype.DType, n, calls int) (s sample, ok bool, err error)

// survey is the measurement of one class for one type.
type survey struct {
	class   class
	dtype   dtype.DType
	samples []sample
}

// survey measures all curves of a kind of device.
func (measure probe) survey(k device.Kind, e effort) ([]survey, error) {
	var all []survey
	for _, dt := range dtype.All {
		for c := range classes {
			if c.measuredOn(k) && meaningful(c, dt) {
				all = append(all, survey{class: c, dtype: dt})
			}
		}
	}
	share := effort{last: e.last, budget: e.budget / time.Duration(max(len(all), 1))}
	for pass := range e.passes {
		for i := range all {
			s := &all[i]
			if err := s.again(measure, e.round); err != nil {
				return nil, err
			}
			if pass > 0 && e.budget > 0 {
				continue
			}
			if err := s.extend(measure, share); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// extend measures the sizes after the last point, until a call takes e.last, e.budget is spent, or memory is too
// small. If a disturbance in one pass ends the curve too early, the next pass continues it.
func (s *survey) extend(measure probe, e effort) error {
	begun := time.Now()
	for _, n := range sizes(s.class, s.dtype)[len(s.samples):] {
		if last := len(s.samples) - 1; last >= 0 && (s.samples[last].Seconds > e.last.Seconds() || e.budget > 0 && time.Since(begun) > e.budget) {
			break
		}
		found, ok, err := measure(s.class, s.dtype, n, 0)
		if err != nil || !ok {
			return err
		}
		s.samples = append(s.samples, found)
	}
	return nil
}

// again measures the points again. It begins with the largest, so that its operands can be reused for the others.
// If a round was too short because its number of calls was determined during a disturbance, the number is
// determined again.
func (s *survey) again(measure probe, round time.Duration) error {
	for i := len(s.samples) - 1; i >= 0; i-- {
		p := &s.samples[i]
		calls := p.calls
		if float64(calls)*p.Seconds < round.Seconds()/2 {
			calls = 0
		}
		found, ok, err := measure(s.class, s.dtype, p.n, calls)
		if err != nil {
			return err
		}
		if ok {
			p.Seconds = min(p.Seconds, found.Seconds)
			p.calls = max(p.calls, found.calls)
		}
	}
	return nil
}

// points returns the points of the curve.
func (s *survey) points() []point {
	points := make([]point, len(s.samples))
	for i, p := range s.samples {
		points[i] = p.point
	}
	return rising(points)
}

// rising makes the times ascend with the work. If a point takes longer than one with more work, something
// disturbed one of the measurements. Such neighbours are replaced by their geometric mean until the times ascend.
// The result is the least-squares ascending curve in the logarithms of the times (Ayer et al., Ann. Math. Stat.
// 26, 1955). Taking the minimum of the later points instead would be too low in the flat part of a curve, which
// has many points.
func rising(points []point) []point {
	type block struct {
		log float64 // mean of the logarithms
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

// meaningful reports whether the representative of a class supports a type.
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

// measuredOn reports whether a class is measured on a kind of device. Ragged classes are not measured on a CPU,
// which reads ragged rows as fast as others.
func (c class) measuredOn(k device.Kind) bool { return k != device.CPU || c == c.whole() }

// sizes returns the number of elements at each point of a curve; for products, the number of rows. A curve of
// float32 has twice as many points, and two more where a sum's time jumps. Beyond 8,192 elements a sum takes two
// kernels: there is a point at 8,448. Between 32 and 64 MiB an operand outgrows the L2 cache of a Hopper: there
// is a point at 48 MiB. Ragged sizes are odd. Those of reductions are one less than the others, which keeps them
// on the same side of a jump.
//
// The tiles of a product run in waves, as many at once as a GPU has multiprocessors. A GPU of 132 has a wave
// nearly full of tiles at 1,024, 2,048 and 4,096 rows, and needs another one for a few rows more. The next sizes
// are just above these, so that the curve has the jump; without them, a segment from 1,024 to 1,536 would spread
// it over the whole range. They are 16 above multiples of 128: a product whose tiles are all full is faster than
// its neighbours.
func sizes(c class, dt dtype.DType) []int {
	if c != c.whole() {
		sizes := sizes(c.whole(), dt)
		for i, n := range sizes {
			sizes[i] = n | 1
			if c == raggedReduction {
				sizes[i] = max(n-1, 1)
			}
		}
		return slices.Compact(sizes)
	}
	if c == product {
		return []int{
			1, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1168, 1296, 1536,
			2048, 2320, 2576, 3072, 4096, 5136, 6144, 8192,
		}
	}
	step := 4
	if dt == dtype.Float32 {
		step = 2
	}
	out := []int{1, 1 << 6}
	for n := 1 << 8; n <= 1<<26; n *= step {
		out = append(out, n)
		switch {
		case dt != dtype.Float32:
		case n == 1<<13:
			out = append(out, n+n/32)
		case n == 1<<23:
			out = append(out, n+n/2)
		}
	}
	return out
}

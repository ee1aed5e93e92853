package route

import "math"

// maxPoints is the maximum number of points of a curve.
const maxPoints = 32

// point is a measured time for an amount of work.
type point struct{ Work, Seconds float64 }

// interpolate returns the seconds for an amount of work from points in the order of their work.
// Between two points, the logarithm of the time is linear in the logarithm of the work. There
// is no single rate, because small sizes are bound by the launch, larger ones by caches, and
// still larger ones by memory. Work below the first point takes the time of the first. Beyond
// the last point the rate is that of the last point.
func interpolate(points []point, work float64) float64 {
	i := 0
	for i < len(points) && points[i].Work <= work {
		i++
	}
	if i == 0 {
		return points[0].Seconds
	}
	before := points[i-1]
	if i == len(points) {
		return before.Seconds * (work / before.Work)
	}
	after := points[i]
	return before.Seconds * math.Pow(work/before.Work, math.Log(after.Seconds/before.Seconds)/math.Log(after.Work/before.Work))
}

// There are 2^knotBits knots in each octave of work.
const knotBits = 4

// curve is a table for interpolate with 16 evenly spaced knots in each octave of work, starting
// at work 1. The exponent and the leading bits of the work are the index of its knot. Between
// knots the time is linear. Compared with interpolate, the relative error is about |s (s-1)| /
// (8 * 16^2) for a slope s in the logarithms. If the slope changes by d between two knots, up
// to about |d| / (4 * 16) is added. The zero curve was not measured, and takes no time.
type curve struct {
	seconds []float32 // at the knots, up to the first one after the last point
	rate    float64   // seconds for a unit of work after the last knot
}

// newCurve returns the curve through points. Their work is at least 1 and ascends.
func newCurve(points []point) (c curve) {
	if len(points) == 0 {
		return c
	}
	last := points[len(points)-1]
	c.rate = last.Seconds / last.Work
	end, _ := knot(last.Work)
	c.seconds = make([]float32, end+2)
	for i := range c.seconds {
		work := math.Float64frombits(uint64(i+1023<<knotBits) << (52 - knotBits))
		c.seconds[i] = float32(interpolate(points, work))
	}
	return c
}

// knot returns the index of the last knot that is not above work, and the position of work
// between it and the next knot, from 0 to 1. Work below 1 counts as 1.
func knot(work float64) (i int, part float64) {
	if !(work > 1) {
		return 0, 0
	}
	const low = 52 - knotBits
	bits := math.Float64bits(work)
	return int(bits>>low) - 1023<<knotBits, float64(bits&(1<<low-1)) * (1.0 / (1 << low))
}

// measured reports whether the curve has points.
func (c *curve) measured() bool { return len(c.seconds) > 0 }

// at returns the seconds for an amount of work.
func (c *curve) at(work float64) float64 {
	i, part := knot(work)
	if i+1 >= len(c.seconds) {
		return c.rate * work
	}
	before, after := float64(c.seconds[i]), float64(c.seconds[i+1])
	return before + part*(after-before)
}

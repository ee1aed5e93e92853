package route

import "math"

// maxPoints bounds the points of a curve.
const maxPoints = 32

// point is a measured time for an amount of work.
type point struct{ Work, Seconds float64 }

// interpolate returns the seconds for an amount of work, through points whose work rises.
// Between points the logarithm of the time is linear in the logarithm of the work: small
// sizes are bound by the launch, larger ones by caches, still larger ones by memory, so that
// no one rate holds. Work below the first point takes the time of the first. Beyond the last
// point the rate stays as it is there.
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

// knotBits is the base-2 logarithm of the knots of an octave.
const knotBits = 4

// curve is interpolate as a table of knots: 16 in each octave of work, evenly spaced, from
// work 1 on. Exponent and leading bits of the work are the number of its knot, and between
// knots the time is linear. Where the slope in the logarithms is s, that differs from
// interpolate by about |s (s-1)| / (8 * 16^2) of the time. Where the slope changes by d between
// two knots, it adds up to about |d| / (4 * 16). The zero curve was not measured, and takes no
// time.
type curve struct {
	seconds []float32 // at the knots, up to the first one behind the last point
	rate    float64   // seconds for a unit of work, beyond
}

// newCurve returns the curve through points, whose work rises from at least 1.
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

// knot returns the number of the last knot up to work, and how far work is on the way to the
// next one. Work below 1 counts as 1.
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

// at returns the seconds for work.
func (c *curve) at(work float64) float64 {
	i, part := knot(work)
	if i+1 >= len(c.seconds) {
		return c.rate * work
	}
	before, after := float64(c.seconds[i]), float64(c.seconds[i+1])
	return before + part*(after-before)
}

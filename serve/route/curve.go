package route

import "math"

// maxPoints bounds the points of a curve.
const maxPoints = 32

// point is a measured time for an amount of work.
type point struct{ Work, Seconds float64 }

// curve is the time of an operation as a function of its work, through measured points.
// Between points the logarithm of the time is linear in the logarithm of the work: small
// sizes are bound by the launch, larger ones by caches, still larger ones by memory, so that
// no one rate holds. Work below the first point takes the time of the first; beyond the last
// point the rate stays as it is there. The zero curve was not measured.
type curve struct {
	n    int
	x, y [maxPoints]float64 // base-2 logarithms of work and seconds; x rises
}

// newCurve returns the curve through points, whose work rises.
func newCurve(points []point) (c curve) {
	c.n = min(len(points), maxPoints)
	for i, p := range points[:c.n] {
		c.x[i], c.y[i] = math.Log2(p.Work), math.Log2(p.Seconds)
	}
	return c
}

// points is the inverse of newCurve.
func (c *curve) points() []point {
	out := make([]point, c.n)
	for i := range out {
		out[i] = point{math.Exp2(c.x[i]), math.Exp2(c.y[i])}
	}
	return out
}

// at returns the seconds for work whose base-2 logarithm is x. The curve was measured.
func (c *curve) at(x float64) float64 {
	n := c.n
	switch {
	case !(x > c.x[0]):
		return math.Exp2(c.y[0])
	case x >= c.x[n-1]:
		return math.Exp2(c.y[n-1] + x - c.x[n-1])
	}
	lo, hi := 0, n-1 // x[lo] <= x < x[hi]
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; x >= c.x[mid] {
			lo = mid
		} else {
			hi = mid
		}
	}
	t := (x - c.x[lo]) / (c.x[hi] - c.x[lo])
	return math.Exp2(c.y[lo] + t*(c.y[hi]-c.y[lo]))
}

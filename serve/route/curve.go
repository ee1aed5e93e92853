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

// at returns the seconds for work whose base-2 logarithm is x. The curve was measured.
func (c *curve) at(x float64) float64 { return exp2(c.log(x)) }

// log returns the base-2 logarithm of at.
func (c *curve) log(x float64) float64 {
	n := c.n
	switch {
	case !(x > c.x[0]):
		return c.y[0]
	case x >= c.x[n-1]:
		return c.y[n-1] + x - c.x[n-1]
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
	return c.y[lo] + t*(c.y[hi]-c.y[lo])
}

// exp2 returns 2^x for |x| below 1000, with a relative error of at most 2e-4: the Taylor
// series of the fraction, whose next term is ln(2)^6/720. math.Exp2 takes three times as
// long, and with it Decide took half of its time there.
func exp2(x float64) float64 {
	whole := math.Floor(x)
	f := x - whole
	p := 1 + f*(0.6931471805599453+f*(0.2402265069591007+f*(0.05550410866482158+f*(0.009618129107628477+f*0.001333355814642844))))
	return math.Float64frombits(math.Float64bits(p) + uint64(int64(whole))<<52)
}

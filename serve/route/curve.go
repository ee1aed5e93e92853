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
	n     int
	x, y  [maxPoints]float64 // base-2 logarithms of work and seconds; x rises
	slope [maxPoints]float64 // of the segment that begins at the point
	first [octaves]uint8     // the segment that holds an integer x: where a search begins
}

// octaves is one more than the largest integer x of curve.first.
const octaves = 64

// newCurve returns the curve through points, whose work rises.
func newCurve(points []point) (c curve) {
	c.n = min(len(points), maxPoints)
	for i, p := range points[:c.n] {
		c.x[i], c.y[i] = math.Log2(p.Work), math.Log2(p.Seconds)
	}
	if c.n == 0 {
		return c
	}
	for i := range c.n - 1 {
		c.slope[i] = (c.y[i+1] - c.y[i]) / (c.x[i+1] - c.x[i])
	}
	c.slope[c.n-1] = 1
	i := 0
	for k := range c.first {
		for i+1 < c.n && c.x[i+1] <= float64(k) {
			i++
		}
		c.first[k] = uint8(i)
	}
	return c
}

// at returns the seconds for work whose base-2 logarithm is x. The curve was measured.
func (c *curve) at(x float64) float64 { return exp2(c.log(x)) }

// log returns the base-2 logarithm of at.
func (c *curve) log(x float64) float64 {
	if !(x > c.x[0]) {
		return c.y[0]
	}
	i := int(c.first[min(max(int(x), 0), octaves-1)])
	for i+1 < c.n && c.x[i+1] <= x {
		i++
	}
	return c.y[i] + c.slope[i]*(x-c.x[i])
}

// log2 returns the base-2 logarithm of x with an error of at most 1e-7, and a number below
// that of 1 for what is not positive. With t = (m-1)/(m+1) the logarithm of the mantissa m is
// 2/ln(2) (t + t^3/3 + t^5/5 + ...), and |t| is below 0.172. math.Log2 takes three times as long.
func log2(x float64) float64 {
	if !(x > 0) {
		return -1
	}
	bits := math.Float64bits(x)
	exponent := int64(bits>>52) - 1023
	m := math.Float64frombits(bits&(1<<52-1) | 1023<<52)
	if m > math.Sqrt2 {
		m, exponent = m/2, exponent+1
	}
	t := (m - 1) / (m + 1)
	u := t * t
	return float64(exponent) + t*(2.8853900817779268+u*(0.9617966939259756+u*(0.5770780163555854+u*0.41219858311113244)))
}

// exp2 returns 2^x for |x| below 1000, with a relative error of at most 2e-4: the Taylor
// series of the fraction, whose next term is ln(2)^6/720. math.Exp2 takes three times as
// long, and with it Decide took half of its time there.
func exp2(x float64) float64 {
	whole := int64(x+1024) - 1024 // rounded down; takes half of the time of math.Floor
	f := x - float64(whole)
	p := 1 + f*(0.6931471805599453+f*(0.2402265069591007+f*(0.05550410866482158+f*(0.009618129107628477+f*0.001333355814642844))))
	return math.Float64frombits(math.Float64bits(p) + uint64(whole)<<52)
}

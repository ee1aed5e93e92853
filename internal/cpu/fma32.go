//go:build !arm64

package cpu

import "math"

// fma32 returns x y + z, rounded once. The product of two float32 is exact in float64. The sum is rounded to an odd last bit
// if it is not exact (Boldo and Melquiond, 2008: Emulation of FMA and correctly rounded sums), so that rounding it to float32
// gives what rounding the exact sum gives.
func fma32(x, y, z float32) float32 {
	p, w := float64(x)*float64(y), float64(z)
	s := p + w
	back := s - p
	rest := (p - (s - back)) + (w - back)
	b := math.Float64bits(s)
	if b&1 == 0 && (rest > 0 || rest < 0) {
		if (rest > 0) == (s > 0) {
			b++
		} else {
			b--
		}
	}
	return float32(math.Float64frombits(b))
}

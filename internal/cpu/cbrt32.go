package cpu

import "math"

// Constants of cbrtF32.
const (
	cbrt32Start = 0x54a2fa8c // estimates x^(-1/3) from a third of x's bits, to 3.5 %
	third32     = 1.0 / 3
	twoNinths32 = 2.0 / 9

	cbrt32Small = 0x1p-70 // below, x is scaled, so that the remainder of its cube is a normal number
	cbrt32Up    = 0x1p72
	cbrt32Down  = 0x1p-24
)

// cbrtF32 returns the cube root. Two steps improve an estimate r of |x|^(-1/3), the first of third order. One Newton step, with
// the cube in twice the precision, improves the root x r^2.
func cbrtF32(x float32) float32 {
	a := abs32(x)
	if !(a > 0 && a <= math.MaxFloat32) {
		return x
	}
	v := a
	if a < cbrt32Small {
		v = a * cbrt32Up
	}
	r := math.Float32frombits(cbrt32Start - uint32(float32(float32(math.Float32bits(v))*third32)))
	e := fma32(-v, float32(float32(r*r)*r), 1)
	r = fma32(float32(r*e), fma32(e, twoNinths32, third32), r)
	e = fma32(-v, float32(float32(r*r)*r), 1)
	r = fma32(float32(r*e), third32, r)
	w := float32(r * r)
	y := float32(v * w)
	square := float32(y * y)
	rest := fma32(-fma32(y, y, -square), y, fma32(-square, y, v))
	y = fma32(rest, float32(w*third32), y)
	if a < cbrt32Small {
		y *= cbrt32Down
	}
	return copySign32(y, x)
}

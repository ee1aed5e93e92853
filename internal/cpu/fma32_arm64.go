package cpu

// fma32 returns x y + z, rounded once: on arm64 the compiler fuses a product and a sum. TestFMA32 checks that. The conversion
// keeps it from fusing a product in z.
func fma32(x, y, z float32) float32 { return x*y + float32(z) }

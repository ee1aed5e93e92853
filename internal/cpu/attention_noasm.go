//go:build !amd64 || noasm

package cpu

// vectorAVX and vectorAVX512 are false in this build, so these functions are never called.

func weighColumns512(x *float32, ld, rows, cols int, largest, sums *float32) {
	panic("cpu: no assembly")
}

func maxColumns512(x *float32, ld, rows, cols int, largest *float32) { panic("cpu: no assembly") }
func rescaleAVX(x, y *float32, alpha float32, n int)                 { panic("cpu: no assembly") }

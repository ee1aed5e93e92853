//go:build !noasm

package cpu

import "unsafe"

// Conversions between integers of different sizes with AVX2, for multiples of 32 elements.

// for i := range n { dst[i] = D(src[i]) }

//go:noescape
func widenInt8To16(dst, src unsafe.Pointer, n int)

//go:noescape
func widenUint8To16(dst, src unsafe.Pointer, n int)

//go:noescape
func widenInt8To32(dst, src unsafe.Pointer, n int)

//go:noescape
func widenUint8To32(dst, src unsafe.Pointer, n int)

//go:noescape
func widenInt8To64(dst, src unsafe.Pointer, n int)

//go:noescape
func widenUint8To64(dst, src unsafe.Pointer, n int)

//go:noescape
func widenInt16To32(dst, src unsafe.Pointer, n int)

//go:noescape
func widenUint16To32(dst, src unsafe.Pointer, n int)

//go:noescape
func widenInt16To64(dst, src unsafe.Pointer, n int)

//go:noescape
func widenUint16To64(dst, src unsafe.Pointer, n int)

//go:noescape
func widenInt32To64(dst, src unsafe.Pointer, n int)

//go:noescape
func widenUint32To64(dst, src unsafe.Pointer, n int)

// for i := range n { dst[i] = D(min(max(src[i], *lo), *hi)) }. Those of unsigned integers do not read lo.

//go:noescape
func narrowInt16To8(dst, src, lo, hi unsafe.Pointer, n int)

//go:noescape
func narrowUint16To8(dst, src, lo, hi unsafe.Pointer, n int)

//go:noescape
func narrowInt32To8(dst, src, lo, hi unsafe.Pointer, n int)

//go:noescape
func narrowUint32To8(dst, src, lo, hi unsafe.Pointer, n int)

//go:noescape
func narrowInt32To16(dst, src, lo, hi unsafe.Pointer, n int)

//go:noescape
func narrowUint32To16(dst, src, lo, hi unsafe.Pointer, n int)

//go:noescape
func narrowInt64To8(dst, src, lo, hi unsafe.Pointer, n int)

//go:noescape
func narrowUint64To8(dst, src, lo, hi unsafe.Pointer, n int)

//go:noescape
func narrowInt64To16(dst, src, lo, hi unsafe.Pointer, n int)

//go:noescape
func narrowUint64To16(dst, src, lo, hi unsafe.Pointer, n int)

//go:noescape
func narrowInt64To32(dst, src, lo, hi unsafe.Pointer, n int)

//go:noescape
func narrowUint64To32(dst, src, lo, hi unsafe.Pointer, n int)

// widenings are the conversions from signed integers, then those from unsigned ones, by the logarithms of the bytes of both types.
var widenings = [2][4][4]func(dst, src unsafe.Pointer, n int){
	{{nil, widenInt8To16, widenInt8To32, widenInt8To64}, {nil, nil, widenInt16To32, widenInt16To64}, {nil, nil, nil, widenInt32To64}, {nil, nil, nil, nil}},
	{{nil, widenUint8To16, widenUint8To32, widenUint8To64}, {nil, nil, widenUint16To32, widenUint16To64}, {nil, nil, nil, widenUint32To64}, {nil, nil, nil, nil}},
}

// narrowings are the conversions from signed integers, then those from unsigned ones, by the logarithms of the bytes of both types.
var narrowings = [2][4][4]func(dst, src, lo, hi unsafe.Pointer, n int){
	{{nil, nil, nil, nil}, {narrowInt16To8, nil, nil, nil}, {narrowInt32To8, narrowInt32To16, nil, nil}, {narrowInt64To8, narrowInt64To16, narrowInt64To32, nil}},
	{{nil, nil, nil, nil}, {narrowUint16To8, nil, nil, nil}, {narrowUint32To8, narrowUint32To16, nil, nil}, {narrowUint64To8, narrowUint64To16, narrowUint64To32, nil}},
}

//go:build !noasm

package cpu

import "unsafe"

// The functions of integers_amd64.go for elements of 4 and 8 bytes. Add, sub and mul serve unsigned integers too.

//go:noescape
func addVVInt32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func addVSInt32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func subVVInt32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func subVSInt32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func subSVInt32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func mulVVInt32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func mulVSInt32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func addVVInt64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func addVSInt64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func subVVInt64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func subVSInt64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func subSVInt64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func maximumVVInt32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func maximumVSInt32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func minimumVVInt32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func minimumVSInt32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func clampInt32(dst, x, y, z unsafe.Pointer, n int)

//go:noescape
func maximumVVUint32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func maximumVSUint32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func minimumVVUint32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func minimumVSUint32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func clampUint32(dst, x, y, z unsafe.Pointer, n int)

//go:noescape
func absInt32(dst, x unsafe.Pointer, n int)

//go:noescape
func mulVVInt64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func mulVSInt64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func maximumVVInt64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func maximumVSInt64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func minimumVVInt64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func minimumVSInt64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func clampInt64(dst, x, y, z unsafe.Pointer, n int)

//go:noescape
func maximumVVUint64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func maximumVSUint64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func minimumVVUint64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func minimumVSUint64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func clampUint64(dst, x, y, z unsafe.Pointer, n int)

//go:noescape
func absInt64(dst, x unsafe.Pointer, n int)

package cpu

import (
	endian "encoding/binary"
	"math/bits"
	"unsafe"
)

// Trues writes the indices of the true elements of a Bool line to dst, up to its length.
// Strides count elements.
func Trues(n int, x unsafe.Pointer, step int, dst []int64, dstep int) {
	if step == 1 && dstep == 1 {
		placesOf(unsafe.Slice((*byte)(x), n), dst)
		return
	}
	k := 0
	for i := range n {
		if *(*byte)(unsafe.Add(x, i*step)) != 0 && k < len(dst) {
			dst[k] = int64(i)
			k += dstep
		}
	}
}

// placesOf writes the indices of the elements of mask that are not 0 to dst, and returns their number. It has no branch
// on an element, which may be random. It may overwrite elements of dst after the last index.
func placesOf(mask []byte, dst []int64) int {
	k, i := 0, 0
	for ; i+8 <= len(mask) && k+8 <= len(dst); i += 8 {
		truths := truths8(endian.LittleEndian.Uint64(mask[i:]))
		places, d, first := &placesOf8[truthBits(truths)], dst[k:k+8:k+8], int64(i)
		d[0], d[1], d[2], d[3] = first+int64(places[0]), first+int64(places[1]), first+int64(places[2]), first+int64(places[3])
		d[4], d[5], d[6], d[7] = first+int64(places[4]), first+int64(places[5]), first+int64(places[6]), first+int64(places[7])
		k += bits.OnesCount64(truths)
	}
	for ; i < len(mask) && k < len(dst); i++ {
		dst[k] = int64(i)
		k += int(bit(mask[i] != 0))
	}
	return k
}

// truthBits returns bytes of 0 and 1 as bits: byte i, the lowest first, as bit i.
func truthBits(truths uint64) uint8 { return uint8(truths * 0x0102040810204080 >> 56) }

// placesOf8 has the places of the bits that are set in each byte, in order, and then zeros.
var placesOf8 = func() (t [256][8]uint8) {
	for v := range t {
		k := 0
		for i := range uint8(8) {
			if v>>i&1 != 0 {
				t[v][k] = i
				k++
			}
		}
	}
	return t
}()

// Coordinates writes the indices along each axis of the true elements of a dense mask to dst, one slice an axis, each as
// long as the number of true elements. The mask has at least one element.
func Coordinates(shape []int, mask unsafe.Pointer, dst [][]int64) {
	last := len(shape) - 1
	n, rows := shape[last], 1
	for _, m := range shape[:last] {
		rows *= m
	}
	at := make([]int64, last) // the indices of a row
	k := 0
	for row := range rows {
		m := placesOf(unsafe.Slice((*byte)(unsafe.Add(mask, row*n)), n), dst[last][k:])
		for d, i := range at {
			part := dst[d][k : k+m]
			for j := range part {
				part[j] = i
			}
		}
		k += m
		for d := last - 1; d >= 0; d-- {
			if at[d]++; at[d] < int64(shape[d]) {
				break
			}
			at[d] = 0
		}
	}
}

// Select copies the elements of x, dense and of the given size, at which mask is true, to dst. dst has `most` elements
// at a distance of step bytes, and mask has n elements at a distance of mstep bytes.
func Select(size, n int, mask unsafe.Pointer, mstep int, x, dst unsafe.Pointer, most, step int) {
	if mstep != 1 || step != size {
		for i, k := 0, 0; i < n && k < most; i++ {
			if *(*byte)(unsafe.Add(mask, i*mstep)) != 0 {
				copySpan(unsafe.Add(dst, k*step), size, unsafe.Add(x, i*size), size, size, 1)
				k++
			}
		}
		return
	}
	m := unsafe.Slice((*byte)(mask), n)
	switch size {
	case 1:
		selectOf[uint8](m, x, dst, most)
	case 2:
		selectOf[uint16](m, x, dst, most)
	case 4:
		selectOf[uint32](m, x, dst, most)
	case 8:
		selectOf[uint64](m, x, dst, most)
	default:
		selectOf[complex128](m, x, dst, most)
	}
}

// selectOf is Select for dense operands. Like placesOf, it has no branch that depends on an element.
func selectOf[T any](mask []byte, x, dst unsafe.Pointer, most int) {
	s, d := unsafe.Slice((*T)(x), len(mask)), unsafe.Slice((*T)(dst), most)
	k := 0
	for i, v := range mask {
		if k >= len(d) {
			break
		}
		d[k] = s[i]
		k += int(bit(v != 0))
	}
}

// OneHot sets the rows of n elements of dst, of size bytes each and dense, to zeros, with *one at the place that an
// index names, if it is a place of the row.
func OneHot(size, n int, indices []int64, one, dst unsafe.Pointer) {
	Parallel(len(indices), max(1, minPart/n), func(lo, hi int) {
		clear(unsafe.Slice((*byte)(unsafe.Add(dst, lo*n*size)), (hi-lo)*n*size))
		for i := lo; i < hi; i++ {
			if at := indices[i]; at >= 0 && at < int64(n) {
				copySpan(unsafe.Add(dst, (i*n+int(at))*size), size, one, size, size, 1)
			}
		}
	})
}

package cpu

import "unsafe"

// Put writes element i of a dense list, of size bytes each, to position places[i] of dst,
// in order. Positions outside dst, which has n elements step bytes apart, are skipped.
func Put(size int, places []int64, x, dst unsafe.Pointer, n, step int) {
	for i, p := range places {
		if p >= 0 && p < int64(n) {
			copySpan(unsafe.Add(dst, int(p)*step), size, unsafe.Add(x, i*size), size, size, 1)
		}
	}
}

package cpu

import "slices"

// sortIndexed sorts keys whose indices ascend into the order of indexedKey: larger keys first,
// equal keys by index. Many are sorted by a stable radix sort, least significant digit first,
// which skips the digits that all keys share.
func sortIndexed(x []indexedKey) {
	if len(x) <= shortSort {
		slices.SortFunc(x, indexedKey.compare)
		return
	}
	const digit, passes = 11, 6
	const mask = 1<<digit - 1
	var counts [passes][mask + 1]int
	for _, v := range x {
		for p := range counts {
			counts[p][^v.key>>(p*digit)&mask]++
		}
	}
	from, to := x, make([]indexedKey, len(x))
	for p := range counts {
		c, shift := &counts[p], p*digit
		if c[^from[0].key>>shift&mask] == len(x) {
			continue
		}
		at := 0
		for d, n := range c {
			c[d] = at
			at += n
		}
		for _, v := range from {
			d := ^v.key >> shift & mask
			to[c[d]] = v
			c[d]++
		}
		from, to = to, from
	}
	if &from[0] != &x[0] {
		copy(x, from)
	}
}

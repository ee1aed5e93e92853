package cpu

import "slices"

// sortIndexed sorts keys, each with its index in x, into the order of indexedKey: larger keys first, equal keys by
// index.
func sortIndexed(x []indexedKey) {
	if len(x) <= shortSort {
		slices.SortFunc(x, indexedKey.compare)
		return
	}
	keys, places, spare := make([]uint64, len(x)), make([]uint64, len(x)), make([]uint64, len(x))
	for i, v := range x {
		keys[i] = ^v.key
	}
	sortPlaces(keys, places, spare)
	for i, at := range places {
		x[i] = indexedKey{^keys[at], int64(at)}
	}
}

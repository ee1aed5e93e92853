package batch

// SizeFor returns how many of a number of items to compute at once on a device with `free`
// free bytes, if an item takes perItem bytes:
//
//	min(items, limit, floor(free (1 - margin) / perItem)), but at least 1
//
// margin is the fraction of the free bytes, from 0 to 1, that stays free. Values outside
// this range are clamped, and NaN counts as 1. A limit of 0 or less is no limit. If
// perItem is 0 or less, memory is not a limit. device.Device.Available returns the free
// bytes.
func SizeFor(free int64, margin float64, perItem int64, items, limit int) int {
	n := items
	if limit > 0 {
		n = min(n, limit)
	}
	if perItem > 0 {
		if !(margin <= 1) { // also for NaN
			margin = 1
		}
		fits := float64(free) * (1 - max(margin, 0)) / float64(perItem)
		if fits < float64(n) {
			n = int(max(fits, 0))
		}
	}
	return max(n, 1)
}

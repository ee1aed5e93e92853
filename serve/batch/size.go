package batch

// SizeFor returns how many of items items to compute at once on a device with free bytes
// left, when an item takes perItem bytes:
//
//	min(items, limit, floor(free (1 - margin) / perItem)), and 1 at least
//
// margin is the part of the free bytes, from 0 to 1, that is to stay free; what lies
// outside that range counts as its nearer end, and NaN as 1. A limit of 0 or less is none,
// and with a perItem of 0 or less memory sets no bound. device.Device.Available gives the
// free bytes.
func SizeFor(free int64, margin float64, perItem int64, items, limit int) int {
	n := items
	if limit > 0 {
		n = min(n, limit)
	}
	if perItem > 0 {
		if !(margin <= 1) { // NaN too
			margin = 1
		}
		fits := float64(free) * (1 - max(margin, 0)) / float64(perItem)
		if fits < float64(n) {
			n = int(max(fits, 0))
		}
	}
	return max(n, 1)
}

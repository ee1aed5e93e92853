package device

import "math/bits"

const (
	smallest = 512     // bytes of the smallest block; every block is a multiple of it
	huge     = 2 << 20 // blocks beyond this are multiples of it

	// maxBytes bounds a request, so that sums of sizes cannot overflow.
	maxBytes = 1 << 56
)

// blockSize returns the size of the pool's block for n bytes. PoolStats.InUse counts this size.
func blockSize(n int64) int64 {
	if n <= 0 {
		return 0
	}
	return classOf(min(n, maxBytes))
}

// classOf returns the block size for n > 0 bytes. Beyond 2 MiB it is n rounded up to a multiple of 2 MiB. Up to there it is at
// most an eighth larger than n, except for the smallest sizes: there are 8 classes per octave, among them the powers of
// two, so that a few sizes serve all requests and idle blocks are likely to fit.
func classOf(n int64) int64 {
	step := int64(huge)
	if n <= huge {
		step = max(smallest, int64(1)<<max(bits.Len64(uint64(n-1))-4, 0))
	}
	return (n + step - 1) / step * step
}

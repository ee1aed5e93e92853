package device

import "math/bits"

const (
	smallest = 512     // bytes of the smallest block, and what every block is a multiple of
	huge     = 2 << 20 // blocks beyond this are multiples of it

	// maxBytes bounds one request, so that sums of sizes cannot overflow.
	maxBytes = 1 << 56
)

// blockSize returns the size of the pool's block that serves n bytes, which is what
// counts as in use.
func blockSize(n int64) int64 {
	if n <= 0 {
		return 0
	}
	return classOf(min(n, maxBytes))
}

// classOf returns the size of the block that serves n > 0 bytes: at most an
// eighth more than n, beyond the smallest ones. Up to 2 MiB there are 8 classes
// an octave, powers of two among them, so that a few sizes serve all requests
// and blocks are found again.
func classOf(n int64) int64 {
	step := int64(huge)
	if n <= huge {
		step = max(smallest, int64(1)<<max(bits.Len64(uint64(n-1))-4, 0))
	}
	return (n + step - 1) / step * step
}

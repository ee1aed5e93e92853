//go:build !amd64 || noasm

package cpu

// l2Bytes returns 0: the size of the second-level cache is unknown.
func l2Bytes() int { return 0 }

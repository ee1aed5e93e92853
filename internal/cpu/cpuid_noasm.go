//go:build !amd64 || noasm

package cpu

// l2Bytes returns the size of one core's second-level cache; 0 stands for
// unknown.
func l2Bytes() int { return 0 }

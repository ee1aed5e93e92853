//go:build !noasm

package cpu

import "testing"

// TestFunctionBitsAVX2 is like TestFunctionBits, without AVX-512.
func TestFunctionBitsAVX2(t *testing.T) {
	if !smooth64AVX512 {
		t.Skip("this processor has no AVX-512: TestFunctionBits has run the same code")
	}
	smooth64AVX512 = false
	defer func() { smooth64AVX512 = true }()
	checkFunctionBits(t)
}

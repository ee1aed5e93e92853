//go:build !noasm

package cpu

import "testing"

// TestSubtractProductLevels runs TestSubtractProduct as on processors without AVX-512, and without AVX2.
func TestSubtractProductLevels(t *testing.T) {
	avx, avx512 := vectorAVX, vectorAVX512
	defer func() { vectorAVX, vectorAVX512 = avx, avx512 }()
	vectorAVX512 = false
	t.Run("AVX2", func(t *testing.T) { testSubtractProduct(t) })
	vectorAVX = false
	t.Run("loops", func(t *testing.T) { testSubtractProduct(t) })
}

//go:build !noasm

package cpu

import "testing"

// TestSortLevels runs the tests of sorts as on processors without AVX-512, and without AVX2.
func TestSortLevels(t *testing.T) {
	avx, avx512 := vectorAVX, vectorAVX512
	defer func() { vectorAVX, vectorAVX512 = avx, avx512 }()
	vectorAVX512 = false
	t.Run("AVX2", func(t *testing.T) {
		t.Run("network", TestSortNetwork)
		t.Run("partition", TestPartition)
		t.Run("quicksort", TestQuickSort)
		t.Run("float keys", TestFloatKeys)
		t.Run("keys", TestSortKeys)
		t.Run("lines", TestSortLines)
	})
	vectorAVX = false
	t.Run("loops", func(t *testing.T) {
		t.Run("float keys", TestFloatKeys)
		t.Run("keys", TestSortKeys)
		t.Run("lines", TestSortLines)
	})
}

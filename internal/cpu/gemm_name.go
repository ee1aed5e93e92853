package cpu

import "github.com/gpk-go/gpk/dtype"

// KernelName returns the name of the micro-kernel that products of type t use on this machine.
func KernelName(t dtype.DType) string {
	switch t {
	case dtype.Int32, dtype.Int64:
		return "go"
	case dtype.Float64, dtype.Complex128:
		return use64.name
	}
	return use32.name
}

// PacksGemm reports whether a product of type t, with more than a few rows and columns,
// packs its operands. Other products read their operands in place, except for a B whose
// rows are not contiguous. It reports false for complex products with few rows or columns.
func PacksGemm(t dtype.DType, m, n, k int) bool {
	if t.IsComplex() && (m*n*k <= tinyComplexWork || min(m, n) <= maxVectors) {
		return false
	}
	switch t {
	case dtype.Float32:
		return !use32.fitsUnpacked(m, n, k)
	case dtype.Float64:
		return !use64.fitsUnpacked(m, n, k)
	case dtype.Complex64:
		return !fitsComplexUnpacked(use32, m, n, k)
	case dtype.Complex128:
		return !fitsComplexUnpacked(use64, m, n, k)
	}
	return true
}

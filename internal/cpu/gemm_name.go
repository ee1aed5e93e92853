package cpu

import "github.com/gpk-go/gpk/dtype"

// KernelName names the micro-kernel that products of type t run on here.
func KernelName(t dtype.DType) string {
	switch t {
	case dtype.Int32, dtype.Int64:
		return "go"
	case dtype.Float64, dtype.Complex128:
		return use64.name
	}
	return use32.name
}

// PacksGemm reports whether a product of type t and of more than a few rows and columns
// packs its operands; others compute it where they lie, but for a B whose rows
// are not contiguous.
func PacksGemm(t dtype.DType, m, n, k int) bool {
	switch t {
	case dtype.Float32:
		return !use32.takesDirect(m, n, k)
	case dtype.Float64:
		return !use64.takesDirect(m, n, k)
	}
	return true
}

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

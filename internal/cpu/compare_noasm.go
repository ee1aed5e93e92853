//go:build !amd64 || noasm

package cpu

import "github.com/gpk-go/gpk/expr"

// There are no vector comparisons in this build.

func vectorCompare32(expr.Op) binary { return binary{} }
func vectorCompare64(expr.Op) binary { return binary{} }

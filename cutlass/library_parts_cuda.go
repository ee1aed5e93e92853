//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cutlass

/*
#cgo noescape gpk_call_gemm_parts
#cgo nocallback gpk_call_gemm_parts

#include "entry.h"
#include "src/gpk.h"

static int gpk_call_gemm_parts(uintptr_t f, int device, uint64_t stream, int type, int64_t m, int64_t n, int64_t parts,
                               uint64_t p, int64_t ldp, uint64_t d, int64_t ldd, uint64_t bias, int act, double alpha) {
	return GPK_AS(gpk_gemm_parts)(device, stream, type, m, n, parts, p, ldp, d, ldd, bias, act, alpha);
}
*/
import "C"

import "github.com/gpk-go/gpk/dtype"

// partEntries are the library's functions for products with split k.
type partEntries struct {
	gemmParts C.uintptr_t
}

// GemmParts enqueues the sum of a product's parts, consecutive float32 matrices at `at`
// with the given pitch, with the epilogue of g. It uses M, N, D, LDD, Bias, Act and AlphaRe
// of g; typ is D's type.
func (l *Library) GemmParts(device int, stream uint64, typ dtype.DType, parts int, at uint64, pitch int, g Gemm) error {
	return l.check("gpk_gemm_parts", C.gpk_call_gemm_parts(l.entries.gemmParts, C.int(device), C.uint64_t(stream), C.int(typ),
		C.int64_t(g.M), C.int64_t(g.N), C.int64_t(parts), C.uint64_t(at), C.int64_t(pitch), C.uint64_t(g.D), C.int64_t(g.LDD),
		C.uint64_t(g.Bias), C.int(g.Act), C.double(g.AlphaRe)))
}

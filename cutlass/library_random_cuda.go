//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cutlass

/*
#cgo nocallback gpk_call_uniform
#cgo nocallback gpk_call_normal

#include "entry.h"
#include "src/gpk.h"

static int gpk_call_uniform(uintptr_t f, int device, uint64_t stream, int type, int64_t n, uint64_t seed, uint64_t block,
                            uint64_t p0, uint64_t p1, uint64_t p2, uint64_t dst) {
	return GPK_AS(gpk_uniform)(device, stream, type, n, seed, block, p0, p1, p2, dst);
}

static int gpk_call_normal(uintptr_t f, int device, uint64_t stream, int type, int64_t n, uint64_t seed, uint64_t block,
                           double mean, double std, uint64_t dst) {
	return GPK_AS(gpk_normal)(device, stream, type, n, seed, block, mean, std, dst);
}
*/
import "C"

import "github.com/gpk-go/gpk/dtype"

// randomEntries are the library's functions that generate random numbers.
type randomEntries struct {
	uniform, normal C.uintptr_t
}

// Uniform enqueues uniform random numbers into dst, n dense elements; gpk_uniform describes
// p for each type.
func (l *Library) Uniform(device int, stream uint64, typ dtype.DType, n int, seed, block uint64, p [3]uint64, dst uint64) error {
	return l.check("gpk_uniform", C.gpk_call_uniform(l.entries.uniform, C.int(device), C.uint64_t(stream), C.int(typ), C.int64_t(n),
		C.uint64_t(seed), C.uint64_t(block), C.uint64_t(p[0]), C.uint64_t(p[1]), C.uint64_t(p[2]), C.uint64_t(dst)))
}

// Normal enqueues normally distributed random numbers into dst, n dense elements.
func (l *Library) Normal(device int, stream uint64, typ dtype.DType, n int, seed, block uint64, mean, std float64, dst uint64) error {
	return l.check("gpk_normal", C.gpk_call_normal(l.entries.normal, C.int(device), C.uint64_t(stream), C.int(typ), C.int64_t(n),
		C.uint64_t(seed), C.uint64_t(block), C.double(mean), C.double(std), C.uint64_t(dst)))
}

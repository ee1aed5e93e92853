//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cutlass

/*
#cgo noescape gpk_call_factor
#cgo nocallback gpk_call_factor

#include "entry.h"
#include "src/gpk_factor.h"

static int gpk_call_factor(uintptr_t f, const gpk_factor_args* args) { return GPK_AS(gpk_factor)(args); }
*/
import "C"

import "unsafe"

// Checks that the header's numbers equal those of library_factor.go: a difference overflows a
// constant here.
const (
	_ = uint(C.GPK_FACTOR_SMALL-FactorSmall) + uint(FactorSmall-C.GPK_FACTOR_SMALL)
	_ = uint(C.GPK_FACTOR_BLOCK-FactorBlock) + uint(FactorBlock-C.GPK_FACTOR_BLOCK)
	_ = uint(C.GPK_FACTOR_NONE-FactorNone) + uint(FactorNone-C.GPK_FACTOR_NONE)
	_ = uint(C.GPK_FACTOR_LU_ROWS-FactorLURows) + uint(FactorLURows-C.GPK_FACTOR_LU_ROWS)
	_ = uint(C.GPK_FACTOR_LU_BYTES-FactorLUBytes) + uint(FactorLUBytes-C.GPK_FACTOR_LU_BYTES)
	_ = uint(C.GPK_FACTOR_DET-FactorDet) + uint(FactorDet-C.GPK_FACTOR_DET)
)

// factorEntries are the library's functions for factorizations.
type factorEntries struct {
	factor C.uintptr_t
}

// Factor enqueues a part of a factorization, or the solution of triangular systems.
func (l *Library) Factor(device int, stream uint64, f *Factor) error {
	args := C.gpk_factor_args{
		size: C.uint64_t(unsafe.Sizeof(C.gpk_factor_args{})), stream: C.uint64_t(stream),
		a: C.uint64_t(f.A.Data), b: C.uint64_t(f.B.Data), c: C.uint64_t(f.C.Data), d: C.uint64_t(f.D),
		flags: C.uint64_t(f.Flags), workspace: C.uint64_t(f.Workspace), workspace_bytes: C.int64_t(f.WorkspaceBytes),
		rows: C.int64_t(f.Rows), cols: C.int64_t(f.Cols), batch: C.int64_t(f.Batch), first: C.int64_t(f.First),
		a_row: C.int64_t(f.A.Row), a_col: C.int64_t(f.A.Col), a_member: C.int64_t(f.A.Member),
		b_row: C.int64_t(f.B.Row), b_col: C.int64_t(f.B.Col), b_member: C.int64_t(f.B.Member),
		c_row: C.int64_t(f.C.Row), c_col: C.int64_t(f.C.Col), c_member: C.int64_t(f.C.Member),
		d_member: C.int64_t(f.DMember), device: C.int32_t(device), _type: C.int32_t(f.Type), op: C.int32_t(f.Op),
	}
	for i, set := range []bool{f.Conj, f.Upper, f.Unit} {
		if set {
			args.bits |= 1 << i
		}
	}
	return l.check("gpk_factor", C.gpk_call_factor(l.entries.factor, &args))
}

//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cutlass

/*
#cgo noescape gpk_call_rope
#cgo nocallback gpk_call_rope

#include "entry.h"
#include "src/gpk_layers.h"

static int gpk_call_rope(uintptr_t f, const gpk_rope_args* args, const double* frequencies) { return GPK_AS(gpk_rope)(args, frequencies); }
*/
import "C"

import "unsafe"

// Checks that the header's limits equal those of library_layers.go: a difference overflows
// a constant here.
const (
	_ = uint(C.GPK_EMBED_TABLES-EmbedTables) + uint(EmbedTables-C.GPK_EMBED_TABLES)
	_ = uint(C.GPK_ROPE_PAIRS-RoPEPairs) + uint(RoPEPairs-C.GPK_ROPE_PAIRS)
)

// layerEntries are the library's functions for layers other than attention.
type layerEntries struct {
	rope C.uintptr_t
}

// arguments returns the problem as the structure for the C entry point.
func (e *EmbedNorm) arguments(device int, stream uint64) C.gpk_embed_norm_args {
	args := C.gpk_embed_norm_args{
		size: C.uint64_t(unsafe.Sizeof(C.gpk_embed_norm_args{})), stream: C.uint64_t(stream),
		gamma: C.uint64_t(e.Gamma), beta: C.uint64_t(e.Beta), dst: C.uint64_t(e.Dst), flags: C.uint64_t(e.Flags),
		lines: C.int64_t(e.Lines), n: C.int64_t(e.N), eps: C.double(e.Eps), device: C.int32_t(device), _type: C.int32_t(e.Type),
	}
	for i, t := range e.Tables {
		if t.Data == 0 {
			break
		}
		args.table[i], args.ids[i] = C.uint64_t(t.Data), C.uint64_t(t.IDs)
		args.rows[i], args.pitch[i] = C.int64_t(t.Rows), C.int64_t(t.Pitch)
		args.wide |= flag(t.Wide) << i
		args.tables++
	}
	return args
}

func (p *Pool) arguments(device int, stream uint64) C.gpk_pool_args {
	return C.gpk_pool_args{
		size: C.uint64_t(unsafe.Sizeof(C.gpk_pool_args{})), stream: C.uint64_t(stream),
		x: C.uint64_t(p.X), offsets: C.uint64_t(p.Offsets), dst: C.uint64_t(p.Dst), flags: C.uint64_t(p.Flags),
		pitch: C.int64_t(p.Pitch), rows: C.int64_t(p.Rows), n: C.int64_t(p.N), batch: C.int64_t(p.Batch),
		device: C.int32_t(device), _type: C.int32_t(p.Type), first: flag(p.First), normalize: flag(p.Normalize),
	}
}

func (r *NormResidual) arguments(device int, stream uint64) C.gpk_norm_residual_args {
	return C.gpk_norm_residual_args{
		size: C.uint64_t(unsafe.Sizeof(C.gpk_norm_residual_args{})), stream: C.uint64_t(stream),
		x: C.uint64_t(r.X), residual: C.uint64_t(r.Residual), gamma: C.uint64_t(r.Gamma), sum: C.uint64_t(r.Sum), normed: C.uint64_t(r.Normed),
		x_pitch: C.int64_t(r.XPitch), residual_pitch: C.int64_t(r.ResidualPitch), lines: C.int64_t(r.Lines), n: C.int64_t(r.N),
		eps: C.double(r.Eps), device: C.int32_t(device), _type: C.int32_t(r.Type),
	}
}

// EmbedNorm enqueues the norm of sums of rows of tables.
func (c *calls) EmbedNorm(device int, stream uint64, e *EmbedNorm) error {
	args := e.arguments(device, stream)
	// The kind omits the lengths and alignments that the library supports: the caller has
	// checked them.
	return c.call(kind{entry: entryEmbedNorm, from: int32(e.Type), dims: int32(e.N)}, wordsOf(&args))
}

// Pool enqueues the means of the sequences of a ragged batch, or their first rows.
func (c *calls) Pool(device int, stream uint64, p *Pool) error {
	args := p.arguments(device, stream)
	return c.call(kind{entry: entryPool, from: int32(p.Type)}, wordsOf(&args))
}

// NormResidual enqueues a sum and its RMSNorm.
func (c *calls) NormResidual(device int, stream uint64, r *NormResidual) error {
	args := r.arguments(device, stream)
	return c.call(kind{entry: entryNormResidual, from: int32(r.Type), dims: int32(r.N)}, wordsOf(&args))
}

// RoPE enqueues a rotary position embedding.
func (l *Library) RoPE(device int, stream uint64, r *RoPE) error {
	args := C.gpk_rope_args{
		size: C.uint64_t(unsafe.Sizeof(C.gpk_rope_args{})), stream: C.uint64_t(stream),
		x: C.uint64_t(r.X), out: C.uint64_t(r.Out), positions: C.uint64_t(r.Positions),
		position_batch: C.int64_t(r.PositionBatch), position_row: C.int64_t(r.PositionRow),
		batch: C.int64_t(r.Batch), heads: C.int64_t(r.Heads), rows: C.int64_t(r.Rows), dim: C.int64_t(r.Dim), pairs: C.int64_t(len(r.Frequencies)),
		device: C.int32_t(device), _type: C.int32_t(r.Type), interleaved: flag(r.Interleaved), wide: flag(r.WidePositions),
	}
	for i := range r.XStrides {
		args.x_stride[i], args.out_stride[i] = C.int64_t(r.XStrides[i]), C.int64_t(r.OutStrides[i])
	}
	return l.check("gpk_rope", C.gpk_call_rope(l.entries.rope, &args, (*C.double)(unsafe.SliceData(r.Frequencies))))
}

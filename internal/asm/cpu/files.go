// Package cpu writes the amd64 assembly of gpk's package internal/cpu.
package cpu

import "github.com/gpk-go/gpk/internal/asm"

// Files are the files of assembly of package internal/cpu.
var Files = []asm.File{
	{Name: "angle_amd64.s", Write: angles},
	{Name: "attention_amd64.s", Write: attention},
	{Name: "bfloat16_amd64.s", Write: bfloat16},
	{Name: "gemm_amd64.s", Write: gemm},
	{Name: "gemm_unpacked_amd64.s", Write: gemmUnpacked},
	{Name: "gemm_vector_amd64.s", Write: gemmVector},
	{Name: "pack_amd64.s", Write: pack},
	{Name: "tile_amd64.s", Write: tile},
	{Name: "transpose_amd64.s", Write: transpose},
	{Name: "bits_amd64.s", Write: bitOperations},
	{Name: "compare_amd64.s", Write: compare},
	{Name: "complex_amd64.s", Write: complexLoops},
	{Name: "convert_amd64.s", Write: conversions},
	{Name: "convert_floats_amd64.s", Write: floatConversions},
	{Name: "convert_wide_amd64.s", Write: wideConversions},
	{Name: "epilogue_amd64.s", Write: epilogue},
	{Name: "half_amd64.s", Write: halves},
	{Name: "integers_amd64.s", Write: integers},
	{Name: "integer_casts_amd64.s", Write: integerCasts},
	{Name: "integer_sum_amd64.s", Write: integerSums},
	{Name: "norm_amd64.s", Write: norm},
	{Name: "philox_amd64.s", Write: philox},
	{Name: "pick_amd64.s", Write: pick},
	{Name: "rank_few_amd64.s", Write: rankFew},
	{Name: "quotient_amd64.s", Write: quotients},
	{Name: "rank_one_amd64.s", Write: rankOne},
	{Name: "truth_amd64.s", Write: truth},
	{Name: "unary_amd64.s", Write: unary},
	{Name: "variance_amd64.s", Write: variance},
	{Name: "single_amd64.s", Write: singles},
	{Name: "smooth_amd64.s", Write: smooth},
	{Name: "smooth64_amd64.s", Write: smooth64Loops},
	{Name: "softmax_amd64.s", Write: softmax},
	{Name: "sort_amd64.s", Write: sortLoops},
	{Name: "sort_avx2_amd64.s", Write: sortLoopsAVX2},
	{Name: "vector_amd64.s", Write: vectorLoops},
}

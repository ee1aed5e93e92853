// Package cutlass is the only room that knows CUDA C++.
package cutlass

import "github.com/gpk-go/gpk/dtype"

// Major says how a kernel reads an operand.
type Major uint8

// The two majors: of A, RowMajor has k contiguous; of B, RowMajor has n
// contiguous.
const (
	RowMajor Major = iota
	ColMajor
)

// Kernel is one product kernel of the library: everything that the builder,
// the dispatcher and `gpk info` know about it.
type Kernel struct {
	Name           string // unique; what gpk_gemm_name answers
	Unit           string // the translation unit that holds it
	SM             int    // the lowest architecture that it is for: 80, 90 (90 means 90a)
	A, B, Out      dtype.DType
	MajorA, MajorB Major
	Tile           [3]int // M, N, K of one CTA's step
	Cluster        [2]int // CTAs of one cluster along M and N; {1, 1} without
	Stages         int    // 0: as many as fit
	Schedule       string // cooperative, pingpong, multistage, simt, plain
	Math           string // bf16, fp16, tf32, fp32, fp64, c64, c128, int: the precision of the multiplications
	AlignA, AlignB int    // bytes that must divide base address, row pitch and batch stride
	AlignOut       int
	Epilogue       bool // takes bias and activation
	TensorCore     bool
}

// Unit is one translation unit: a tile and schedule with its layouts, types and activations.
type Unit struct {
	Name    string
	SM      int // 80: one object for sm_80, 86 and 89 (with compute_80 PTX); 90: sm_90a; 0: plain CUDA for every target
	Kernels []Kernel
	File    string // for SM 0: a .cu file in src; otherwise empty and Source generates the text
}

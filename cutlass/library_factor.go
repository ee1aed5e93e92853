package cutlass

import "github.com/gpk-go/gpk/dtype"

// FactorSmall is the largest order of matrices for FactorCholeskySmall, FactorDet and an LU factorization in one CTA each.
const FactorSmall = 64

// FactorBlock is the number of rows per int32 of FactorCholesky's workspace.
const FactorBlock = 32

// FactorCholeskyBytes returns the bytes of workspace that FactorCholesky needs for a batch of matrices of `rows` rows.
func FactorCholeskyBytes(rows, batch int) int64 {
	return 4 * (1 + int64(batch)*int64((rows+FactorBlock-1)/FactorBlock))
}

// FactorLURows is the largest number of rows that FactorLU supports. FactorLUBytes is the workspace of one matrix, in
// bytes. FactorLU factors at most FactorMembers matrices of a batch at a time. The next ones reuse their workspace.
// FactorMembers equals max_members of src/factor_run.cuh. FactorLU needs a GPU with thread block clusters.
const (
	FactorLURows  = 8192
	FactorLUBytes = 2048
	FactorMembers = 32768
)

// FactorNone is the value to which FactorBegin sets the flags: no failure.
const FactorNone = 0x7f7f7f7f7f7f7f7f

// FactorOp is an operation of Library.Factor, GPK_FACTOR_*.
type FactorOp int

// The operations. src/gpk_factor.h defines them.
const (
	FactorBegin FactorOp = iota + 1
	FactorLower
	FactorSubtractLower
	FactorCholesky
	FactorCholeskySmall
	FactorSolve
	FactorSolveInverses
	FactorLU
	FactorDet
)

// FactorOperand is a stack of matrices in the device's memory. Strides count elements.
type FactorOperand struct {
	Data             uint64
	Row, Col, Member int
}

// Factor is a problem for Library.Factor. src/gpk_factor.h describes each field.
type Factor struct {
	Op                       FactorOp
	Type                     dtype.DType
	A, B, C                  FactorOperand
	D                        uint64
	DMember                  int
	Flags, Workspace         uint64
	WorkspaceBytes           int64
	Rows, Cols, Batch, First int
	Conj, Upper, Unit        bool
}

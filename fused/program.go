package fused

import "github.com/gpk-go/gpk/expr"

// Program is expr.Program. It is declared in package expr because the CPU's kernels need
// it too.
type Program = expr.Program

// Leaf is expr.Leaf.
type Leaf = expr.Leaf

// Class is expr.Class.
type Class = expr.Class

// Ref is expr.Ref.
type Ref = expr.Ref

// Step is expr.Step.
type Step = expr.Step

// Reduction is expr.Reduction.
type Reduction = expr.Reduction

// Over is expr.Over.
type Over = expr.Over

// The constants of these types, under their names in package expr.
const (
	Dense   = expr.Dense
	Single  = expr.Single
	Row     = expr.Row
	Column  = expr.Column
	Strided = expr.Strided

	ToStep   = expr.ToStep
	ToLeaf   = expr.ToLeaf
	ToScalar = expr.ToScalar

	OverAll   = expr.OverAll
	OverLast  = expr.OverLast
	OverFirst = expr.OverFirst
	OverSome  = expr.OverSome

	MaxLeaves  = expr.MaxLeaves
	MaxScalars = expr.MaxScalars
	MaxSteps   = expr.MaxSteps
	MaxDepth   = expr.MaxDepth
	MaxDims    = expr.MaxDims
)

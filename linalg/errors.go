package linalg

import (
	"errors"
	"fmt"
)

// The errors of this package that errors.Is finds, besides those of package gpk.
var (
	// ErrSingular is the cause of a *SingularError.
	ErrSingular = errors.New("singular matrix")
	// ErrNotPositiveDefinite is the cause of a *DefiniteError.
	ErrNotPositiveDefinite = errors.New("not positive definite")
	// ErrNoConvergence is the error of an iteration for eigenvalues or singular values that
	// does not converge.
	ErrNoConvergence = errors.New("no convergence")
)

// SingularError says which pivot of which matrix is zero.
type SingularError struct {
	Member []int // index of the matrix along the leading axes; empty if there are none
	Pivot  int   // U[Pivot, Pivot] is exactly zero; Pivot counts from 0
}

// Error implements error.
func (e *SingularError) Error() string {
	if e == nil {
		return ErrSingular.Error()
	}
	return fmt.Sprintf("%v: pivot %d%s is exactly zero", ErrSingular, e.Pivot, of(e.Member))
}

// Unwrap returns ErrSingular.
func (e *SingularError) Unwrap() error { return ErrSingular }

// DefiniteError says which leading minor of which matrix is not positive.
type DefiniteError struct {
	Member []int // index of the matrix along the leading axes; empty if there are none
	Order  int   // order of the smallest leading minor that is not positive, counted from 1
}

// Error implements error.
func (e *DefiniteError) Error() string {
	if e == nil {
		return ErrNotPositiveDefinite.Error()
	}
	return fmt.Sprintf("%v: the leading minor of order %d%s is not positive", ErrNotPositiveDefinite, e.Order, of(e.Member))
}

// Unwrap returns ErrNotPositiveDefinite.
func (e *DefiniteError) Unwrap() error { return ErrNotPositiveDefinite }

// of describes a matrix of a batch for an error message.
func of(member []int) string {
	if len(member) == 0 {
		return ""
	}
	return fmt.Sprintf(" of batch member %v", member)
}

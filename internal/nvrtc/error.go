// Package nvrtc has the error of a machine without NVRTC, the compiler of CUDA C++ at run
// time. Package device loads the compiler.
package nvrtc

import (
	"strings"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/expr"
)

// Error is the reason why CUDA C++ cannot be compiled on this machine: the places that
// were searched for the library, and the error of each. It is an expr.ErrUnsupported.
type Error struct {
	Tried []cutlass.Attempt
	Err   error // set if the error is not that of the search
}

func (e *Error) Error() string {
	if e == nil {
		return "no run-time compiler"
	}
	if e.Err != nil {
		return "no run-time compiler: " + e.Err.Error()
	}
	reasons := make([]string, len(e.Tried))
	for i, a := range e.Tried {
		reasons[i] = a.String()
	}
	return "no run-time compiler (NVRTC): " + strings.Join(reasons, "; ") + "; `gpk setup` installs it with the other wheels, GPK_NVRTC names one that is elsewhere"
}

// Is makes the error an expr.ErrUnsupported.
func (e *Error) Is(target error) bool { return target == expr.ErrUnsupported }

// Unwrap returns the reasons.
func (e *Error) Unwrap() []error {
	if e == nil {
		return nil
	}
	var errs []error
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	for _, a := range e.Tried {
		errs = append(errs, a.Err)
	}
	return errs
}

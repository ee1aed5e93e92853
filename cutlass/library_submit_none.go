//go:build !(cgo && linux && (amd64 || arm64) && !nocuda)

package cutlass

import "github.com/gpk-go/gpk/internal/submit"

// calls has the entry points that Library and Submitted share.
type calls struct{}

func (*calls) call(kind, []uint64, ...[]int) error { return Built() }

// Submitted provides some entry points of a library through a queue.
type Submitted struct{ calls }

// Submit returns the library's entry points.
func (l *Library) Submit(*submit.Queue, func() error) *Submitted { return &Submitted{} }

// Failure returns ErrNotBuilt: no call is queued.
func (s *Submitted) Failure(uintptr, int) error { return ErrNotBuilt }

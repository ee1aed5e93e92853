package dist

import (
	"errors"

	"github.com/gpk-go/gpk/dist/internal/control"
)

// RankError says which rank failed, on which host, and why. errors.As finds it in the errors of
// this package.
type RankError struct {
	Rank int
	Host string // "" where it is not known
	Err  error
}

// Error prints "rank 3 (host): cause".
func (e *RankError) Error() string {
	if e == nil {
		return "dist: a nil RankError"
	}
	return "dist: " + (*control.Failure)(e).Error()
}

// Unwrap returns the cause.
func (e *RankError) Unwrap() error {
	return (*control.Failure)(e).Unwrap()
}

// The causes of a RankError that the watch finds, for errors.Is.
var (
	ErrDisconnected = control.ErrDisconnected // the process has died
	ErrSilent       = control.ErrSilent       // the process is stopped, or its host cannot be reached
	ErrLeft         = control.ErrLeft         // the rank closed its Group while others needed it
	ErrVersion      = control.ErrVersion      // the ranks run different versions of gpk
	ErrWorld        = control.ErrWorld        // the ranks disagree about their number
	ErrMissing      = control.ErrMissing      // the rank has not joined in time
)

// asRankError converts a control.Failure to a RankError.
func asRankError(err error) error {
	if err == nil {
		return nil
	}
	var f *control.Failure
	if !errors.As(err, &f) {
		return err
	}
	return (*RankError)(f)
}

package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
)

// Failure says which rank ended the group, on which host, and why.
type Failure struct {
	Rank int
	Host string
	Err  error
}

// Error prints "rank 3 (host): cause".
func (f *Failure) Error() string {
	if f == nil {
		return "a nil Failure"
	}
	host := ""
	if f.Host != "" {
		host = " (" + f.Host + ")"
	}
	return fmt.Sprintf("rank %d%s: %v", f.Rank, host, f.Err)
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error {
	if f == nil {
		return nil
	}
	return f.Err
}

// The causes that the watch finds.
var (
	ErrDisconnected = errors.New("the connection ended: the process has died")
	ErrSilent       = errors.New("silent: the process is stopped, or its host cannot be reached")
	ErrLeft         = errors.New("has left the group")
	ErrVersion      = errors.New("versions of gpk's protocol differ")
	ErrWorld        = errors.New("the ranks disagree about their number")
	ErrMissing      = errors.New("has not joined")
)

// ErrClosed is the cause in a node that was closed. It is not sent to the other ranks; they are
// told that the rank has left.
var ErrClosed = fmt.Errorf("%w: the group was closed; dist.Local and dist.Join make another", expr.ErrUnsupported)

// sentinels are the errors that errors.Is finds in an error that came from another process.
// Their positions are part of the protocol: append.
var sentinels = []error{
	context.Canceled, context.DeadlineExceeded, ErrDisconnected, ErrSilent, ErrLeft, ErrVersion, ErrWorld, ErrMissing,
	layout.ErrShape, dtype.ErrDType, expr.ErrUnsupported, device.ErrDevice, device.ErrOutOfMemory, device.ErrNoGPU, device.ErrFreed,
}

// report is a Failure as it is sent. Is lists positions in sentinels.
type report struct {
	Host string
	Text string
	Is   []int
}

const maxText = 2 << 10 // maximum number of bytes of an error's text that are sent

func reportOf(f *Failure) []byte {
	b, _ := json.Marshal(report{f.Host, Text(f.Err), Sentinels(f.Err)}) // strings and integers cannot cause an error
	return b
}

// Text returns the text of an error, truncated to the length that is sent.
func Text(err error) string {
	s := err.Error()
	if len(s) > maxText {
		s = s[:maxText] + "…"
	}
	return s
}

// Sentinels returns the numbers of the errors that an error from another rank can be tested for.
func Sentinels(err error) (is []int) {
	for i, s := range sentinels {
		if errors.Is(err, s) {
			is = append(is, i)
		}
	}
	return is
}

// failureOf is the inverse of reportOf.
func failureOf(rank int, body []byte) *Failure {
	var r report
	if err := json.Unmarshal(body, &r); err != nil {
		return &Failure{Rank: rank, Err: fmt.Errorf("%w: %w", errFrame, err)}
	}
	return &Failure{Rank: rank, Host: r.Host, Err: Remote(r.Text, r.Is)}
}

// remote is an error of another process.
type remote struct {
	text string
	is   []error
}

// Remote returns an error of another rank, given as Text and Sentinels.
func Remote(text string, is []int) error {
	e := &remote{text: text}
	for _, i := range is {
		if i >= 0 && i < len(sentinels) {
			e.is = append(e.is, sentinels[i])
		}
	}
	return e
}

func (e *remote) Error() string   { return e.text }
func (e *remote) Unwrap() []error { return e.is }

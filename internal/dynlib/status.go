package dynlib

import (
	"errors"
	"fmt"
)

// StatusError is a result of a library's function that is not success.
type StatusError struct {
	Library string // the library's name
	Call    string // the function
	Code    int
	Name    string // name of the code
	Detail  string // what else the library says, or ""
}

// Error names the call, the result and its number.
func (e *StatusError) Error() string {
	if e == nil {
		return "a library's function failed"
	}
	s := fmt.Sprintf("%s: %s (%d)", e.Call, e.Name, e.Code)
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// Failure turns the result of a call into an error, nil for 0. The C parts return results of the driver as
// negative numbers; all others are the library's own, whose errors are *StatusError. detail may be empty.
func (o *Opened) Failure(call string, code int, detail string) error {
	switch {
	case code == 0:
		return nil
	case code < 0:
		return fmt.Errorf("%s: CUDA error %d", call, -code)
	}
	name := o.Codes[code]
	if name == "" {
		name = "unknown result"
	}
	return &StatusError{Library: o.Name, Call: call, Code: code, Name: name, Detail: detail}
}

// StatusOf returns the library's own result in err, or nil.
func (o *Opened) StatusOf(err error) *StatusError {
	if e, ok := errors.AsType[*StatusError](err); ok && e.Library == o.Name {
		return e
	}
	return nil
}

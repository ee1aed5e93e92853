package batch

import (
	"errors"
	"fmt"
	"strings"
)

// The errors of Do that errors.Is finds.
var (
	// ErrQueueFull means that MaxQueue items are already waiting. The item was not
	// accepted.
	ErrQueueFull = errors.New("the queue is full")
	// ErrClosed means that the Batcher was closed before the item was accepted, or that
	// Close gave up before the item's batch started.
	ErrClosed = errors.New("the batcher is closed; New makes another")
	// ErrOutputs means that the number of outputs, or of Errors, that the function
	// returned is not the number of its items.
	ErrOutputs = errors.New("wrong number of outputs")
)

// errDropped is the error of an item that Close has removed from the queue.
var errDropped = fmt.Errorf("%w: Close gave up before the item's batch started", ErrClosed)

// Errors is the error of a Batcher's function if some items failed and others did not.
// Element i is the error of item i, or nil if the item has an output. It has one element
// for each item, and so have the outputs. Any other error is the error of all items.
type Errors []error

// Error lists the items that failed.
func (e Errors) Error() string {
	var s strings.Builder
	for i, err := range e {
		if err == nil {
			continue
		}
		if s.Len() > 0 {
			s.WriteString("; ")
		}
		fmt.Fprintf(&s, "item %d: %v", i, err)
	}
	if s.Len() == 0 {
		return "no item failed"
	}
	return s.String()
}

// Unwrap returns the errors of the items that failed.
func (e Errors) Unwrap() []error {
	var failed []error
	for _, err := range e {
		if err != nil {
			failed = append(failed, err)
		}
	}
	return failed
}

// PanicError is the error of all items of a batch whose function panicked or called
// runtime.Goexit.
type PanicError struct {
	Value any    // the value passed to panic; nil for runtime.Goexit
	Stack []byte // stack of the panic
}

// Error returns a text with the value, but without the stack.
func (e *PanicError) Error() string {
	if e == nil || e.Value == nil {
		return "batch: the function called runtime.Goexit"
	}
	return fmt.Sprintf("batch: the function panicked: %v", e.Value)
}

// Unwrap returns the value passed to panic if it is an error.
func (e *PanicError) Unwrap() error {
	if e == nil {
		return nil
	}
	err, _ := e.Value.(error)
	return err
}

// CloseError lists the unfinished work of a Close whose context ended first.
type CloseError struct {
	Dropped int   // items whose batch had not started; their callers get ErrClosed
	Running int   // items of the running batch, whose context was cancelled
	Cause   error // error of the context
}

// Error returns a text with the counts and the cause.
func (e *CloseError) Error() string {
	if e == nil {
		return "batch: Close: nothing was dropped"
	}
	return fmt.Sprintf("batch: Close: %v: %d items dropped, %d still running", e.Cause, e.Dropped, e.Running)
}

// Unwrap returns the context's error.
func (e *CloseError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Cause
}

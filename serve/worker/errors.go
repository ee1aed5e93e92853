package worker

import (
	"errors"
	"fmt"
)

// The errors of Send and Ask that errors.Is finds.
var (
	// ErrQueueFull means that the queue was full and the policy is Reject.
	ErrQueueFull = errors.New("the queue is full")
	// ErrDropped means that the message was dropped by the policy, or because the Worker
	// ended before it was handled.
	ErrDropped = errors.New("the message was dropped")
	// ErrNotAccepting means that the Worker is neither Idle nor Active.
	ErrNotAccepting = errors.New("the worker accepts no messages")
)

// StateError is the error of a transition that a Worker's state does not allow.
type StateError struct {
	Worker   string
	From, To State
	Cause    error // the reason why the Worker is Failed; otherwise nil
}

// Error returns a text with both states.
func (e *StateError) Error() string {
	if e == nil {
		return "worker: no error"
	}
	s := fmt.Sprintf("worker %q: no transition from %v to %v", e.Worker, e.From, e.To)
	switch {
	case e.To == Draining && (e.From == Created || e.From == Failed):
		s += "; Terminate ends it"
	case e.To.accepts() && e.From != e.To && int(e.From) < len(remedies) && remedies[e.From] != "":
		s += "; " + remedies[e.From]
	}
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *StateError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Cause
}

// PanicError is the error of a handler or Options.Setup that panicked or called
// runtime.Goexit.
type PanicError struct {
	Worker string
	Value  any    // the value passed to panic; nil for runtime.Goexit
	Stack  []byte // stack of the panic
}

// Error returns a text with the value, but without the stack.
func (e *PanicError) Error() string {
	switch {
	case e == nil:
		return "worker: no error"
	case e.Value == nil:
		return fmt.Sprintf("worker %q: runtime.Goexit was called", e.Worker)
	}
	return fmt.Sprintf("worker %q: panic: %v", e.Worker, e.Value)
}

// Unwrap returns the value passed to panic if it is an error.
func (e *PanicError) Unwrap() error {
	if e == nil {
		return nil
	}
	err, _ := e.Value.(error)
	return err
}

// StopError describes the unfinished work of Drain or Terminate.
type StopError struct {
	Worker  string
	Dropped int   // accepted messages that were not handled
	Running bool  // a message is still being handled; its context was cancelled
	Cause   error // the context's error, or the reason why the messages could not be handled
}

// Error returns a text with the number of dropped messages and the cause.
func (e *StopError) Error() string {
	if e == nil {
		return "worker: no error"
	}
	s := fmt.Sprintf("worker %q: %d messages dropped", e.Worker, e.Dropped)
	if e.Running {
		s += ", one still running"
	}
	return fmt.Sprintf("%s: %v", s, e.Cause)
}

// Unwrap returns the cause.
func (e *StopError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Cause
}

var (
	errIdle       = errors.New("the worker was idle")
	errTerminated = errors.New("the worker was terminated")
)

package worker

import (
	"errors"
	"fmt"
)

// The causes that errors.Is finds in what Send and Ask return.
var (
	// ErrQueueFull means that the queue was full and the policy is Reject.
	ErrQueueFull = errors.New("the queue is full")
	// ErrDropped means that the question was dropped: by the policy, or because the
	// Worker ended before it was handled.
	ErrDropped = errors.New("the message was dropped")
	// ErrNotAccepting means that the Worker is neither Idle nor Active.
	ErrNotAccepting = errors.New("the worker accepts no messages")
)

// StateError is a transition that a Worker's state does not allow.
type StateError struct {
	Worker   string
	From, To State
	Cause    error // why the Worker is Failed; else nil
}

// Error names both states.
func (e *StateError) Error() string {
	if e == nil {
		return "worker: no error"
	}
	s := fmt.Sprintf("worker %q: no transition from %v to %v", e.Worker, e.From, e.To)
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

// PanicError says that a handler or Options.Setup panicked or called runtime.Goexit.
type PanicError struct {
	Worker string
	Value  any    // that panic was called with; nil for runtime.Goexit
	Stack  []byte // of the panic
}

// Error gives the value, not the stack.
func (e *PanicError) Error() string {
	switch {
	case e == nil:
		return "worker: no error"
	case e.Value == nil:
		return fmt.Sprintf("worker %q: runtime.Goexit was called", e.Worker)
	}
	return fmt.Sprintf("worker %q: panic: %v", e.Worker, e.Value)
}

// Unwrap returns the value that panic was called with, where it is an error.
func (e *PanicError) Unwrap() error {
	if e == nil {
		return nil
	}
	err, _ := e.Value.(error)
	return err
}

// StopError says what Drain or Terminate left undone.
type StopError struct {
	Worker  string
	Dropped int   // messages that had been accepted and were not handled
	Running bool  // a message is still being handled; its context is cancelled
	Cause   error // the context's error, or why the messages could not be handled
}

// Error gives the number of dropped messages and the cause.
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

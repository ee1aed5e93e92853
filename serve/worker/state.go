package worker

import (
	"slices"

	"github.com/gpk-go/gpk/internal/enum"
)

// State is a phase of a Worker's life. The package documentation lists the transitions.
type State uint8

// The states.
const (
	Created    State = iota // neither the goroutine nor the stream exists
	Idle                    // the goroutine and the stream exist; messages wait
	Active                  // messages are handled
	Draining                // no more messages are accepted; the Worker ends after the waiting ones
	Terminated              // the goroutine has ended and everything was freed
	Failed                  // it panicked too often, or could not be set up again; everything was freed
)

// follow lists the states that may follow a state.
var follow = [...][]State{
	Created:    {Idle, Terminated},
	Idle:       {Active, Draining, Failed},
	Active:     {Idle, Draining, Failed},
	Draining:   {Terminated, Failed},
	Failed:     {Terminated},
	Terminated: {},
}

var stateNames = [...]string{"created", "idle", "active", "draining", "terminated", "failed"}

// remedies says what helps in the states that accept no messages.
var remedies = [...]string{
	Created:    "call Launch first, then Activate",
	Draining:   "it ends after the waiting messages; make a new one with New",
	Terminated: "make a new one with New",
	Failed:     "call Terminate, and make a new one with New",
}

// String returns the state's name in lower case.
func (s State) String() string { return enum.Name(s, "State", stateNames[:]...) }

// precedes reports whether the state next may follow s.
func (s State) precedes(next State) bool { return slices.Contains(follow[s], next) }

// accepts reports whether a Worker in the state accepts messages.
func (s State) accepts() bool { return s == Idle || s == Active }

// holds reports whether the Worker may have state on the device.
func (s State) holds() bool { return s == Active || s == Draining }

package worker

import (
	"slices"

	"github.com/gpk-go/gpk/internal/enum"
)

// State is where a Worker is in its life; the package documentation has the transitions.
type State uint8

// The states.
const (
	Created    State = iota // nothing runs
	Idle                    // the goroutine and the stream are there; messages wait
	Active                  // messages are handled
	Draining                // no message is accepted any more; the Worker is about to end
	Terminated              // nothing is left
	Failed                  // it panicked too often, or could not be set up again; nothing is left
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

// String returns the state's name in lower case.
func (s State) String() string { return enum.Name(s, "State", stateNames[:]...) }

// precedes reports whether next may follow.
func (s State) precedes(next State) bool { return slices.Contains(follow[s], next) }

// accepts reports whether a Worker in the state accepts messages.
func (s State) accepts() bool { return s == Idle || s == Active }

// holds reports whether the Worker's state on the device may be there.
func (s State) holds() bool { return s == Active || s == Draining }

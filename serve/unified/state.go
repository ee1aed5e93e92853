package unified

import "github.com/gpk-go/gpk/internal/enum"

// State says which sides of a Buffer hold its contents.
type State uint8

// The states of a buffer.
const (
	Empty  State = iota // neither side was written: all elements are zero
	Host                // the host's side is newer
	Device              // the device's side is newer
	Both                // both sides are the same
)

// String returns "empty", "host", "device" or "both".
func (s State) String() string { return enum.Name(s, "State", "empty", "host", "device", "both") }

// Access is the way in which a program uses the array that Buffer.Device returns.
type Access uint8

// The kinds of access.
const (
	// Read returns an array with the contents. The Buffer still detects if the program
	// writes it.
	Read Access = iota
	// Write returns an array with undefined elements, all of which the program writes.
	// Nothing is uploaded.
	Write
	// ReadWrite returns an array with the contents, which the program changes.
	ReadWrite
)

// String returns "read", "write" or "read-write".
func (a Access) String() string { return enum.Name(a, "Access", "read", "write", "read-write") }

package undo

import (
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// Saved holds the elements that the write at the end of a version overwrote.
type Saved struct {
	Part
	Version int
	Buffer  *device.Buffer // dense
}

// Log holds the saved elements of a memory, ordered by version. The zero value is empty. A
// Log is not safe for use by many goroutines.
type Log struct {
	Saved  []Saved
	NBytes int64 // size of all saved elements
}

// Save starts a copy of the elements of p from memory to the buffer to, where they are stored
// without gaps.
func (p *Part) Save(s *device.Stream, to, memory *device.Buffer) error {
	return ops.Cast(s, p.dense(to), p.In(memory))
}

// Add appends the elements that the write at the end of a version overwrites. The log owns
// their buffer from then on.
func (l *Log) Add(p Part, version int, buf *device.Buffer) {
	l.Saved = append(l.Saved, Saved{p, version, buf})
	l.NBytes += buf.Size()
}

// Drop empties the log and frees its buffers.
func (l *Log) Drop() {
	for _, s := range l.Saved {
		s.Buffer.Free()
	}
	*l = Log{}
}

// Lost reports whether some of the elements of a part have been overwritten since a
// version. whole is the dense layout of the memory.
func (l *Log) Lost(version int, p Part, whole *layout.Layout) bool {
	return slices.ContainsFunc(l.since(version), func(s Saved) bool { return s.Meets(&p, whole) })
}

// since returns the elements saved at the end of a version and of later ones.
func (l *Log) since(version int) []Saved {
	from, _ := slices.BinarySearchFunc(l.Saved, version, func(s Saved, v int) int { return s.Version - v })
	return l.Saved[from:]
}

package undo

import "github.com/gpk-go/gpk/device"

// Keep describes the elements that a write to a memory must save first: those of the written
// part, or a copy of the whole memory if that is smaller than all saved elements together.
type Keep struct {
	Part
	Whole  bool
	Memory *device.Buffer
	Buffer *device.Buffer // where the elements are saved; the caller allocates it
}

// Keep returns the elements that a write to a part must save. whole is the whole memory.
func (l *Log) Keep(p, whole Part, memory *device.Buffer) *Keep {
	k := &Keep{Part: p, Whole: l.NBytes+p.NBytes() > whole.NBytes(), Memory: memory}
	if k.Whole {
		k.Part = whole
	}
	return k
}

// Save starts the copy. A nil Keep saves nothing.
func (k *Keep) Save(s *device.Stream) error {
	if k == nil {
		return nil
	}
	return k.Part.Save(s, k.Buffer, k.Memory)
}

// Free frees the saved elements. A nil Keep has none.
func (k *Keep) Free() {
	if k != nil {
		k.Buffer.Free()
	}
}

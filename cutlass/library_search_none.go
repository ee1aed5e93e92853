//go:build !(cgo && linux && (amd64 || arm64) && !nocuda)

package cutlass

// Search returns ErrNotBuilt.
func (*Library) Search(device int, stream uint64, s *Search) error { return Built() }

// Last returns ErrNotBuilt.
func (*Library) Last(device int, stream uint64, c *Count) error { return Built() }

// Count returns ErrNotBuilt.
func (*Library) Count(device int, stream uint64, c *Count) error { return Built() }

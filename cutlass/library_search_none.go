//go:build !(cgo && linux && (amd64 || arm64) && !nocuda)

package cutlass

// Search returns ErrNotBuilt.
func (*Library) Search(device int, stream uint64, s *Search) error { return Built() }

// CountTrues returns ErrNotBuilt.
func (*Library) CountTrues(device int, stream uint64, t *Trues) error { return Built() }

// PlaceTrues returns ErrNotBuilt.
func (*Library) PlaceTrues(device int, stream uint64, t *Trues) error { return Built() }

// PutAlong returns ErrNotBuilt.
func (*Library) PutAlong(device int, stream uint64, p *PutAlong) error { return Built() }

// Count returns ErrNotBuilt.
func (*Library) Count(device int, stream uint64, c *Count) error { return Built() }

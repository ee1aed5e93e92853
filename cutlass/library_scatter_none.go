//go:build !(cgo && linux && (amd64 || arm64) && !nocuda)

package cutlass

// ScatterAddWorkspace returns ErrNotBuilt.
func (*Library) ScatterAddWorkspace(device int, s *ScatterAdd) (int64, error) { return 0, Built() }

// ScatterAdd returns ErrNotBuilt.
func (*Library) ScatterAdd(device int, stream uint64, s *ScatterAdd) error { return Built() }

//go:build !(cgo && linux && (amd64 || arm64) && !nocuda)

package cutlass

// Factor returns ErrNotBuilt.
func (*Library) Factor(device int, stream uint64, f *Factor) error { return Built() }

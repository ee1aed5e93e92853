//go:build !(cgo && linux && (amd64 || arm64) && !nocuda)

package cutlass

// StackSources is the maximum number of arrays per Stack.
const StackSources = 64

// Stack returns ErrNotBuilt.
func (*Library) Stack(device int, stream, dst uint64, bytes int, sources []uint64) error {
	return Built()
}

// Triangle returns ErrNotBuilt.
func (*Library) Triangle(device int, stream uint64, t *Triangle) error { return Built() }

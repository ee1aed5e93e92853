//go:build !(cgo && linux && (amd64 || arm64) && !nocuda)

package cutlass

// StackSources is the number of arrays that one Stack takes.
const StackSources = 64

// Stack answers ErrNotBuilt.
func (*Library) Stack(device int, stream, dst uint64, bytes int, sources []uint64) error {
	return Built()
}

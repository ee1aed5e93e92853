//go:build !(amd64 || arm64) || noasm

package cpu

// pause spends some time in a loop of n steps.
func pause(n uint32) {
	for range n * 16 {
	}
}

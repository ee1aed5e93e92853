//go:build !(cgo && linux && (amd64 || arm64) && !nocuda)

package cutlass

// Attention returns ErrNotBuilt.
func (*calls) Attention(device int, stream uint64, a *Attention) error { return Built() }

// AttentionWorkspace returns ErrNotBuilt.
func (*Library) AttentionWorkspace(device int, a *Attention) (int64, error) { return 0, Built() }

// AttentionKernel returns "": there is no kernel.
func (*Library) AttentionKernel(device int, a *Attention) string { return "" }

//go:build !(cgo && linux && (amd64 || arm64) && !nocuda)

package cutlass

// EmbedNorm returns ErrNotBuilt.
func (*calls) EmbedNorm(device int, stream uint64, e *EmbedNorm) error { return Built() }

// Pool returns ErrNotBuilt.
func (*calls) Pool(device int, stream uint64, p *Pool) error { return Built() }

// NormResidual returns ErrNotBuilt.
func (*calls) NormResidual(device int, stream uint64, r *NormResidual) error { return Built() }

// RoPE returns ErrNotBuilt.
func (*Library) RoPE(device int, stream uint64, r *RoPE) error { return Built() }

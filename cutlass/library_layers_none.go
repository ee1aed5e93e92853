//go:build !(cgo && linux && (amd64 || arm64) && !nocuda)

package cutlass

// EmbedNorm returns ErrNotBuilt.
func (*Library) EmbedNorm(device int, stream uint64, e *EmbedNorm) error { return Built() }

// Pool returns ErrNotBuilt.
func (*Library) Pool(device int, stream uint64, p *Pool) error { return Built() }

// NormResidual returns ErrNotBuilt.
func (*Library) NormResidual(device int, stream uint64, r *NormResidual) error { return Built() }

// RoPE returns ErrNotBuilt.
func (*Library) RoPE(device int, stream uint64, r *RoPE) error { return Built() }

// EmbedNorm is Library.EmbedNorm.
func (s *Submitted) EmbedNorm(device int, stream uint64, e *EmbedNorm) error {
	return s.lib.EmbedNorm(device, stream, e)
}

// Pool is Library.Pool.
func (s *Submitted) Pool(device int, stream uint64, p *Pool) error {
	return s.lib.Pool(device, stream, p)
}

// NormResidual is Library.NormResidual.
func (s *Submitted) NormResidual(device int, stream uint64, r *NormResidual) error {
	return s.lib.NormResidual(device, stream, r)
}

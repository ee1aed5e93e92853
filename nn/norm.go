package nn

import "github.com/gpk-go/gpk"

// LayerNorm computes (x - mean)/sqrt(var + eps) weight + bias along the last axis; see
// gpk.LayerNorm.
type LayerNorm struct {
	Weight, Bias *Parameter
	Eps          float64
}

// NewLayerNorm returns a layer for n features. Its parameters are not set.
func NewLayerNorm(n int, eps float64) *LayerNorm {
	return &LayerNorm{Weight: NewParameter(n), Bias: NewParameter(n), Eps: eps}
}

// Parts implements Module.
func (l *LayerNorm) Parts() []Part {
	return []Part{{Name: "weight", Parameter: l.Weight}, {Name: "bias", Parameter: l.Bias}}
}

// Forward returns an array of x's shape, [..., n].
func (l *LayerNorm) Forward(x *gpk.Array) *gpk.Array {
	return gpk.LayerNorm(x, l.Weight.Array(), l.Bias.Array(), l.Eps)
}

// RMSNorm computes x/sqrt(mean x^2 + eps) weight along the last axis; see gpk.RMSNorm.
type RMSNorm struct {
	Weight *Parameter
	Eps    float64
}

// NewRMSNorm returns a layer for n features. Its parameter is not set.
func NewRMSNorm(n int, eps float64) *RMSNorm { return &RMSNorm{Weight: NewParameter(n), Eps: eps} }

// Parts implements Module.
func (l *RMSNorm) Parts() []Part { return []Part{{Name: "weight", Parameter: l.Weight}} }

// Forward returns an array of x's shape, [..., n].
func (l *RMSNorm) Forward(x *gpk.Array) *gpk.Array { return gpk.RMSNorm(x, l.Weight.Array(), l.Eps) }

// ForwardResidual returns sum = x + residual and its norm, of x's shape; see
// gpk.RMSNormResidual.
func (l *RMSNorm) ForwardResidual(x, residual *gpk.Array) (sum, normed *gpk.Array) {
	return gpk.RMSNormResidual(x, residual, l.Weight.Array(), l.Eps)
}

package layers

import (
	"testing"

	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/internal/niltest"
)

// TestNil calls everything with nil, with zero values and with numbers as far out as
// they go.
func TestNil(t *testing.T) {
	niltest.Run(t, niltest.Package{
		Values: []func() any{
			func() any { return array.FromSlice(make([]float32, 24), 1, 2, 3, 4) },
			func() any { return array.FromSlice([]int64{0, 1, 2}) },
			func() any { return AttentionOptions{Mask: new(array.Array)} },
		},
		Functions: map[string]any{"Attention": Attention, "RoPE": RoPE, "RoPEWith": RoPEWith, "RMSNormResidual": RMSNormResidual, "SwiGLU": SwiGLU, "GEGLU": GEGLU, "EmbeddingNorm": EmbeddingNorm, "RaggedPool": RaggedPool},
	})
}

package tokenizer

import (
	"errors"
	"slices"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/niltest"
)

// TestNil calls everything with nil, with zero values and with numbers as far out as
// they go.
func TestNil(t *testing.T) {
	niltest.Run(t, niltest.Package{
		Values: []func() any{
			func() any { return fixture(t, "wordpiece") },
			func() any { return fixture(t, "llama3") },
		},
		Functions: map[string]any{"Load": Load, "Parse": Parse},
	})
	for _, k := range []*Tokenizer{nil, {}} {
		dst := []int32{7}
		got, err := k.AppendEncode(dst, "x")
		bare, bareErr := k.AppendEncodeBare(dst, "x")
		_, decodeErr := k.Decode(nil)
		for _, err := range []error{err, bareErr, decodeErr} {
			if !errors.Is(err, gpk.ErrUnsupported) {
				t.Errorf("%v: %v", k == nil, err)
			}
		}
		if _, ok := k.ID("x"); ok || !slices.Equal(got, dst) || !slices.Equal(bare, dst) || k.VocabSize() != 0 {
			t.Errorf("%v: %v, %v", k == nil, got, bare)
		}
	}
}

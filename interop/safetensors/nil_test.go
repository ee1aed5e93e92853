package safetensors

import (
	"path/filepath"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/niltest"
)

// TestNil calls everything with nil, with zero values and with numbers as far out as
// they go.
func TestNil(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	niltest.Run(t, niltest.Package{
		Values: []func() any{func() any { return opened(t, "testdata/types.safetensors") }},
		Functions: map[string]any{
			"Open": Open, "On": On, "Only": Only, "Write": Write,
			"WriteFile": func(_ string, as map[string]*gpk.Array, m map[string]string) error { return WriteFile(path, as, m) },
		},
	})
	for _, f := range []*File{nil, {}} {
		if _, err := f.Load("x"); err == nil || f.Close() != nil || len(f.Names()) > 0 {
			t.Errorf("%v: %v", f, err)
		}
	}
}

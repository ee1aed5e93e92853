package nn_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dist"
	"github.com/gpk-go/gpk/interop/safetensors"
	"github.com/gpk-go/gpk/nn"
)

// twice is a module that lists a layer under two names.
type twice struct{ layer nn.Module }

func (m twice) Parts() []nn.Part {
	return []nn.Part{{Name: "first", Module: m.layer}, {Name: "second", Module: m.layer}}
}

// TestParallelLoadTied: a parameter of two names whose weight has another shape is wrong, and not missing too.
func TestParallelLoadTied(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := safetensors.WriteFile(path, map[string]*gpk.Array{"first.weight": gpk.Ones(gpk.Float32, 12, 4)}, nil); err != nil {
		t.Fatal(err)
	}
	ranks(t, 2, func(c *dist.Comm) error {
		l, err := nn.NewColumnParallel(c, nn.NewLinear(4, 8, false))
		if err != nil {
			return err
		}
		return loadBothWays(path, func(w nn.Weights) error {
			wrong, ok := errors.AsType[*nn.LoadError](nn.Load(twice{l}, w, nn.LoadOptions{}))
			if !ok || len(wrong.Wrong) != 1 || len(wrong.Missing) > 0 {
				return fmt.Errorf("%v", wrong)
			}
			return nil
		})
	})
}

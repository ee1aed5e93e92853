package nn_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dist"
	"github.com/gpk-go/gpk/nn"
)

// TestParallelSite checks that errors of the constructors of parallel layers name the constructor and the line
// that called it.
func TestParallelSite(t *testing.T) {
	ranks(t, 3, func(c *dist.Comm) error {
		for name, f := range map[string]func() (want string, made bool, err error){
			"nn.NewColumnParallel": func() (string, bool, error) {
				want := line()
				l, err := nn.NewColumnParallel(c, nn.NewLinear(6, 8, true))
				return next(want), l != nil, err
			},
			"nn.NewRowParallel": func() (string, bool, error) {
				want := line()
				l, err := nn.NewRowParallel(nil, nn.NewLinear(6, 6, true))
				return next(want), l != nil, err
			},
			"nn.NewParallelMLP": func() (string, bool, error) {
				want := line()
				l, err := nn.NewParallelMLP(c, nn.NewMLP(6, 8, nn.SiLU, false))
				return next(want), l != nil, err
			},
			"nn.NewParallelGatedMLP": func() (string, bool, error) {
				want := line()
				l, err := nn.NewParallelGatedMLP(c, nil)
				return next(want), l != nil, err
			},
			"nn.NewParallelAttention": func() (string, bool, error) {
				want := line()
				l, err := nn.NewParallelAttention(c, nn.NewMultiHeadAttention(6, 8, 8, 3, true))
				return next(want), l != nil, err
			},
		} {
			want, made, err := f()
			var oe *gpk.OpError
			if made || !errors.As(err, &oe) || oe.Op != name || oe.Site != want {
				return fmt.Errorf("%s at %s: %w, a layer: %t", name, want, err, made)
			}
		}
		return nil
	})
}

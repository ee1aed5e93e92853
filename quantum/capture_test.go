package quantum

import (
	"context"
	"errors"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestCapture: a function that needs the host returns an error in a Capture.
func TestCapture(t *testing.T) {
	onCPU(t)
	x := arrayOf(randomSamples(testrand.New(t), 5, 3), 3)
	for name, call := range map[string]func(x *gpk.Array) error{
		"Gram": func(x *gpk.Array) error {
			_, err := Gram(context.Background(), ringCZ(3, true), x, nil, Options{})
			return err
		},
		"States": func(x *gpk.Array) error {
			_, err := States(context.Background(), ringCZ(3, true), x, gpk.Complex64)
			return err
		},
	} {
		var inside error
		_, _ = gpk.Capture([]*gpk.Array{x}, func(in []*gpk.Array) []*gpk.Array {
			inside = call(in[0])
			return []*gpk.Array{in[0].Neg()}
		})
		if !errors.Is(inside, gpk.ErrUnsupported) {
			t.Errorf("%s inside a capture: %v", name, inside)
		}
		if err := call(x); err != nil {
			t.Errorf("%s after it: %v", name, err)
		}
	}
}

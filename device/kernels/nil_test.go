package kernels_test

import (
	"errors"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/device/kernels"
	"github.com/gpk-go/gpk/internal/niltest"
)

// TestNil calls everything with nil and with zero values.
func TestNil(t *testing.T) {
	type args struct{ N int64 }
	niltest.Run(t, niltest.Package{
		Values: []func() any{
			func() any { return (*kernels.Library)(nil) }, // for which there is no GPU here
			func() any { return (*kernels.Entry[args])(nil) },
		},
		Functions: map[string]any{"Load": kernels.Load, "LoadCompanion": kernels.LoadCompanion, "Bind": kernels.Bind[args], "Describe": kernels.Describe},
	})
	if _, err := kernels.Bind[args](&kernels.Library{}, "x"); !errors.Is(err, device.ErrDevice) {
		t.Errorf("Bind of a zero Library: %v", err)
	}
	for _, e := range []*kernels.Entry[args]{nil, {}} {
		if err := e.Query(&args{}); !errors.Is(err, device.ErrDevice) {
			t.Errorf("Query of a nil or zero Entry: %v", err)
		}
		if err := e.Launch(nil, nil, nil, args{}); !errors.Is(err, device.ErrDevice) {
			t.Errorf("Launch of a nil or zero Entry: %v", err)
		}
	}
}

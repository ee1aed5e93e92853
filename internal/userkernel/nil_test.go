package userkernel_test

import (
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/niltest"
	"github.com/gpk-go/gpk/internal/userkernel"
)

// TestNil calls everything with nil, with zero values and with numbers as far out as
// they go.
func TestNil(t *testing.T) {
	cpu, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer device.SetDefault(device.SetDefault(cpu))
	niltest.Run(t, niltest.Package{
		Values:    []func() any{func() any { return (*userkernel.UserKernel)(nil) }}, // for which there is no compiler here
		Functions: map[string]any{"Kernel": userkernel.Kernel},
	})
}

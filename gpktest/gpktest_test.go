package gpktest

import (
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/devicetest"
)

func TestCPU(t *testing.T) {
	dev := devicetest.CPU(t)
	Run(t, dev)
}

// TestCUDA runs the suite on the first GPU. Without one, the suite is one skipped test
// here.
func TestCUDA(t *testing.T) {
	dev, err := device.Open("cuda")
	if err != nil {
		t.Skipf("the GPU suite was NOT run: %v", err)
	}
	Run(t, dev)
}

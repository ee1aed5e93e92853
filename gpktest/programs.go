package gpktest

import (
	"flag"
	"testing"
	"time"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/gpktest/model"
	"github.com/gpk-go/gpk/internal/devicetest"
)

// modelTime is how long each mode of the model runs.
var modelTime = flag.Duration("gpktest.model", time.Second, "how long random programs run against plain slices, in each mode")

// testModel runs random programs of operations, views, writes, scopes, graphs and
// streams, with copies to the CPU and back, against a model of plain slices.
func testModel(t *testing.T, s *suite) {
	devices := []*device.Device{s.dev}
	if s.dev.Kind() != device.CPU {
		cpu := devicetest.CPU(t)
		devices = append(devices, cpu)
	}
	defer s.dev.TraceAllocations()() // errors and leaks say what the memory holds
	for name, o := range map[string]model.Options{
		"one":        {},
		"goroutines": {Goroutines: 4},
		"starved":    {StarveEach: 7},
		"refused":    {FailEach: 7},
		"collected":  {GCPercent: 1, Goroutines: 2},
	} {
		t.Run(name, func(t *testing.T) {
			o.Devices, o.Seed, o.Time = devices, s.rng.Uint64(), *modelTime
			model.Run(t, o)
		})
	}
}

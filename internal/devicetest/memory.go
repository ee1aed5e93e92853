package devicetest

import (
	"runtime/debug"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/deviceapi"
)

// InUse returns a device's bytes in use without those of dropped arrays, and turns the garbage
// collector off until the test ends. What is in use beyond them later was not freed. With the collector
// on, an array that it has found may count for a while after its scope was closed.
func InUse(t testing.TB, d *device.Device) int64 {
	t.Helper()
	percent := debug.SetGCPercent(-1)
	t.Cleanup(func() { debug.SetGCPercent(percent) })
	for {
		before := d.Pool().InUse
		if deviceapi.Collect(d); d.Pool().InUse >= before {
			return d.Pool().InUse
		}
	}
}

package devicetest

import (
	"runtime/debug"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/deviceapi"
)

// InUse returns a device's bytes in use without those of dropped arrays, and turns the garbage
// collector off until the test ends. Later, bytes in use beyond this number belong to memory that was
// not freed. With the collector on, an array that it has found unreachable may be counted for a while
// after its scope was closed.
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
